package models

import (
	"maps"
	"slices"

	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// Bound implements llm.Bounder. A request may come to several models; one that
// names none of the set, to any of them.
func (s *Set) Bound(q *protocol.ModelRequest) (most llm.Bound) {
	routed := *q
	if s.Route(&routed); routed.Chosen != nil {
		return routed.Chosen.(*choice).bound(q)
	}
	if p := s.models[q.Model]; p != nil {
		return llm.BoundOf(p, q)
	}
	if _, one := s.fallback.(llm.Bounder); one && q.Model == "" {
		return llm.BoundOf(s.fallback, q)
	}
	most = llm.BoundOf(s.fallback, q)
	for _, name := range slices.Sorted(maps.Keys(s.models)) {
		b := llm.BoundOf(s.models[name], q)
		most.Input, most.Output, most.Cost = max(most.Input, b.Input), max(most.Output, b.Output), max(most.Cost, b.Cost)
		most.Priced, most.Script, most.Saved, most.Recorded = most.Priced && b.Priced, most.Script && b.Script, most.Saved && b.Saved, most.Recorded || b.Recorded
	}
	return most
}

// Bound implements llm.Bounder.
func (a *asked) Bound(q *protocol.ModelRequest) llm.Bound {
	asks := a.filled(q)
	question := a.question(asks)
	e, recorded := a.find(a.answers, question, asks)
	switch {
	case a.replays && !(recorded && e.Origin.Saved):
	case a.known(question, asks):
		return llm.Bound{Priced: true, Saved: true}
	case a.Provider == nil:
		return llm.Bound{Priced: true} // nobody is asked
	}
	b := llm.Bound{Input: a.most(asks), Output: int64(asks.MaxTokens), Priced: a.priced, Recorded: a.replays}
	b.Cost = a.price.Bound(b.Input, b.Output)
	b.Parts = []llm.Part{{Endpoint: a.name, Tokens: b.Input + b.Output, Cost: b.Cost, Priced: b.Priced, First: true}}
	return b
}

// most is the most tokens of a question: one for each byte. A model refuses what is more
// than its context. If the file says less than the model takes, the table of prompts refuses
// it (fits), which no tokenizer exceeds by half.
func (a *asked) most(q *protocol.ModelRequest) int64 {
	n := bound.Prompt(q)
	for i := range q.Messages {
		n += int64(len(q.Messages[i].Images)) * max(0, int64(a.ImageTokens)-bound.Image)
	}
	if a.Context > 0 {
		n = min(n, int64(a.Context)*3/2)
	}
	return n
}

// bound is the most that any of the models takes to which a request may come.
func (c *choice) bound(q *protocol.ModelRequest) llm.Bound {
	if c.replayed != nil && !c.present().entry.Origin.Saved {
		return c.replayed.bound(q)
	}
	if c.recorded(q) {
		return llm.Bound{Priced: true, Saved: true}
	}
	x := c.present()
	most := llm.Bound{Priced: true, Script: true, Saved: x.entry != nil || x.leaf != nil}
	for i := range c.plan {
		x := &c.plan[i]
		if x.leaf == nil {
			continue // nobody is asked
		}
		asks := *q
		asks.Model = x.name
		b := llm.BoundOf(x.leaf, &asks)
		most.Input, most.Output, most.Cost = max(most.Input, b.Input), max(most.Output, b.Output), max(most.Cost, b.Cost)
		most.Priced, most.Script, most.Saved, most.Recorded = most.Priced && b.Priced, most.Script && b.Script, most.Saved && b.Saved, most.Recorded || b.Recorded
		for _, p := range b.Parts {
			p.First = i == c.at
			most.Parts = withPart(most.Parts, p)
		}
	}
	return most
}

// recorded reports whether the present candidate answers from a record or the store, and cannot
// fail: nobody behind it is asked.
func (c *choice) recorded(q *protocol.ModelRequest) bool {
	x := c.present()
	switch {
	case x.exact:
		return true
	case len(x.faults) > 0:
		return false
	case x.entry != nil:
		return x.entry.Error == ""
	case x.leaf == nil:
		return false
	}
	asks := *q
	asks.Model = x.name
	return llm.BoundOf(x.leaf, &asks).Saved
}

// withPart adds what a request takes of an endpoint, or makes what is there larger.
func withPart(parts []llm.Part, p llm.Part) []llm.Part {
	for i := range parts {
		if x := &parts[i]; x.Endpoint == p.Endpoint {
			x.Tokens, x.Cost = max(x.Tokens, p.Tokens), max(x.Cost, p.Cost)
			x.Priced, x.First = x.Priced && p.Priced, x.First || p.First
			return parts
		}
	}
	return append(parts, p)
}
