package models

import (
	"bytes"
	"encoding/json"
	"slices"

	"tavernsim/llm"
	"tavernsim/llm/price"
	"tavernsim/llm/replay"
	"tavernsim/llm/surrogate"
	"tavernsim/protocol"
)

// replays reports whether recorded answers alone answer, and say on which terms they were given: then they count in
// budgets as they did when they were asked for.
func (opt *Options) replays() bool {
	return opt.Endpoints == nil && opt.Answers != nil && opt.Answers.Terms != nil
}

// Prices are those of the models at endpoints, by name, that a replay of the run needs; nil of one that is not known.
func (s *Set) Prices() (prices map[string]*price.Price) {
	for name, m := range s.models {
		a, ok := m.(*asked)
		if !ok || a.Provider == nil && !a.replays { // nobody says
			continue
		}
		if prices == nil {
			prices = map[string]*price.Price{}
		}
		if prices[name] = nil; a.priced {
			prices[name] = &a.price
		}
	}
	return prices
}

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
	return a.find(answers, a.question(q), q)
}

// find finds a recorded answer to a question, which the request that is given asks. What a budget refused is no answer
// but in a replay: another time it may have room.
func (a *asked) find(answers *replay.Answers, question string, q *protocol.ModelRequest) (*replay.Entry, bool) {
	if answers == nil {
		return nil, false
	}
	e, ok := answers.Find(question, place(q), q.Temperature != nil && *q.Temperature == 0)
	if ok && e.Origin.Ledger != "" && !a.replays {
		return nil, false
	}
	return e, ok
}

// recordedAnswer is a recorded answer. Only in a replay a failure counts in budgets what it did.
func recordedAnswer(e *replay.Entry, replays bool) (a protocol.ModelAnswer, err error) {
	if a, err = e.Answer(); !replays {
		a.Origin.Budget = nil
	}
	return a, err
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
