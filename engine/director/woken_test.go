package director

import "testing"

// On the realtime clock events that reach an agent before its deliberation begins
// are perceived whatever their wave: only what came later wakes it again.
func TestWokenOnceForWhatItHeard(t *testing.T) {
	for _, c := range []struct {
		name  string
		later func(s *State) // after the wake, which is of wave 3
		seen  uint64         // events that had reached it when it began
		woken bool
	}{
		{"nothing came", func(*State) {}, 1, false},
		{"perceived, of the wave of the wake", func(s *State) { s.Heard(0, 0, 3, at(1)) }, 2, false},
		{"perceived, of a later wave", func(s *State) { s.Heard(0, 0, 3, at(1)); s.Heard(0, 0, 5, at(2)) }, 3, false},
		{"one of two perceived", func(s *State) { s.Heard(0, 0, 4, at(1)); s.Heard(0, 0, 4, at(1)) }, 2, true},
		{"not perceived", func(s *State) { s.Heard(0, 0, 4, at(1)) }, 1, true},
		{"told of a refusal", func(s *State) { s.Told(0, 4, at(1)) }, 1, true},
		{"its mailbox refused the first", func(*State) {}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(Timing{})
			cfg.Clock = Realtime
			s := New(cfg)
			s.Start(at(0))
			s.Wave = 2
			s.Heard(0, 0, 2, at(0))
			if woken := s.Take(at(0)); len(woken) != 1 {
				t.Fatal("not woken", woken)
			}
			c.later(s)
			s.TurnEnded(0, Turn{Wave: 3, Through: c.seen}, at(3))
			if _, woken := s.NextWake(); woken != c.woken {
				t.Errorf("woken again: %v, want %v", woken, c.woken)
			}
			if got := s.slots[0].heardOf; !c.woken && got != c.seen {
				t.Errorf("counts %d events, and it has numbered %d", got, c.seen)
			}
		})
	}
}
