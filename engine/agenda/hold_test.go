package agenda

import (
	"bytes"
	"testing"
	"time"

	"tavernsim/protocol"
)

// Promise 6: a gated agent is woken by its call alone, whatever it hears and however often it
// is due; when its gate opens, what it missed wakes it. Its snapshot knows all of that.
func TestGates(t *testing.T) {
	cfg := config(Timing{WakeOnStart: true, Period: time.Second}, Timing{}, Timing{}, Timing{})
	s := New(cfg)
	s.Start(at(0))
	for o := range uint32(4) {
		s.HoldBack(o, o == 2)
	}
	for o := uint32(1); o < 4; o++ {
		s.Heard(o, protocol.Normal, 0, at(0))
	}
	if now, due := s.NextTime(); due {
		t.Fatalf("somebody is woken at %v", now)
	}
	s.Heard(2, protocol.Critical, 0, at(3)) // its gate lets that through
	s.Heard(3, protocol.Critical, 0, at(3))
	s.Call(0, at(7))
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
	for _, s := range []*State{s, again} {
		got := wakes(s, at(20), func(now protocol.Time, woken []uint32) {
			ends(s, now, woken)
			switch now {
			case at(7):
				s.HoldBack(0, false)
				s.LetGo(1, now) // it missed something
			case at(8):
				s.LetGo(2, now) // it did not
				s.LetGo(0, now) // its own pace again
			case at(10):
				s.HoldBack(0, false)
			}
		})
		expect(t, got, "4s[2]", "7s[0]", "8s[1]", "9s[0]", "10s[0]")
		if !gated(s, 3) || gated(s, 1) {
			t.Error("the views of gates are wrong")
		}
	}
}

// Who comes into a scene with an order of turns, as a participant, waits for its turn.
func TestAGateOfOneWhoComes(t *testing.T) {
	cfg := config(Timing{WakeOnStart: true}, Timing{WakeOnStart: true})
	cfg.Away = func(o uint32) bool { return o == 1 }
	s := New(cfg)
	s.Start(at(0))
	s.HoldBack(1, false)
	s.Spawned(Spawned{Agent: 1}, at(1))
	if !gated(s, 1) {
		t.Error("its gate is open")
	}
	s.Call(1, at(7))
	expect(t, wakes(s, at(20), func(now protocol.Time, woken []uint32) { ends(s, now, woken) }), "0s[0]", "7s[1]")
}

// An agent that is gated after it heard something is not woken for that until its gate opens, and a gate that lets something critical
// through can be closed to it.
func TestAGateAfterAnEvent(t *testing.T) {
	s := New(config(Timing{}, Timing{}))
	s.Start(at(0))
	for o := range uint32(2) {
		s.Heard(o, protocol.Normal, 0, at(0))
		s.HoldBack(o, true)
	}
	s.HoldBack(1, false)
	s.Heard(1, protocol.Critical, 0, at(1))
	if now, due := s.NextTime(); due {
		t.Errorf("somebody is woken at %v", now)
	}
	s.LetGo(0, at(3))
	if got := []protocol.Time{s.Standing(0).Next, s.Standing(1).Next}; got[0] != at(4) || got[1] != 0 {
		t.Errorf("they are woken at %v", got)
	}
}

// On the realtime clock somebody gates an agent, calls it or opens its gate while it deliberates or sleeps.
func TestGatesInRealtime(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(*State)
		next   protocol.Time // when it is woken; 0 = never
		opened float64       // when it is woken after its gate was opened at 5
	}{
		"it heard something while it deliberated": {func(s *State) {
			s.TakeNext(at(0), false, func(uint32) bool { return false })
			s.HoldBack(0, false)
			s.Heard(0, protocol.Normal, 1, at(2))
			s.TurnEnded(0, Turn{Wave: 1}, at(3))
		}, 0, 5},
		"its gate opens while it deliberates": {func(s *State) {
			s.TakeNext(at(0), false, func(uint32) bool { return false })
			s.HoldBack(0, false)
			s.Heard(0, protocol.Normal, 1, at(2))
			s.LetGo(0, at(3))
			s.TurnEnded(0, Turn{Wave: 1}, at(4))
		}, at(3), 3},
		"something critical passed before": {func(s *State) {
			s.HoldBack(0, true)
			s.Heard(0, protocol.Normal, 1, at(1))
			s.Heard(0, protocol.Critical, 1, at(3))
		}, at(3), 3},
		"it is called out of its sleep": {func(s *State) {
			s.TakeNext(at(0), false, func(uint32) bool { return false })
			s.TurnEnded(0, Turn{Wave: 1, Asleep: true, WakeAbove: protocol.Critical}, at(1))
			s.Call(0, at(9))
			s.Heard(0, protocol.Normal, 2, at(2))
		}, at(2), 2},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(Timing{WakeOnStart: true})
			cfg.Clock = Realtime
			s := New(cfg)
			s.Start(at(0))
			c.do(s)
			was := s.Standing(0).Next
			s.LetGo(0, at(5))
			if opened := s.Standing(0).Next; was != c.next || opened != at(c.opened) {
				t.Errorf("it is woken at %s, want %s; then at %s, want %s", was, c.next, opened, at(c.opened))
			}
		})
	}
}

func gated(s *State, o uint32) bool { return s.slots[o].held&heldBack != 0 }
