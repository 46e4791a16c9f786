package schema

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What a schema may cost. The library bounds nothing: it checks every branch again for every way
// that leads to it, so a few lines of anyOf can ask for more steps than there is
// time.
const (
	maxSpan  = 10_000    // schemas that one value is checked against beside each other: $ref, allOf, anyOf, oneOf, if, not
	maxSteps = 1_000_000 // schemas that a value and everything in it are checked against
	perStep  = 64        // values of an enum that cost a step
)

// branch is a schema as the count of steps sees it: which schemas it leads to.
type branch struct {
	schema     *jsonschema.Schema
	beside     []*branch          // check the same value
	members    []*branch          // may check any member of an object, or its name
	properties map[string]*branch // check the member of this name
	items      []*branch          // may check any element of a list
	prefix     []*branch          // check the element of this number
	span       int                // see count; 0 = not counted yet
}

// branches makes the branch of a schema and of all that it leads to.
type branches map[*jsonschema.Schema]*branch

func (all branches) add(list []*branch, schemas ...*jsonschema.Schema) []*branch {
	for _, s := range schemas {
		if s != nil {
			list = append(list, all.of(s))
		}
	}
	return list
}

func (all branches) of(s *jsonschema.Schema) *branch {
	if b, ok := all[s]; ok {
		return b
	}
	b := &branch{schema: s, properties: make(map[string]*branch, len(s.Properties))}
	all[s] = b
	b.beside = all.add(b.beside, s.Ref, s.Not, s.If, s.Then, s.Else)
	b.beside = all.add(all.add(all.add(b.beside, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, sub := range s.DependentSchemas {
		b.beside = all.add(b.beside, sub)
	}
	for _, sub := range s.Dependencies {
		b.beside = all.add(b.beside, single(sub))
	}
	b.members = all.add(b.members, s.PropertyNames, s.UnevaluatedProperties, single(s.AdditionalProperties))
	for _, sub := range s.PatternProperties {
		b.members = all.add(b.members, sub)
	}
	for name, sub := range s.Properties {
		b.properties[name] = all.of(sub)
	}
	b.items = all.add(b.items, s.Items2020, s.Contains, s.UnevaluatedItems, single(s.AdditionalItems), single(s.Items))
	list, _ := s.Items.([]*jsonschema.Schema)
	b.prefix = all.add(all.add(b.prefix, list...), s.PrefixItems...)
	return b
}

// single is the schema in a field that may hold something else.
func single(x any) *jsonschema.Schema {
	s, _ := x.(*jsonschema.Schema)
	return s
}

// problem finds what no check could carry out, and where; nil when there is
// nothing. Of several places it takes the first by name.
func (all branches) problem() (at *jsonschema.Schema, message string) {
	for s, b := range all {
		found := ""
		switch {
		case s.DynamicRef != nil, s.RecursiveRef != nil:
			found = "$dynamicRef and $recursiveRef are not supported; use $ref"
		case b.count() > maxSpan:
			found = fmt.Sprintf("one value would be checked against more than %d schemas: $ref, allOf, anyOf, oneOf and if multiply, or lead back to where they began without a step into the value", maxSpan)
		}
		if found != "" && (at == nil || s.Location < at.Location) {
			at, message = s, found
		}
	}
	return at, message
}

// count is how many schemas check one value that b checks, at most one more than
// the bound. A circle counts as too many.
func (b *branch) count() int {
	if b.span > 0 {
		return b.span
	}
	b.span = maxSpan + 1 // for whoever leads back here
	total := 1
	for _, sub := range b.beside {
		total = min(total+sub.count(), maxSpan+1)
	}
	b.span = total
	return total
}

// steps is what is left of the work of one check.
type steps int

// take charges b and all that it asks of v, at least as much as the library
// does, and reports whether there was enough.
func (n *steps) take(b *branch, v any) bool {
	*n--
	if b.schema.Enum != nil {
		*n -= steps(len(b.schema.Enum.Values) / perStep)
	}
	if *n < 0 {
		return false
	}
	if !n.each(b.beside, v) {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if own := b.properties[name]; own != nil && !n.take(own, x) || !n.each(b.members, x) {
				return false
			}
		}
	case []any:
		for i, x := range v {
			if i < len(b.prefix) && !n.take(b.prefix[i], x) || !n.each(b.items, x) {
				return false
			}
		}
	}
	return true
}

func (n *steps) each(list []*branch, v any) bool {
	for _, b := range list {
		if !n.take(b, v) {
			return false
		}
	}
	return true
}

// place leads to a schema inside of the one at an address; a schema
// elsewhere has no steps.
func place(address string, s *jsonschema.Schema) []string {
	pointer, ok := strings.CutPrefix(s.Location, address+"/")
	if !ok {
		return nil
	}
	list := strings.Split(pointer, "/")
	for i, token := range list {
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		list[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return list
}
