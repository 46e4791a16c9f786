package agenda

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// Who rests is not woken, whatever it hears; the end of its rest wakes it if something was
// due or heard meanwhile. Turns, events, rests and their ends in any order, restored at any
// time, against the list of those who rest.
func TestRest(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(t *rapid.T) {
		timings := make([]Timing, rapid.IntRange(2, 5).Draw(t, "agents"))
		for o := range timings {
			timings[o] = Timing{WakeOnStart: rapid.Bool().Draw(t, "start"), Period: time.Duration(rapid.IntRange(0, 3).Draw(t, "period")) * time.Second}
		}
		s := New(config(timings...))
		s.Start(at(0))
		resting, waiting := make([]bool, len(timings)), make([]bool, len(timings))
		for range rapid.IntRange(1, 30).Draw(t, "waves") {
			now, ok := s.NextTime()
			if !ok {
				now = s.Now.Add(time.Second)
			}
			s.Now = now
			for _, o := range s.Take(now) {
				if resting[o] {
					t.Fatalf("agent %d rests and was woken", o)
				}
				s.TurnEnded(o, Turn{Wave: s.Wave + 1}, now)
				waiting[o] = false
			}
			for o := range timings {
				switch who := []uint32{uint32(o)}; rapid.IntRange(0, 5).Draw(t, "then") {
				case 0:
					s.Heard(uint32(o), protocol.Normal, s.Wave+1, now)
					waiting[o] = true
				case 1:
					s.Rested(Rested{Agents: who}, now)
					resting[o] = true
				case 2:
					s.RestEnded(RestEnded{Agents: who}, now)
					resting[o] = false
				}
			}
			s.CloseWave(WaveClosed{Wave: s.Wave + 1}, now)
			if rapid.Bool().Draw(t, "restored") {
				s = restored(t, codec, s)
			}
			for o := range timings {
				next := s.Standing(uint32(o)).Next
				switch {
				case s.Resting(uint32(o)) != resting[o]:
					t.Fatalf("agent %d rests: %v, want %v", o, !resting[o], resting[o])
				case resting[o] && next != 0:
					t.Fatalf("agent %d rests and is due at %v", o, next)
				case !resting[o] && waiting[o] && (next <= now || next > now.Add(time.Second)):
					t.Fatalf("agent %d has heard something and is due at %v, it is %v", o, next, now)
				}
			}
		}
	})
}

func restored(t *rapid.T, codec *protocol.Codec, s *State) *State {
	raw, err := s.Snapshot(codec)
	if err != nil {
		t.Fatal(err)
	}
	raw = slices.Clone(raw)
	again, err := Restore(s.cfg, codec, raw)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.Snapshot(codec); err != nil || !bytes.Equal(b, raw) {
		t.Fatalf("another snapshot: %v", err)
	}
	return again
}

// A fact of nobody, or of agents in no order, is damaged.
func TestRestDamaged(t *testing.T) {
	for _, agents := range [][]uint32{nil, {2, 1}} {
		if ordered(&Rested{Agents: agents}) == nil || ordered(&RestEnded{Agents: agents}) == nil {
			t.Errorf("%v is taken", agents)
		}
	}
	if err := ordered(&Rested{Agents: []uint32{1, 2}}); err != nil {
		t.Error(err)
	}
}
