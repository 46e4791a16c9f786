package tool

import (
	"bytes"
	"encoding/json"
	"strings"

	"tavernsim/protocol"
)

// Bind gives the parameters of a text call their types. Text grammars know only
// text: a type hint of json is obeyed, objects and lists are read where the tool
// wants them, and where it takes anything, text that is JSON is that JSON.
func Bind(c *protocol.Call, spec protocol.ToolSpec) (map[string]any, error) {
	if c.Origin != protocol.OriginTAM && c.Origin != protocol.OriginToolsXML {
		return c.Params, nil
	}
	schema, _ := spec.Parameters.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	out := make(map[string]any, len(c.Params))
	for _, name := range protocol.SortedKeys(c.Params) {
		text, isText := c.Params[name].(string)
		if !isText {
			out[name] = c.Params[name]
			continue
		}
		property, _ := properties[name].(map[string]any)
		v, err := bindText(text, property, c.TypeHints[name])
		if err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "parameter %s: %w; got %s", name, err, Cut(text))
		}
		out[name] = v
	}
	return out, nil
}

func bindText(text string, property map[string]any, hint string) (any, error) {
	if _, isText := property["contentMediaType"]; isText { // whoever takes it reads it: order and repetitions count
		return text, nil
	}
	want, _ := property["type"].(string)
	switch {
	case strings.EqualFold(hint, "json"), want == "object", want == "array":
		return ParseJSON(text)
	case want == "" && property != nil && !strings.EqualFold(hint, "text"):
		if v, err := ParseJSON(text); err == nil {
			return v, nil
		}
	}
	return text, nil
}

// ParseJSON reads one JSON value, numbers exactly.
func ParseJSON(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "want JSON: %w", err)
	}
	if dec.More() {
		return nil, protocol.Errorf(protocol.KindInvalid, "want one JSON value, there is more behind it")
	}
	return protocol.Normalize(v)
}
