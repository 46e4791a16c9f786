// Package schema checks values against compiled JSON Schemas. It bounds the cost of a check,
// which the library does not, describes where and how a value breaks a schema, and fills
// in defaults.
package schema

import (
	"errors"
	"fmt"
	"maps"

	"tavernsim/protocol"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxDefaults bounds the values that the defaults of a schema fill in: a few could ask for
// more than there is memory.
const MaxDefaults = 10_000

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	root     *branch
}

// New refuses a schema that no value could be checked against; steps lead to what is wrong
// in it, and problem says what.
func New(compiled *jsonschema.Schema) (s *Schema, steps []string, problem string) {
	all := branches{}
	s = &Schema{compiled, all.of(compiled)}
	if at, problem := all.problem(); at != nil {
		return nil, place(compiled.Location, at), problem
	}
	return s, nil, ""
}

// Check lists the violations, in the order of their places: the first hundred. A
// value that is too much work to check is one violation.
func (s *Schema) Check(v any) []Violation {
	detail, tooMuch := s.validate(v)
	switch {
	case tooMuch != nil:
		return tooMuch
	case detail != nil:
		return Violations(detail)
	}
	return nil
}

func (s *Schema) validate(v any) (detail *jsonschema.ValidationError, tooMuch []Violation) {
	if left := steps(maxSteps); !left.take(s.root, v) {
		return nil, []Violation{{Message: fmt.Sprintf("checking it against the schema takes more than %d steps: alternatives multiply with its depth", maxSteps)}}
	}
	detail, _ = errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(v))
	return detail, nil
}

// Fits says how a value violates the schema, and where: the first eight ways, and how
// many more there are. A nil schema fits everything.
func (s *Schema) Fits(v any) error { return s.fits(v, path) }

// FitsByPointer says it with the JSON pointers of the places.
func (s *Schema) FitsByPointer(v any) error { return s.fits(v, pointer) }

func (s *Schema) fits(v any, place func(steps []string) string) error {
	if s == nil {
		return nil
	}
	detail, list := s.validate(v)
	total := len(list)
	if detail != nil {
		var some []found
		some, total = first(detail, maxInText)
		list = plain(some)
	}
	if total == 0 {
		return nil
	}
	return errors.New(inOneLine(list, total, place))
}

// Defaults lists the violations of the defaults of an object's properties, each by itself, as the schema is written: what
// else such an object lacks is none.
func (s *Schema) Defaults(written map[string]any) (list []Violation) {
	properties, _ := written["properties"].(map[string]any)
	for _, name := range protocol.SortedKeys(properties) {
		p, _ := properties[name].(map[string]any)
		if p["default"] == nil {
			continue
		}
		for _, v := range s.Check(map[string]any{name: p["default"]}) {
			if len(v.Steps) > 0 && v.Steps[0] == name {
				list = append(list, v)
			}
		}
	}
	return list
}

// Fill adds the defaults of a schema's properties where they are missing, in v
// and in the objects inside it, and reports whether their number has a bound. It
// copies what it changes.
func (s *Schema) Fill(v map[string]any) (map[string]any, bool) {
	left := MaxDefaults
	out, _ := fill(s.compiled, v, 0, &left)
	return out, left >= 0
}

func fill(s *jsonschema.Schema, m map[string]any, depth int, left *int) (out map[string]any, changed bool) {
	for ; s != nil && s.Ref != nil && len(s.Properties) == 0 && depth < protocol.MaxDepth; depth++ {
		s = s.Ref
	}
	if s == nil || depth >= protocol.MaxDepth {
		return m, false
	}
	out = m
	for _, name := range protocol.SortedKeys(s.Properties) {
		sub := s.Properties[name]
		have, given := m[name]
		value, filled := have, false
		if !given && sub.Default != nil {
			if *left--; *left < 0 {
				return out, changed
			}
			value, filled = *sub.Default, true
		}
		if x, isMap := value.(map[string]any); isMap {
			y, more := fill(sub, x, depth+1, left)
			value, filled = y, filled || more
		}
		if filled {
			if !changed {
				out, changed = maps.Clone(m), true
			}
			out[name] = value
		}
	}
	return out, changed
}
