package span_test

import (
	"slices"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/span"
)

func ended(agent uint32) *agentfact.TurnEnded {
	return &agentfact.TurnEnded{Agent: agent, Turn: 1, Outcome: agentfact.OutcomeOK}
}

// Promises 1 and 2: facts of several turns in the order in which the turns were added, without one that
// could not be added.
func TestSpan(t *testing.T) {
	c := protocol.NewCodec(agentfact.Facts())
	s := &span.Span{}
	for range 2 { // it is used again
		s.Open(false, 3, 7)
		for o, name := range []string{"a", "b"} {
			call := &agentfact.CallMade{ID: "1", Tool: "PublishEventTool", Status: protocol.CallOK}
			failed := &agentfact.CallMade{ID: "2", Tool: "PublishEventTool", Status: protocol.CallFailed}
			other := &agentfact.CallMade{ID: "3", Tool: "FindPathTool", Status: protocol.CallOK}
			dropped := &agentfact.Dropped{Agent: uint32(o), QueueFull: 1}
			if err := s.Ended(c, uint32(o), name, []protocol.Fact{call, dropped, failed, other, ended(uint32(o))}, []protocol.Sequenced{{To: "events", Data: protocol.Encode(name)}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Ended(c, 9, "c", []protocol.Fact{call}, nil); protocol.KindOf(err) != protocol.KindInternal {
				t.Errorf("a turn without an end: %v", err)
			}
		}
		var got []string
		if err := s.Each(func(r protocol.Record) error {
			got = append(got, r.Actor+" "+r.Kind)
			if r.Time != 7 {
				t.Errorf("a fact of %s at %d, want 7", r.Actor, r.Time)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, name := range []string{"a", "b"} {
			for _, kind := range []string{agentfact.FactCallMade, agentfact.FactDropped, agentfact.FactCallMade, agentfact.FactCallMade, agentfact.FactTurnEnded} {
				want = append(want, name+" "+kind)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("facts %v, want %v", got, want)
		}
		if want := []span.Number{{"PublishEventTool", protocol.CallOK, 2}, {"PublishEventTool", protocol.CallFailed, 2}, {"FindPathTool", protocol.CallOK, 2}}; !slices.Equal(s.Calls, want) {
			t.Errorf("calls %v, want %v", s.Calls, want)
		}
		if want := []span.Number{{Name: agentfact.FactDropped, N: 2}, {Name: agentfact.FactCallMade, N: 6}, {Name: agentfact.FactTurnEnded, N: 2}}; !slices.Equal(s.Kinds, want) {
			t.Errorf("kinds %v, want %v", s.Kinds, want)
		}
		if !s.Begins([]uint32{0, 1, 5}) || s.Begins([]uint32{1, 0}) {
			t.Error("which order it begins")
		}
	}
}

// Encoded facts count as others do.
func TestEncodedFacts(t *testing.T) {
	c := protocol.NewCodec(agentfact.Facts())
	var facts []protocol.KindData
	for _, f := range []protocol.Fact{&agentfact.CallMade{ID: "1", Tool: "FindPathTool", Status: protocol.CallFailed}, &agentfact.Dropped{Agent: 4, QueueFull: 1}, ended(4)} {
		raw, err := c.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, protocol.KindData{Kind: f.FactKind(), Data: raw})
	}
	s := &span.Span{}
	s.Open(false, 1, 1)
	if err := s.Add(c, 4, "a", facts, nil); err != nil {
		t.Fatal(err)
	}
	if want := []span.Number{{"FindPathTool", protocol.CallFailed, 1}}; !slices.Equal(s.Calls, want) {
		t.Errorf("calls %v, want %v", s.Calls, want)
	}
	if turn := s.Turns[0]; turn.End.Agent != 4 || len(turn.Others) != 1 || turn.Others[0].Kind != agentfact.FactDropped {
		t.Errorf("%+v", turn)
	}
}

// Promise 3: what observations hold is not overwritten when the span is used again.
func TestWhatIsHeldLonger(t *testing.T) {
	c := protocol.NewCodec(agentfact.Facts())
	s := &span.Span{}
	s.Open(false, 1, 1)
	add := func(o uint32) {
		t.Helper()
		if err := s.Ended(c, o, "a", []protocol.Fact{&agentfact.Dropped{Agent: o, QueueFull: int64(o)}, ended(o)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	add(1)
	held := s.Turns[0].Others[0]
	before := slices.Clone(held.Data)
	s.Open(false, 2, 2)
	add(2)
	if !slices.Equal(held.Data, before) || held.Fact.(*agentfact.Dropped).QueueFull != 1 {
		t.Errorf("%x became %x", before, held.Data)
	}
}
