package lore

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/knowledge"
)

// Asked are the parameters of a search.
func Asked() []tool.Param {
	return []tool.Param{
		tool.Optional("kb", "string", "alias or id; all of yours when it is missing"),
		tool.Optional("query", "string", "words to look for"),
		tool.Optional("entry_type", "string", "only entries of this type"),
		tool.Optional("entry_types", "array", "of any of these"),
		tool.Optional("tags", "array", "only entries with any of these tags"),
		tool.Optional("all_tags", "array", "with all"),
		tool.Optional("exclude_tags", "array", "with none"),
		tool.Optional("keywords", "array", "any of these words occurs"),
		tool.Optional("all_keywords", "array", "all occur"),
		tool.Optional("metadata", "object", "custom_metadata is equal at these keys; dots lead into objects"),
		tool.Optional("source", "string", "where it comes from"),
		tool.Optional("author", "string", "who wrote it"),
		tool.Optional("status", "string", "of a goal"),
		tool.Optional("min_priority", "number", "at least"),
		tool.Optional("id", "string", "exactly this entry"),
		tool.Optional("ids", "array", "any of these"),
		tool.Optional("limit", "integer", "at most so many; 10 when it is missing"),
	}
}

// QueryOf reads the parameters of a search.
func QueryOf(p tool.Params) (knowledge.Query, error) {
	query := p.Without("kb", "id")
	if id, ok := p["id"].(string); ok {
		ids, err := p.Texts("ids")
		if err != nil {
			return knowledge.Query{}, err
		}
		list := []any{id}
		for _, more := range ids {
			list = append(list, more)
		}
		query["ids"] = list
	}
	return knowledge.QueryOf(query)
}
