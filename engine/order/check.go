package order

import (
	"maps"
	"slices"

	"tavernsim/engine/agent/private"
	"tavernsim/tam/bind"
)

// Check checks one change before the values of some of its fields are known: those in
// later, which are nil in fields. lacks says that it has no value although it needs one, which is null
// then, or one that it does not take.
func Check(kind string, fields map[string]any, later map[string]bool) (lacks, err error) {
	filled := maps.Clone(fields)
	for name := range later {
		if later[name] && filled != nil {
			if v, known := sample(canonical(kind), name); known {
				filled[name] = v
			}
		}
	}
	if later["op"] && filled != nil {
		filled["op"] = private.OpDelete // which wants nothing beside it
		if _, given := filled["value"]; given {
			filled["op"] = private.OpSet // which takes any value
		}
	}
	if later["value"] && filled != nil {
		filled["value"] = "x"
	}
	if slices.Contains(ofPeople(), kind) {
		return nil, errForOrders(kind)
	}
	r := reader{id: "x", schemas: map[string]*bind.Schema{}}
	err = r.one(kind, filled)
	return r.plan.Lacks, err
}

// sample is a value that a field takes.
func sample(kind, field string) (v any, known bool) {
	for _, s := range specs() {
		if s.Name != kind {
			continue
		}
		parameters, _ := s.Parameters.(map[string]any)
		properties, _ := parameters["properties"].(map[string]any)
		schema, known := properties[field].(map[string]any)
		if list, _ := schema["enum"].([]any); len(list) > 0 {
			return list[0], true
		}
		switch schema["type"] {
		case "string":
			return "x", true
		case "array":
			return []any{"x"}, true
		case "boolean":
			return false, true
		case "integer", "number":
			return int64(0), true
		}
		if schema != nil && schema["type"] == nil {
			return "x", known
		}
		return nil, known
	}
	return nil, false
}
