package statecmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Guard protects a document. Patterns and paths begin below the mount's prefix.
type Guard struct {
	// ReadOnly places are never written.
	ReadOnly []world.Pattern
	// Protected containers are not replaced, removed or turned into something
	// else as a whole, nor is what holds them; what is in them may change. A
	// pattern with ** would protect everything above it too.
	Protected []world.Pattern
	// Types hold values to a type.
	Types []TypeRule
	// Strict refuses new children directly below the prefix that Known does not
	// list: a model that invents a root has usually misspelt one.
	Strict bool
	Known  []string
	// Validate, if given, judges the document after an entry; path is the place
	// that the entry wrote. It must depend on its arguments alone.
	Validate func(path world.Path, document any) error
}

// TypeRule holds the values at a pattern to a type: null, boolean, number,
// integer, text, list, object.
type TypeRule struct {
	Pattern world.Pattern
	Type    string
	// Coerce turns a text that is a number, boolean or integer into one, and a
	// number or boolean into a text; what cannot be turned is rejected.
	Coerce bool
}

// coerce holds a value that will stand at rel to the types, and everything in
// it. coerced names the places that were turned.
func (g *Guard) coerce(rel world.Path, v any, coerced *[]string) (any, *command.Fault) {
	for _, rule := range g.Types {
		if !rule.Pattern.Matches(rel) || isType(v, rule.Type) {
			continue
		}
		turned, ok := turn(v, rule.Type)
		if !rule.Coerce || !ok {
			return nil, &command.Fault{Code: command.SchemaViolation, Message: textf("%q takes %s; got %s", rel.String(), rule.Type, kindOf(v))}
		}
		*coerced = append(*coerced, rel.String())
		v = turned
	}
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, k := range protocol.SortedKeys(x) {
			c, fault := g.coerce(rel.Key(k), x[k], coerced)
			if fault != nil {
				return nil, fault
			}
			out[k] = c
		}
		return out, nil
	case []any:
		out := make([]any, len(x))
		for i := range x {
			c, fault := g.coerce(rel.At(i), x[i], coerced)
			if fault != nil {
				return nil, fault
			}
			out[i] = c
		}
		return out, nil
	}
	return v, nil
}

func isType(v any, name string) bool {
	kind := kindOf(v)
	if name == "integer" {
		_, ok := v.(int64)
		return ok
	}
	return kind == canonicalType(name)
}

// canonicalType reads the JSON Schema names too.
func canonicalType(name string) string {
	switch name {
	case "string":
		return world.KindText
	case "array":
		return world.KindList
	case "bool":
		return world.KindBoolean
	}
	return name
}

func turn(v any, name string) (any, bool) {
	text, isText := v.(string)
	text = strings.TrimSpace(text)
	switch canonicalType(name) {
	case "integer":
		if f, ok := v.(float64); ok && f == float64(int64(f)) {
			return int64(f), true
		}
		n, err := strconv.ParseInt(text, 10, 64)
		return n, isText && err == nil
	case world.KindNumber:
		if n, err := strconv.ParseInt(text, 10, 64); isText && err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(text, 64)
		n, normErr := protocol.Normalize(f)
		return n, isText && err == nil && normErr == nil
	case world.KindBoolean:
		return strings.EqualFold(text, "true"), isText && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false"))
	case world.KindText:
		switch v.(type) {
		case int64, float64, bool:
			return fmt.Sprint(v), true
		}
	}
	return nil, false
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return world.KindNull
	case bool:
		return world.KindBoolean
	case int64, float64:
		return world.KindNumber
	case string:
		return world.KindText
	case []any:
		return world.KindList
	}
	return world.KindObject
}

// checkRoot refuses an invented root.
func (g *Guard) checkRoot(rel world.Path, existing func(world.Path) bool) *command.Fault {
	if !g.Strict || len(rel) == 0 || existing(rel[:1]) || rel[0].Kind != world.Name || slices.Contains(g.Known, rel[0].Key) {
		return nil
	}
	return &command.Fault{Code: command.UnknownRoot, Message: textf("%q is not part of this document%s", rel[0].Key, command.Hint(command.Nearest(rel[0].Key, g.Known)))}
}

// checkWhole refuses to replace or remove a protected container.
func (g *Guard) checkWhole(rel world.Path) *command.Fault {
	for _, p := range g.Protected {
		if p.Matches(rel) || p.Touches(rel) && !p.Covers(rel) {
			return &command.Fault{Code: command.Protected, Message: textf("%q is protected; change what is in it", rel.String())}
		}
	}
	return nil
}

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
