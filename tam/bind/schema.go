package bind

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"tavernsim/protocol"
)

// Property is one declared parameter.
type Property struct {
	Name     string
	Required bool
	Raw      bool   // it has a contentMediaType: texts stay texts, whatever is in them
	URI      string // x-uri: what the tool gets in the place of a reference; "" = no text is one
	Default  any    // stands in for a value that is not given; nil = there is none
	Type     Type
}

// Schema is what a tool declares about its parameters.
type Schema struct {
	Properties []Property // by name
	Closed     bool       // additionalProperties: false
	Loose      bool       // what does not fit stays as it is, for somebody else checks all that is bound
	References bool       // somebody fetches what references refer to
	Secrets    bool       // texts may name secrets, $KARYI{NAME}
	required   int        // how many
	defaults   int        // how many
}

// Loosely is the schema for values that are bound to it once more: what does not fit stays as it is, and what is missing
// is missing.
func (s *Schema) Loosely() *Schema {
	loose := *s
	loose.Loose, loose.defaults = true, 0
	return &loose
}

// URIKey is the keyword of a property that may be given by a reference.
const URIKey = "x-uri"

// NewSchema makes a closed schema of properties, sorted by name.
func NewSchema(properties []Property) Schema {
	s := Schema{Properties: properties, Closed: true}
	for _, p := range properties {
		if p.Required {
			s.required++
		}
		if p.Default != nil {
			s.defaults++
		}
	}
	return s
}

// Type is the part of a JSON Schema that decides how a text is read.
type Type struct {
	Names      []string // "string", "integer", …; empty: anything, texts stay texts
	Items      *Type    // of an array
	Properties map[string]Type
}

// SchemaOf reads a JSON Schema of type object, as a protocol value. nil declares
// nothing and is open.
func SchemaOf(v any) (Schema, error) {
	if v == nil {
		return Schema{}, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return Schema{}, protocol.Errorf(protocol.KindInvalid, "bind: read schema: got %T; want an object", v)
	}
	props, ok := m["properties"].(map[string]any)
	if !ok && m["properties"] != nil {
		return Schema{}, protocol.Errorf(protocol.KindInvalid, "bind: read schema: properties is %T; want an object", m["properties"])
	}
	required, _ := m["required"].([]any)
	var list []Property
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := Property{Name: name, Required: slices.Contains(required, any(name)), Type: typeOf(props[name], 0)}
		if pm, ok := props[name].(map[string]any); ok {
			_, p.Raw = pm["contentMediaType"]
			p.URI, _ = pm[URIKey].(string)
			p.Default = pm["default"]
		}
		list = append(list, p)
	}
	s := NewSchema(list)
	s.Closed = m["additionalProperties"] == false
	return s, nil
}

// maxDepth bounds how deep types and values are followed.
const maxDepth = 32

func typeOf(v any, depth int) Type {
	m, ok := v.(map[string]any)
	if !ok || depth > maxDepth {
		return Type{}
	}
	t := Type{Names: typeNames(m["type"])}
	for _, key := range []string{"anyOf", "oneOf"} {
		alternatives, _ := m[key].([]any)
		for _, a := range alternatives {
			t.join(typeOf(a, depth+1))
		}
	}
	if m["nullable"] == true {
		t.Names = append(t.Names, "null")
	}
	if items, ok := m["items"]; ok {
		it := typeOf(items, depth+1)
		t.Items = &it
	}
	if props, ok := m["properties"].(map[string]any); ok {
		t.Properties = map[string]Type{}
		for name, p := range props {
			t.Properties[name] = typeOf(p, depth+1)
		}
	}
	return t
}

func typeNames(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var names []string
		for _, n := range v {
			if s, ok := n.(string); ok {
				names = append(names, s)
			}
		}
		return names
	}
	return nil
}

func (t *Type) join(o Type) {
	t.Names = append(t.Names, o.Names...)
	if t.Items == nil {
		t.Items = o.Items
	}
	if t.Properties == nil {
		t.Properties = o.Properties
	}
}

func (t Type) has(name string) bool { return slices.Contains(t.Names, name) }

// String names the type for a message: "integer or null".
func (t Type) String() string {
	if len(t.Names) == 0 {
		return "any value"
	}
	names := strings.Join(t.Names, " or ")
	if t.Items != nil && t.has("array") && len(t.Items.Names) > 0 {
		names += " of " + t.Items.String()
	}
	return names
}

// takes reports whether the parameters of a call are what the schema wants, as
// they are, and can be kept. It makes no allocation: most calls of nodes and models are so.
func (s *Schema) takes(c *protocol.Call) bool {
	if c.Origin == protocol.OriginTAM || len(c.URIs)+len(c.TypeHints)+len(c.Orphans) > 0 {
		return false
	}
	required, defaults := 0, 0
	for name, v := range c.Params {
		p := s.property(name)
		if p == nil || !p.Type.takes(v, 0) || p.Required && isNothing(v) || protocol.Deeper(v, protocol.MaxNested) {
			return false
		}
		if p.Required {
			required++
		}
		if p.Default != nil && v != nil {
			defaults++
		}
	}
	return required == s.required && defaults >= s.defaults
}

// takes reports whether a value is of the type. Null always is: the parameter is
// then not given.
func (t *Type) takes(v any, depth int) bool {
	if v == nil || len(t.Names) == 0 || depth > maxDepth {
		return true
	}
	switch x := v.(type) {
	case string:
		return t.has("string")
	case int64:
		return t.has("integer") || t.has("number")
	case float64:
		return t.has("number")
	case bool:
		return t.has("boolean")
	case []any:
		for i := 0; t.Items != nil && i < len(x); i++ {
			if x[i] == nil || !t.Items.takes(x[i], depth+1) {
				return false
			}
		}
		return t.has("array")
	case map[string]any:
		for name := range t.Properties {
			p := t.Properties[name]
			if v, ok := x[name]; ok && !p.takes(v, depth+1) {
				return false
			}
		}
		return t.has("object")
	}
	return false
}

func (s *Schema) property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// find looks a name up exactly, then squashed; nil when there is none or when
// several fit.
func (s *Schema) find(name string) *Property {
	if p := s.property(name); p != nil {
		return p
	}
	var found *Property
	key := squash(name)
	for i := range s.Properties {
		if squash(s.Properties[i].Name) == key {
			if found != nil {
				return nil
			}
			found = &s.Properties[i]
		}
	}
	return found
}

// squash keeps letters and digits in lower case: filePath, file_path and
// FILEPATH are one name.
// Squash makes ids equal that are one for a model.
func Squash(id string) string { return squash(id) }

func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// Null reports whether null is a value of a property, and does not mean that it is not given.
func (s *Schema) Null(name string) bool {
	p := s.property(name)
	return p != nil && p.Type.has("null")
}
