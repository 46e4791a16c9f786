package tool

import (
	"maps"
	"time"

	"tavernsim/protocol"
)

// Param is one parameter of a tool.
type Param struct {
	name     string
	schema   map[string]any
	required bool
}

// Optional is a parameter of a JSON Schema type; "" = of any type.
func Optional(name, typ, description string) Param {
	schema := map[string]any{"description": description}
	if typ != "" {
		schema["type"] = typ
	}
	return Param{name: name, schema: schema}
}

// Required is a parameter that must be given, and not empty.
func Required(name, typ, description string) Param {
	p := Optional(name, typ, description)
	p.required = true
	return p
}

// OneOf is a text out of a list. The tool itself checks it.
func OneOf(name, description string, values ...string) Param {
	p := Optional(name, "string", description)
	p.schema["enum"] = protocol.ListOf(values)
	return p
}

// Fields declares the fields of an object. They are bound like the parameters of the
// call.
func (p Param) Fields(fields ...Param) Param {
	p.schema["properties"] = properties(fields)
	return p
}

// Raw leaves a text unparsed: the tool parses it, because the order and repetitions
// of keys count.
func (p Param) Raw() Param {
	p.schema["contentMediaType"] = "application/json"
	return p
}

func properties(params []Param) map[string]any {
	m := make(map[string]any, len(params))
	for _, p := range params {
		m[p.name] = p.schema
	}
	return m
}

// Spec describes a tool. A call with other parameters is refused.
func Spec(id, description string, params ...Param) protocol.ToolSpec {
	required := []any{}
	for _, p := range params {
		if p.required {
			required = append(required, p.name)
		}
	}
	return protocol.ToolSpec{Name: id, Description: description, Parameters: map[string]any{
		"type": "object", "properties": properties(params), "required": required, "additionalProperties": false,
	}}
}

// With is the description of a tool with more parameters, none of which must be given; one of
// the same name takes the place of the other.
func With(spec protocol.ToolSpec, more ...Param) protocol.ToolSpec {
	schema, _ := spec.Parameters.(map[string]any)
	schema = maps.Clone(schema)
	had, _ := schema["properties"].(map[string]any)
	all := maps.Clone(had)
	maps.Copy(all, properties(more))
	schema["properties"], spec.Parameters = all, schema
	return spec
}

// Span refuses a number of seconds that is negative or above most.
func Span(name string, seconds float64, most time.Duration) error {
	if seconds < 0 || seconds > most.Seconds() || seconds != seconds {
		return protocol.Errorf(protocol.KindInvalid, "%s %s: want 0 to %s", name, protocol.Decimal(seconds), protocol.Decimal(most.Seconds()))
	}
	return nil
}
