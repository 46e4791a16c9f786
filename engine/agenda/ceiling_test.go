package agenda

import (
	"bytes"
	"testing"
	"time"

	"tavernsim/engine/agenda/pause"
	"tavernsim/protocol"
)

// Promise 7: an agent is woken for nothing before its ceiling lets it, on both clocks and in a restored state; who
// sleeps is woken by events of its types.
func TestCeilings(t *testing.T) {
	for _, clock := range []ClockKind{Virtual, Realtime} {
		cfg := config(Timing{Least: 10 * time.Second}, Timing{}, Timing{}, Timing{Period: time.Second})
		cfg.Clock = clock
		s := New(cfg)
		s.Start(at(0))
		s.Wave = 1
		for o, rest := range []pause.Rest{{}, {Until: at(20)}, {Types: []string{"bell.*"}}, {Until: at(5)}} {
			s.Rests(uint32(o), rest)
			s.TurnEnded(uint32(o), Turn{Wave: 1, Asleep: o == 2, WakeAbove: protocol.Critical}, at(0))
		}
		for o := range uint32(4) {
			s.Heard(o, protocol.Normal, 2, at(1))
		}
		s.Heard(1, protocol.Critical, 2, at(1))
		if s.Wakes(2, "talk") || !s.Wakes(2, "bell.rings") || s.Wakes(1, "bell.rings") {
			t.Error("events of other types wake")
		}
		s.Stirred(2, protocol.Low, 2, at(2))
		raw, err := s.Snapshot(protocol.NewCodec(Facts()))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Restore(cfg, protocol.NewCodec(Facts()), raw)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Snapshot(protocol.NewCodec(Facts())); err != nil || !bytes.Equal(raw, second) {
			t.Errorf("another snapshot: %v", err)
		}
		soon := at(3)
		if clock == Realtime {
			soon = at(2)
		}
		for _, s := range []*State{s, again} {
			for o, want := range []protocol.Time{at(10), at(20), soon, at(5)} {
				if got := s.Standing(uint32(o)).Next; got != want {
					t.Errorf("%s: agent %d is woken at %s, want %s", clock, o, got, want)
				}
			}
			s.Call(1, at(7))
			if got := s.Standing(1).Next; got != at(20) {
				t.Errorf("%s: who is called at its ceiling is woken at %s", clock, got)
			}
			s.TurnEnded(1, Turn{Wave: 3}, at(20))
			s.Heard(1, protocol.Normal, 4, at(21))
			if got := s.Standing(1).Next; got > at(22) {
				t.Errorf("%s: the next turn ended the rest, and it is woken at %s", clock, got)
			}
		}
	}
}

// An agent that comes again does not wait for the ceiling that it had before it left.
func TestTheCeilingOfOneWhoLeft(t *testing.T) {
	cfg := config(Timing{WakeOnStart: true, Least: 10 * time.Second})
	cfg.Counts = true
	s := New(cfg)
	s.Start(at(0))
	s.Rests(0, pause.Rest{Until: at(10)})
	s.TurnEnded(0, Turn{Wave: 1}, at(0))
	s.Removed(Removed{Agent: 0}, at(2))
	s.Spawned(Spawned{Agent: 0}, at(4))
	if got := s.Standing(0).Next; got != at(5) {
		t.Errorf("it is woken at %s, want %s", got, at(5))
	}
}
