package roster

import (
	"reflect"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
)

func TestRoster(t *testing.T) {
	r := make(Roster, 2)
	for i, f := range []protocol.Fact{
		&agentfact.TurnEnded{Agent: 1, Outcome: agentfact.OutcomeOK, Calls: 3, ModelCalls: 2, Perceived: 70_000},
		&agentfact.TurnEnded{Agent: 1, Outcome: agentfact.OutcomeFailed}, &agenda.AgentFailed{Agent: 1},
		&agentfact.TurnEnded{Agent: 2, Outcome: agentfact.OutcomeOK}, &agenda.AgentFailed{Agent: 2}, // the scene's own
		&agentfact.TurnEnded{Agent: 0, Outcome: agentfact.OutcomeInterrupted}, // it begins again
	} {
		r.Count(protocol.Record{Time: protocol.Time(i)}, f)
	}
	if want := (Roster{{Turns: 1, Last: 5}, {Turns: 2, Failures: 2, Calls: 3, Models: 2, Heard: 70_000, Last: 2}}); !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	packed := r.Pack()
	if again, err := Unpack(packed, 2); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("%+v, %v", again, err)
	}
	if none, err := Unpack(nil, 2); none != nil || err != nil {
		t.Errorf("of a program that did not count: %+v, %v", none, err)
	}
	for i := range packed {
		if r, err := Unpack(packed[:i], 2); i > 0 && protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("cut at %d: %+v, %v", i, r, err)
		}
	}
	if r, err := Unpack(packed, 1); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("of fewer agents: %+v, %v", r, err)
	}
}
