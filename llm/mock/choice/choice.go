// Package choice makes of an answer what a server makes of it for a request that says which calls it wants (tool_choice).
//
// It is pure. docs/decisions/0199-the-mock-makes-the-call-that-has-to-be.md says why it makes calls.
//
// # Promises
//
//  1. The parameters that are made of a schema are at most 64 KiB of JSON. What is above that is null or left out.
//  2. Numbers that 64 bits hold keep their digits, also in a text of the script that becomes parameters.
//  3. Within these bounds, made parameters fit the members of a schema that the type least names, as far as one choice
//     at each anyOf and oneOf allows: the first.
package choice

import (
	"slices"
	"strconv"

	"tavernsim/internal/lenient"
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
func params(of []byte, text string) map[string]any {
	if p, ok := read(text).(map[string]any); ok {
		return p
	}
	schema := read(string(of))
	l := least{root: schema, left: maxBytes}
	if p, ok := l.of(0, schema).(map[string]any); ok {
		return p
	}
	return map[string]any{} // also for a tool without a schema
}

// read reads JSON and keeps its numbers; nil = it is none.
func read(text string) any {
	t, err := lenient.Read(text, lenient.Options{Plain: true, Strict: true})
	if err != nil {
		return nil
	}
	return t.Value
}
