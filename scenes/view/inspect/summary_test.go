package inspect

import (
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
)

// An agent that fails deliberates, the scene's own does not. The timeline has them all,
// an agent's row those that reached their end and all failures.
func TestSummaryCountsEachDeliberationOnce(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	begun, err := s.begun()
	if err != nil {
		t.Fatal(err)
	}
	b, own := s.summing(begun), uint32(s.agents.Len())
	for i, f := range []protocol.Fact{
		&agent.TurnEnded{Agent: 0, Outcome: agent.OutcomeOK}, &agent.TurnEnded{Agent: 0, Outcome: agent.OutcomeFailed}, &agent.TurnEnded{Agent: own, Outcome: agent.OutcomeFailed},
		&agenda.AgentFailed{Agent: 0, WakeAt: 1}, &agenda.AgentFailed{Agent: 0}, &agenda.AgentFailed{Agent: own, WakeAt: 1}, &agenda.AgentFailed{Agent: own},
	} {
		raw, err := s.codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.fact(protocol.Record{Seq: uint64(i + 1), Time: begun, Actor: s.name(own), Kind: f.FactKind(), Data: raw}); err != nil {
			t.Fatal(err)
		}
	}
	sum := b.finish()
	var timeline, work, failed int64
	for _, x := range sum.Timeline {
		timeline += x.Deliberations
	}
	for _, x := range sum.TopAgents {
		work, failed = work+x.Deliberations, failed+x.Failed
	}
	if sum.Deliberations != 4 || timeline != 4 || work != 2 || sum.Failed != 3 || failed != 3 || sum.ProblemCount != 5 {
		t.Errorf("%d deliberations, %d in the timeline, %d of agents; %d failed, %d of agents; %d problems", sum.Deliberations, timeline, work, sum.Failed, failed, sum.ProblemCount)
	}
}
