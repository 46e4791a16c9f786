package schema

import (
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// simple is a schema of a few common keywords, for a check without the library, which makes some
// ten objects for each member of an object. nil = the library alone checks it.
type simple struct {
	types      []string // nil = all
	low, high  int64    // of integers
	bounded    bool     // low or high is a bound
	properties map[string]*simple
	closed     bool // it allows no other properties
	items      *simple
	*jsonschema.Schema
}

// keywords are the fields of a schema that simpleOf and fits know, and those that restrict nothing.
func keywords() []string {
	return []string{
		"Types", "Enum", "Required", "Properties", "AdditionalProperties", "MinItems", "MaxItems", "Items", "Items2020", "MinLength", "MaxLength", "Minimum", "Maximum",
		"DraftVersion", "Location", "ID", "Anchor", "Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples",
	}
}

// known reports whether a schema has these keywords alone, and none that a newer library adds.
func known(s *jsonschema.Schema) bool {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if f := v.Type().Field(i); f.IsExported() && !slices.Contains(keywords(), f.Name) {
			return false
		}
	}
	return true
}

// simpleOf is a schema as a simple one; nil = it has other keywords.
func simpleOf(s *jsonschema.Schema) *simple {
	if !known(s) {
		return nil
	}
	p := &simple{low: math.MinInt64, high: math.MaxInt64, Schema: s}
	if s.Types != nil && !s.Types.IsEmpty() {
		p.types = s.Types.ToStrings()
	}
	if !p.bounds() {
		return nil
	}
	switch additional := s.AdditionalProperties.(type) {
	case nil:
	case bool:
		p.closed = !additional
	default:
		return nil
	}
	if s.Items2020 != nil || s.Items != nil {
		of := s.Items2020
		if of == nil {
			of = single(s.Items)
		}
		if of == nil {
			return nil
		}
		if p.items = simpleOf(of); p.items == nil {
			return nil
		}
	}
	p.properties = make(map[string]*simple, len(s.Properties))
	for name, of := range s.Properties {
		member := simpleOf(of)
		if member == nil {
			return nil
		}
		p.properties[name] = member
	}
	return p
}

// bounds takes the bounds of numbers; false = one is no integer.
func (p *simple) bounds() bool {
	if low := p.Minimum; low != nil {
		if !low.IsInt() || !low.Num().IsInt64() {
			return false
		}
		p.low, p.bounded = low.Num().Int64(), true
	}
	if high := p.Maximum; high != nil {
		if !high.IsInt() || !high.Num().IsInt64() {
			return false
		}
		p.high, p.bounded = high.Num().Int64(), true
	}
	return true
}

// fits reports whether a value surely fits. Of another one the library says whether it does, and
// what is wrong.
func (p *simple) fits(v any) bool {
	switch v := v.(type) {
	case string:
		return p.takes("string") && p.length(v) && (p.Enum == nil || slices.ContainsFunc(p.Enum.Values, func(e any) bool { return e == v }))
	case int64:
		return p.Enum == nil && (p.takes("integer") || p.takes("number")) && p.low <= v && v <= p.high
	case float64:
		return p.Enum == nil && p.takes("number") && !p.bounded && !math.IsNaN(v) && !math.IsInf(v, 0)
	case bool:
		return p.Enum == nil && p.takes("boolean")
	case nil:
		return p.Enum == nil && p.takes("null")
	case []any:
		return p.Enum == nil && p.takes("array") && p.list(v)
	case map[string]any:
		return p.Enum == nil && p.takes("object") && p.object(v)
	}
	return false
}

func (p *simple) takes(name string) bool { return p.types == nil || slices.Contains(p.types, name) }

func (p *simple) length(text string) bool {
	if p.MinLength == nil && p.MaxLength == nil {
		return true
	}
	n := utf8.RuneCountInString(text)
	return (p.MinLength == nil || n >= *p.MinLength) && (p.MaxLength == nil || n <= *p.MaxLength)
}

func (p *simple) list(list []any) bool {
	if p.MinItems != nil && len(list) < *p.MinItems || p.MaxItems != nil && len(list) > *p.MaxItems {
		return false
	}
	return p.items == nil || !slices.ContainsFunc(list, func(v any) bool { return !p.items.fits(v) })
}

func (p *simple) object(object map[string]any) bool {
	for _, name := range p.Required {
		if _, given := object[name]; !given {
			return false
		}
	}
	for name, v := range object {
		if of := p.properties[name]; of == nil && p.closed || of != nil && !of.fits(v) {
			return false
		}
	}
	return true
}
