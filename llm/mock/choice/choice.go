// Package choice makes of an answer what a server makes of it for a request that says which calls it wants (tool_choice).
//
// It is pure. docs/decisions/0199-the-mock-makes-the-call-that-has-to-be.md says why it makes calls.
package choice

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tavernsim/llm/mock/wire"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Obey changes what the script says. A model that has to call says nothing else. A refusal stays. chance is what the id of a
// made call is drawn from.
func Obey(f wire.Form, q *wire.Question, said *protocol.ModelAnswer, chance protocol.Draw) {
	w := &q.Wants
	if *w == (wire.Wants{}) || said.Finish == protocol.FinishFiltered {
		return
	}
	said.Calls = slices.DeleteFunc(said.Calls, func(c protocol.Call) bool { return w.None || w.Name != "" && c.Tool != w.Name })
	if w.Some && len(said.Calls) == 0 {
		said.Calls = []protocol.Call{{ID: "call_" + strconv.FormatUint(chance.Uint64(), 36), Tool: q.Required(), Params: params(q.Schema, said.Text), Origin: protocol.OriginNative}}
		said.Finish = protocol.FinishToolCalls
	}
	if w.Some {
		said.Text, said.Stopped = "", ""
	}
	if w.Single && len(said.Calls) > 1 {
		said.Calls = said.Calls[:1]
	}
	if said.Finish == protocol.FinishToolCalls && (len(said.Calls) == 0 || w.Name != "" && !f.Anthropic()) {
		said.Finish = protocol.FinishStop // chat completions say so of a call of the tool that was named
	}
	said.Usage.Output = scripted.OutputTokens(said)
}

// params are those of a call that has to be: what the script says, if that is a JSON object, or else the least that the
// tool's schema allows.
func params(of []byte, text string) (p map[string]any) {
	if json.Unmarshal([]byte(text), &p) == nil && p != nil {
		return p
	}
	var schema any
	_ = json.Unmarshal(of, &schema) // the request was JSON; what has no schema takes an empty object
	l := least{root: schema, left: maxLeast}
	if p, _ = l.of(schema, 0).(map[string]any); p == nil {
		p = map[string]any{}
	}
	return p
}

// Bounds of made parameters: a schema may refer to itself.
const (
	maxLeast  = 1000 // values
	maxLevels = 16
)

// least makes a small value of a JSON Schema, out of what clients write of it: types, enum, const, default, required,
// minimum, minLength, minItems, $ref, anyOf, oneOf and allOf.
type least struct {
	root any
	left int // values that may still be made
}

// of makes the value of a schema; nil is null, and what nothing is known of.
func (l *least) of(schema any, level int) any {
	s, _ := schema.(map[string]any)
	if l.left--; l.left < 0 || level > maxLevels {
		return nil
	}
	if to, ok := s["$ref"].(string); ok {
		return l.of(l.at(to), level+1)
	}
	for _, name := range []string{"const", "default"} {
		if v, ok := s[name]; ok {
			return v
		}
	}
	for _, name := range []string{"enum", "anyOf", "oneOf", "allOf"} {
		list, _ := s[name].([]any)
		switch {
		case len(list) == 0:
		case name == "enum":
			return list[0]
		default:
			return l.of(list[0], level+1)
		}
	}
	return l.typed(s, level)
}

// typed makes the value of a schema that names a type, or the first of several.
func (l *least) typed(s map[string]any, level int) any {
	kind, _ := s["type"].(string)
	if several, _ := s["type"].([]any); len(several) > 0 {
		kind, _ = several[0].(string)
	}
	if kind == "" && s["properties"] != nil {
		kind = "object"
	}
	number := func(name string) float64 { n, _ := s[name].(float64); return n }
	switch kind {
	case "object":
		made := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		names, _ := s["required"].([]any)
		for _, n := range names {
			if name, ok := n.(string); ok {
				made[name] = l.of(properties[name], level+1)
			}
		}
		return made
	case "array":
		made := []any{}
		for len(made) < int(number("minItems")) && l.left > 0 {
			made = append(made, l.of(s["items"], level+1))
		}
		return made
	case "string":
		return strings.Repeat("x", int(min(max(number("minLength"), 0), maxLeast)))
	case "integer", "number":
		if above, ok := s["exclusiveMinimum"].(float64); ok {
			return above + 1
		}
		if most, ok := s["maximum"].(float64); ok && most < 0 && s["minimum"] == nil {
			return most
		}
		return number("minimum")
	case "boolean":
		return false
	}
	return nil
}

// at finds what a reference within the schema names; nil = nothing.
func (l *least) at(to string) any {
	rest, here := strings.CutPrefix(to, "#/")
	at := l.root
	for step := range strings.SplitSeq(rest, "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	if !here {
		return nil
	}
	return at
}
