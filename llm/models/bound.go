package models

import (
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// Bound implements llm.Bounder.
func (s *Set) Bound(q protocol.ModelRequest) llm.Bound {
	p, err := s.pick(q.Model)
	if err != nil {
		return llm.Bound{Priced: true} // nobody is asked
	}
	return llm.BoundOf(p, q)
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
