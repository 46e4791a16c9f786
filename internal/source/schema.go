package source

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"time"
)

// Schema writes the JSON Schema (2020-12) of a definition struct for editors:
// what Decode accepts, with the rules' sentences as descriptions. The result is
// a value; equal calls give equal results.
func (d *Decoder) Schema(t reflect.Type, title string) map[string]any {
	g := &schemaGen{d: d, defs: map[string]any{}}
	root := g.structure(t)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	root["properties"].(map[string]any)["$schema"] = map[string]any{"type": "string"}
	if len(g.defs) > 0 {
		root["$defs"] = g.defs
	}
	return root
}

type schemaGen struct {
	d    *Decoder
	defs map[string]any
}

func (g *schemaGen) structure(t reflect.Type) map[string]any {
	properties := map[string]any{}
	var required []any
	for _, f := range g.d.fieldsOf(t) {
		rule := g.d.Rules.Of(t, f.Name)
		s := g.of(f.Type, rule)
		describe(s, rule)
		properties[f.Name] = s
		if rule.Required {
			required = append(required, f.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		out["required"] = required
	}
	return out
}

func describe(s map[string]any, rule Rule) {
	if rule.Doc != "" {
		s["description"] = rule.Doc
	}
	if rule.Default != nil {
		s["default"] = rule.Default
	}
}

func (g *schemaGen) of(t reflect.Type, rule Rule) map[string]any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.New(t).Interface()
	if _, ok := p.(encoding.TextUnmarshaler); ok {
		return textSchema(t)
	}
	if _, ok := p.(json.Unmarshaler); ok {
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.reference(t)
	case reflect.Slice:
		out := map[string]any{"type": "array", "items": g.of(t.Elem(), elemRule(rule))}
		if rule.MaxItems > 0 {
			out["maxItems"] = int64(rule.MaxItems)
		}
		return out
	case reflect.Map:
		out := map[string]any{"type": "object"}
		if t.Elem().Kind() != reflect.Interface {
			out["additionalProperties"] = g.of(t.Elem(), elemRule(rule))
		}
		return out
	}
	return scalarSchema(t, rule)
}

func textSchema(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Int64:
		return map[string]any{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`}
	}
	return map[string]any{"type": "string"}
}

// reference puts a nested struct under $defs, once, so that recursive
// definitions end.
func (g *schemaGen) reference(t reflect.Type) map[string]any {
	if _, ok := g.defs[t.Name()]; !ok {
		g.defs[t.Name()] = nil
		g.defs[t.Name()] = g.structure(t)
	}
	ref := map[string]any{"$ref": "#/$defs/" + t.Name()}
	switch short, given := shortOf(g.d.fieldsOf(t), g.d.Shorthand[t]); {
	case short == nil:
	case given == List:
		return map[string]any{"anyOf": []any{g.of(short.Type, g.d.Rules.Of(t, short.Name)), ref}}
	default:
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, ref}}
	}
	return ref
}

func scalarSchema(t reflect.Type, rule Rule) map[string]any {
	out := map[string]any{}
	switch t.Kind() {
	case reflect.Bool:
		out["type"] = "boolean"
	case reflect.String:
		out["type"] = "string"
		if rule.Required {
			out["minLength"] = int64(1)
		}
	case reflect.Float64:
		out["type"] = "number"
	case reflect.Interface:
	default:
		out["type"] = "integer"
		if t.Kind() == reflect.Uint64 {
			out["minimum"] = int64(0)
		}
	}
	if len(rule.Enum) > 0 {
		list := make([]any, len(rule.Enum))
		for i, e := range rule.Enum {
			list[i] = e
		}
		out["enum"] = list
	}
	addRange(out, rule.Range)
	return out
}

func addRange(out map[string]any, r *Range) {
	if r == nil {
		return
	}
	if r.Open {
		out["exclusiveMinimum"] = r.Min
	} else {
		out["minimum"] = r.Min
	}
	if !math.IsInf(r.Max, 1) {
		out["maximum"] = r.Max
	}
}
