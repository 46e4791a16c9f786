// Package contexts reads from model files how long a question to a model, and its answer, may
// be. It imports no provider, so that views of a run import no model.
package contexts

import (
	"math"
	"slices"

	"tavernsim/engine/workflow"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// Of gives the room of each model of a project by its name; that of the model in the file def
// also by "". A model that answers by others has the room of the one that leaves least for a
// question. A model whose file says neither is left out. files are by path; faults are for
// whoever reads them as models.
func Of(files map[string][]byte, def string) map[string]workflow.Room {
	all := map[string]model{}
	for file, data := range files {
		if m, ok := read(file, data); ok {
			all[source.Stem(file)] = m
		}
	}
	out := map[string]workflow.Room{}
	for name := range all {
		if r := least(rooms(all, name, map[string]bool{})); r != (workflow.Room{}) {
			out[name] = r
			if def != "" && name == source.Stem(def) {
				out[""] = r
			}
		}
	}
	return out
}

// model is what counts here of a file.
type model struct {
	own   workflow.Room // what it says itself
	names []string      // models that answer for it
}

func read(file string, data []byte) (m model, ok bool) {
	doc := source.Parse(file, data, source.Limits{}, &source.Report{})
	if doc == nil {
		return m, false
	}
	fields, _ := doc.Root.Value().(map[string]any)
	switch kind, _ := fields["kind"].(string); kind {
	case "route":
		m.use(fields["route"])
		m.use(fields["fallback"])
	case "replay", "faulty", "surrogate":
		name, _ := fields["model"].(string)
		m.names = []string{name}
	default: // of a protocol; other files have no such field
		params, _ := fields["params"].(map[string]any)
		extra, _ := params["extra"].(map[string]any)
		m.own = workflow.Room{Context: whole(fields["context"]), Answer: whole(params["max_tokens"]), Extra: bound.Extra(&protocol.ModelOptions{Extra: extra})}
	}
	return m, true
}

// whole is a whole number as decoding reads it: 3.2e4 is 32000; 0 = it is none.
func whole(v any) int {
	switch n := v.(type) {
	case int64:
		return int(n)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int(n)
		}
	}
	return 0
}

// use notes the models that entries of a route name.
func (m *model) use(entries any) {
	list, _ := entries.([]any)
	for _, v := range list {
		e, _ := v.(map[string]any)
		if name, ok := e["use"].(string); ok {
			m.names = append(m.names, name)
		}
	}
}

// rooms are those of all models that may answer for one, each as its file says.
func rooms(all map[string]model, name string, seen map[string]bool) (list []workflow.Room) {
	m, ok := all[name]
	if !ok || seen[name] {
		return nil
	}
	seen[name] = true
	if len(m.names) == 0 {
		list = append(list, m.own)
	}
	for _, other := range m.names {
		list = append(list, rooms(all, other, seen)...)
	}
	return list
}

// defaultAnswer is what a model sends whose file does not say how long an answer may be.
const defaultAnswer = 1024

// least is the room that leaves least for a question, with the largest Extra. If one of the files says how long an
// answer may be, the others have the default.
func least(list []workflow.Room) (r workflow.Room) {
	said := slices.ContainsFunc(list, func(r workflow.Room) bool { return r.Answer > 0 })
	for i, x := range list {
		if said && x.Answer == 0 {
			x.Answer = defaultAnswer
		}
		extra := max(r.Extra, x.Extra)
		differs := r.Differs || i > 0 && x.Answer != r.Answer
		if i == 0 || question(x) < question(r) {
			r = x
		}
		r.Differs, r.Extra = differs, extra
	}
	return r
}

// question is what a room leaves for a question.
func question(r workflow.Room) int {
	if r.Context == 0 {
		return math.MaxInt - r.Answer
	}
	return r.Context - r.Answer
}
