package agenda

import (
	"slices"
	"testing"

	"tavernsim/protocol"
)

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
		{"told of a refusal", func(s *State) { s.Told(0, 4, at(1), false) }, 1, true},
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
			if got := s.came[0].events; !c.woken && got != c.seen {
				t.Errorf("counts %d events, and it has numbered %d", got, c.seen)
			}
		})
	}
}

// What was urgent and has been perceived makes nothing urgent that came later: an
// agent that always hears something would else go before others for ever.
func TestUrgentOnlyForWhatIsNotPerceived(t *testing.T) {
	cfg := config(Timing{})
	cfg.Clock = Realtime
	s := New(cfg)
	s.Start(at(0))
	never := func(uint32) bool { return false }
	turn := func(wave, through uint64, later protocol.Priority) (urgent bool) {
		now := at(float64(wave))
		_, urgent = s.TakeNext(now, true, never)
		if _, ok := s.TakeNext(now, false, never); ok == urgent {
			t.Fatalf("wave %d: woken twice, or not", wave)
		}
		if urgent != (s.Urgency(0) == protocol.Critical) {
			t.Errorf("wave %d: urgent %v, and it heard something of priority %v", wave, urgent, s.Urgency(0))
		}
		s.Heard(0, later, wave, now)
		s.TurnEnded(0, Turn{Wave: wave, Through: through}, now)
		return urgent
	}
	s.Heard(0, protocol.Critical, 1, at(1))
	var got []bool
	got = append(got, turn(2, 1, protocol.Normal), turn(3, 2, protocol.Normal), turn(4, 3, protocol.Critical), turn(5, 4, protocol.Low), turn(6, 5, protocol.Low))
	if want := []bool{true, false, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("urgent: %v, want %v", got, want)
	}
}

// What comes while an agent deliberates that was asleep before wakes it when it is
// awake again, and not when it sleeps on; live and in a fold, which wakes nobody.
func TestHeardBetweenTwoSleeps(t *testing.T) {
	for _, c := range []struct {
		name  string
		heard protocol.Priority
		then  Turn
		woken bool
	}{
		{"awake", protocol.Normal, Turn{}, true},
		{"asleep", protocol.Normal, Turn{Asleep: true, WakeAbove: protocol.High}, false},
		{"asleep, less deeply", protocol.Normal, Turn{Asleep: true, WakeAbove: protocol.Low}, true},
		{"asleep, and it wakes", protocol.High, Turn{Asleep: true, WakeAbove: protocol.High}, true},
	} {
		for _, live := range []bool{true, false} {
			cfg := config(Timing{})
			cfg.Clock = Realtime
			s := New(cfg)
			s.Start(at(0))
			s.Heard(0, protocol.Normal, 1, at(1))
			s.TurnEnded(0, Turn{Wave: 2, Through: 1, Asleep: true, WakeAbove: protocol.High}, at(1))
			s.Heard(0, protocol.High, 2, at(2))
			if live {
				if _, ok := s.TakeNext(at(2), false, func(uint32) bool { return false }); !ok {
					t.Fatal("not woken")
				}
			}
			s.Heard(0, c.heard, 3, at(3))
			c.then.Wave, c.then.Through = 3, 2
			s.TurnEnded(0, c.then, at(4))
			if _, ok := s.NextWake(); ok != c.woken {
				t.Errorf("%s, live %v: woken %v", c.name, live, ok)
			}
		}
	}
}

// An agent that means to sleep for long, and is woken again and again, leaves nothing behind.
func TestWokenBeforeItsTime(t *testing.T) {
	for _, clock := range []ClockKind{Virtual, Realtime} {
		c := config(Timing{WakeOnStart: true})
		c.Clock = clock
		s := New(c)
		s.Start(at(0))
		for i := range 1000 {
			now := at(float64(i))
			if clock == Virtual {
				s.Take(now)
			} else {
				s.TakeNext(now, false, func(uint32) bool { return false })
			}
			s.TurnEnded(0, Turn{Wave: uint64(i) + 1, SleepUntil: at(float64(i) + 1e6)}, now)
			s.Heard(0, protocol.Critical, uint64(i)+1, now)
			s.CloseWave(WaveClosed{Wave: uint64(i) + 1}, now)
		}
		if n := s.agenda.Entries() + s.urgent.Entries(); n > 40 || s.agenda.Moments() > 20 {
			t.Errorf("%s: %d entries, %d moments", clock, n, s.agenda.Moments())
		}
		if got, due := s.NextWake(); !due || got > at(1001) {
			t.Errorf("%s: the next at %v, %v", clock, got, due)
		}
	}
}
