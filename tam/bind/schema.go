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
	Raw      bool // x-tam-raw: the exact bytes are wanted; the caller cuts them out of the source
	Type     Type
}

// Schema is what a tool declares about its parameters.
type Schema struct {
	Properties []Property // by name
	Closed     bool       // additionalProperties: false
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
	s := Schema{Closed: m["additionalProperties"] == false}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := Property{Name: name, Required: slices.Contains(required, any(name)), Type: typeOf(props[name], 0)}
		if pm, ok := props[name].(map[string]any); ok {
			p.Raw = pm["x-tam-raw"] == true
		}
		s.Properties = append(s.Properties, p)
	}
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
	key := Squash(name)
	for i := range s.Properties {
		if Squash(s.Properties[i].Name) == key {
			if found != nil {
				return nil
			}
			found = &s.Properties[i]
		}
	}
	return found
}

// Squash keeps letters and digits in lower case: filePath, file_path and
// FILEPATH are one name.
func Squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// Lint lists parameters whose names mean something else in a block, so that
// models cannot write them directly. Tools should avoid them.
func Lint(s Schema) []string {
	var found []string
	for _, p := range s.Properties {
		key := Squash(p.Name)
		reserved := slices.Contains([]string{"command", "comment", "requestid", "onerror", "retry"}, key)
		for _, prefix := range []string{"uri", "typehint", "common"} {
			rest, ok := strings.CutPrefix(key, prefix)
			reserved = reserved || ok && rest != "" && hasWordBreak(p.Name, len(prefix))
		}
		if reserved {
			found = append(found, p.Name)
		}
	}
	return found
}

// hasWordBreak reports whether a word ends after n letters of name: uriList and
// uri_list begin with the word uri, uric does not.
func hasWordBreak(name string, n int) bool {
	for _, r := range name {
		if !unicode.IsLetter(r) {
			if n <= 0 {
				return true
			}
			continue
		}
		if n == 0 {
			return unicode.IsUpper(r)
		}
		n--
	}
	return false
}
