package models

import (
	"cmp"
	"fmt"

	"tavernsim/protocol"
)

// Alike implements llm.Sharing: at temperature 0 any answer of an endpoint to the same question will do. Faults are drawn
// for each request, an audit compares each answer with a decision of its own, and a plugin may answer by who asks.
func (s *Set) Alike(q *protocol.ModelRequest) string {
	a, c := s.toAsk(q)
	if a == nil || a.instead || c != nil && (len(c.present().faults) > 0 || c.present().like != nil) {
		return ""
	}
	if t := cmp.Or(q.Temperature, a.Params.Temperature); t == nil || *t != 0 {
		return ""
	}
	asks := a.filled(q)
	steps := cmp.Or(c, &choice{}).steps // which the fact of the answer has
	if question := a.question(asks); !a.known(question, asks) {
		return string(s.AppendChoice(fmt.Appendf(nil, "%s %s %d %v ", question, a.file, q.Timeout, steps), q))
	}
	return ""
}

// Shared implements llm.Sharing. The answer says what it cost, once for each request, and was paid for once.
func (s *Set) Shared(a *protocol.ModelAnswer) {
	s.counts.shared.Add(1)
	s.counts.answered(&protocol.ModelOrigin{Reused: true, Cost: a.Origin.Cost})
}
