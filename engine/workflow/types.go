package workflow

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/template"
	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// A conversion is what an edge does to a value on its way into a typed input.
type conversion uint8

const (
	asIs   conversion = iota
	strict            // the value must be of the input's type, or widen to it
	loose             // text is parsed and structures become JSON text as well
)

// compatible is the rule for edges; docs/formats/workflow.md states it. An edge
// between types that are not compatible is a fault.
func compatible(from, to Type) (conversion, bool) {
	switch {
	case from == to, to == Wildcard, to == ConvertibleAny:
		return asIs, true
	case from == Wildcard:
		return strict, true
	case from == ConvertibleAny:
		return loose, true
	case from == Integer && to == Float:
		return strict, true
	case to == String && (from == Integer || from == Float || from == Boolean):
		return strict, true
	}
	return asIs, false
}

// Fits reports whether an input of a type takes values of another.
func Fits(from, to Type) bool {
	_, ok := compatible(from, to)
	return ok || to == ""
}

func (t Type) valid() bool {
	return slices.Contains(Types(), t)
}

// untyped inputs take null as a value; for all others null is "not given".
func (t Type) untyped() bool { return t == Wildcard || t == ConvertibleAny }

// convert makes a value fit a type. null passes: whether a value is needed is
// the input's business.
func convert(v any, to Type, c conversion) (any, error) {
	if c == asIs || v == nil {
		return v, nil
	}
	if out, ok := widen(v, to); ok {
		return out, nil
	}
	if c == loose {
		if out, ok := parse(v, to); ok {
			return out, nil
		}
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "want %s, got %s", to, template.Describe(v))
}

// widen takes values of the type and the conversions that lose nothing.
func widen(v any, to Type) (any, bool) {
	switch to {
	case String:
		switch v.(type) {
		case string:
			return v, true
		case int64, float64, bool:
			return string(template.AppendText(nil, v)), true
		}
		return nil, false
	case Integer:
		return wholeNumber(v)
	case Float:
		if i, ok := v.(int64); ok {
			return float64(i), true
		}
		_, ok := v.(float64)
		return v, ok
	}
	return v, typeOf(v) == to || to.untyped() || to == Binary && isBase64(v)
}

func wholeNumber(v any) (any, bool) {
	switch x := v.(type) {
	case int64:
		return v, true
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			return int64(x), true
		}
	}
	return nil, false
}

func isBase64(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// parse is what CONVERTIBLE_ANY adds to widen.
func parse(v any, to Type) (any, bool) {
	if to == String {
		return string(template.AppendJSON(nil, v)), true
	}
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	s = strings.TrimSpace(s)
	switch to {
	case Integer:
		i, err := strconv.ParseInt(s, 10, 64)
		return i, err == nil
	case Float:
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	case Boolean:
		return s == "true", s == "true" || s == "false"
	case Object, Array:
		return parseStructure(s, to)
	}
	return nil, false
}

func parseStructure(s string, to Type) (any, bool) {
	t, err := lenient.Read(s, lenient.Options{Plain: true, Strict: true})
	return t.Value, err == nil && len(t.Repairs) == 0 && typeOf(t.Value) == to
}

// typeOf names the narrowest type of a value; null is WILDCARD.
func typeOf(v any) Type {
	switch v.(type) {
	case bool:
		return Boolean
	case int64:
		return Integer
	case float64:
		return Float
	case string:
		return String
	case []any:
		return Array
	case map[string]any:
		return Object
	}
	return Wildcard
}

// TypeOf names the narrowest type of a value; null is WILDCARD.
func TypeOf(v any) Type { return typeOf(v) }

// Convert makes a value fit a type the way an edge from a CONVERTIBLE_ANY
// output does.
func Convert(v any, to Type) (any, error) {
	if to.untyped() {
		return v, nil
	}
	return convert(v, to, loose)
}
