package models

import (
	"bytes"
	"encoding/json"
	"slices"

	"tavernsim/llm"
	"tavernsim/llm/replay"
	"tavernsim/llm/surrogate"
	"tavernsim/protocol"
)

// fits reports whether a recorded decision could be an answer to a request.
func fits(e *replay.Entry, q *protocol.ModelRequest) bool {
	for i := range e.Calls {
		if !slices.ContainsFunc(q.Tools, func(t protocol.ToolSpec) bool { return t.Name == e.Calls[i].Tool }) {
			return false
		}
	}
	return !q.JSON || json.Valid([]byte(e.Text))
}

// agrees reports whether a surrogate's answer says the same as the model's: the same calls
// or, without any, a text within the distance.
func (n *likeness) agrees(e *replay.Entry, a *protocol.ModelAnswer) bool {
	if len(e.Calls) != len(a.Calls) {
		return false
	}
	for i := range e.Calls {
		x, y := &e.Calls[i], &a.Calls[i]
		if x.Tool != y.Tool || x.Broken != y.Broken || !bytes.Equal(llm.AppendAny(nil, x.Params), llm.AppendAny(nil, y.Params)) {
			return false
		}
	}
	return len(e.Calls) > 0 || surrogate.Apart(e.Text, a.Text) <= n.most
}

// recall finds the recorded answer to the request: what any of the candidates from one on
// answered to this very request, else what the first of them would be answered.
func (p *planner) recall(from, first int, answers *replay.Answers) (*replay.Entry, bool) {
	if answers == nil {
		return nil, false
	}
	best, found := p.find(first, answers)
	this := func(e *replay.Entry, ok bool) bool { return ok && e.Place() == place(p.q) }
	for i := from; i < len(p.plan) && !this(best, found); i++ {
		if i == first {
			continue
		}
		if e, ok := p.find(i, answers); this(e, ok) {
			best, found = e, true
		}
	}
	return best, found
}

func (p *planner) find(i int, answers *replay.Answers) (*replay.Entry, bool) {
	a := p.set.asks[p.plan[i].name]
	if a == nil || p.plan[i].leaf == nil {
		return nil, false
	}
	q := a.filled(p.q)
	return answers.Find(a.question(q), place(q), q.Temperature != nil && *q.Temperature == 0)
}

func place(q *protocol.ModelRequest) replay.Place {
	return replay.Place{Scene: q.Scene, Agent: q.Agent, Turn: q.Turn, Request: q.Number}
}

// missed is the failure of a question without a recorded answer, that nobody is asked.
func missed(by string, answers *replay.Answers, q *protocol.ModelRequest, hint string) error {
	return &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: by + ": " + answers.Missed(place(q), surrogate.Situation(q)) + " " + hint, Cause: errMissed}
}

// errMissed marks such a failure.
const errMissed = missing("no recorded answer")

type missing string

func (m missing) Error() string { return string(m) }
