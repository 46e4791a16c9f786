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
func (s *Set) Bound(q protocol.ModelRequest) (most llm.Bound) {
	if s.Route(&q); q.Chosen != nil {
		return q.Chosen.(*choice).bound(q)
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
		most.Priced, most.Script, most.Saved = most.Priced && b.Priced, most.Script && b.Script, most.Saved && b.Saved
	}
	return most
}

// Bound implements llm.Bounder.
func (a *asked) Bound(q protocol.ModelRequest) llm.Bound {
	a.fill(&q)
	if _, ok := a.recorded(a.question(q), &q); ok {
		return llm.Bound{Priced: true, Saved: true}
	}
	if a.Provider == nil {
		return llm.Bound{Priced: true} // nobody is asked
	}
	b := llm.Bound{Input: bound.Prompt(&q), Output: int64(q.MaxTokens), Priced: a.priced}
	b.Cost = a.price.Bound(b.Input, b.Output)
	return b
}

// bound is the most that any of the models takes to which a request may come.
func (c *choice) bound(q protocol.ModelRequest) llm.Bound {
	most := llm.Bound{Priced: true, Script: true, Saved: c.present().entry != nil}
	for i := range c.plan {
		x := &c.plan[i]
		if x.leaf == nil {
			continue // nobody is asked
		}
		q.Model = x.name
		b := llm.BoundOf(x.leaf, q)
		most.Input, most.Output, most.Cost = max(most.Input, b.Input), max(most.Output, b.Output), max(most.Cost, b.Cost)
		most.Priced, most.Script, most.Saved = most.Priced && b.Priced, most.Script && b.Script, most.Saved && b.Saved
	}
	return most
}
