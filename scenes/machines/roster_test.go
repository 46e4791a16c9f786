package machines

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
	} {
		r.Count(protocol.Record{Time: protocol.Time(i)}, f)
	}
	if want := (Roster{{}, {Turns: 2, Failures: 2, Calls: 3, Models: 2, Heard: 70_000, Last: 2}}); !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	packed := r.pack()
	if again, err := unpackRoster(packed, 2); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("%+v, %v", again, err)
	}
	if none, err := unpackRoster(nil, 2); none != nil || err != nil {
		t.Errorf("of a program that did not count: %+v, %v", none, err)
	}
	for i := range packed {
		if r, err := unpackRoster(packed[:i], 2); i > 0 && protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("cut at %d: %+v, %v", i, r, err)
		}
	}
	if r, err := unpackRoster(packed, 1); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("of fewer agents: %+v, %v", r, err)
	}
}

// A note holds what is due: a part that is large comes seldom. A note of an older program
// is a tally.
func TestNotes(t *testing.T) {
	var at int64
	if due(&at, NoteEvery-1, 0) || !due(&at, NoteEvery, 0) || at != NoteEvery || due(&at, 2*NoteEvery-1, 0) {
		t.Error("a small part is due with every note")
	}
	if at = 0; due(&at, 2*NoteEvery, 3*NoteEvery*noteShare) || !due(&at, 3*NoteEvery, 3*NoteEvery*noteShare) {
		t.Error("a large part is due when it is small beside the facts")
	}
	codec, tally := NewCodec(), NewTally()
	tally.Facts, tally.ByTool["walk"] = 7, 3
	for name, v := range map[string]any{"older": &tally, "newer": &Note{Tally: tally, Scene: []byte{1}, World: []byte{2}}} {
		raw, err := codec.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ReadNote(codec, raw)
		if err != nil || n.Tally.Facts != 7 || n.Tally.ByTool["walk"] != 3 || (name == "newer") != (len(n.Scene)+len(n.World) == 2) {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
}
