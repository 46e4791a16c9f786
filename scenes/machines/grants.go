package machines

import (
	"math"

	"tavernsim/engine/budget"
)

// worst is the most that a turn of an agent can take: each of its requests may fail and
// have cost max_tokens. A turn knows no prices.
func (s *Stage) worst(o uint32) (models, tools budget.Amount) {
	l := &s.scene.AgentDefinition(o).Limits
	tools = budget.Amount{Calls: int64(l.MaxCalls), Nano: math.MaxInt64, Micro: math.MaxInt64, Bytes: math.MaxInt64}
	a := budget.Amount{Tokens: l.MaxTokens, Calls: 1}.Times(int64(l.MaxModelCalls))
	a.Nano = math.MaxInt64
	return a, tools
}

// turnMerged takes a turn whose facts are counted.
func (s *Stage) turnMerged(o uint32) {
	s.Spending.Merged(o)
	if s.realtime() { // it gives back what it had reserved and did not take
		s.grant()
	}
}

// grant lets the requests leave whose turn it is.
func (s *Stage) grant() {
	at := s.now.Wall
	if s.wave != nil && !s.realtime() {
		at = s.wave.time
	}
	for _, g := range s.Spending.Grants(at) {
		s.effect(Effect{Act: ActGrant, Agent: g.Agent, Grant: &g})
	}
}
