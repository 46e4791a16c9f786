package schedule

import "testing"

// What may be wasted: 20 calls, and nine tenths of the share of all that were made. A call without a risk is made all the same.
// A lead counts, and counts more when little is left.
func TestWasteIsBounded(t *testing.T) {
	for _, c := range []struct {
		calls, wasted int64
		risky, risk   float64
		ahead         int
		want          bool
	}{
		{0, 19, 0, 0.05, 0, true}, {0, 20, 0, 0.05, 0, false}, {0, 20, 0, 0, 0, true},
		{1000, 109, 0, 0.05, 0, true}, {1000, 110, 0, 0.05, 0, false}, {1000, 111, 0, 0.05, 0, false}, {1000, 109, 8, 0.05, 0, false},
		{1000, 0, 0, 0.1, 0, true}, {1000, 0, 0, 0.11, 0, false},
		{1000, 0, 0, 0.05, hurry, true}, {1000, 0, 0, 0.051, hurry, false},
		{1000, 0, 0, 0.011, 4 * hurry, true}, {1000, 0, 0, 0.012, 4 * hurry, false},
		{1000, 87, 0, 0.05, hurry, true}, {1000, 89, 0, 0.05, hurry, false},
		{1000, 109, 0, 0.1, 0, true}, {1000, 109, 0, 0.01, hurry, false},
	} {
		w := newWaste(Config{Threshold: 0.1, MaxWasted: 0.1})
		w.calls, w.wasted, w.risky = c.calls, c.wasted, c.risky
		if w.allows(c.risk, c.ahead) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// The call goes first for whose turn others have waited longest, then the one whose turn has more calls to make.
func TestRanks(t *testing.T) {
	order := []Rank{{At: 1, Agent: 9}, {At: 2, Rest: 3, Agent: 9}, {At: 2, Rest: 1, Agent: 1}, {At: 2, Rest: 1, Agent: 2}}
	for i, a := range order {
		for k, b := range order {
			if a.Less(b) != (i < k) {
				t.Errorf("%+v before %+v: %t", a, b, a.Less(b))
			}
		}
	}
}

// A call that is refused to an agent because it is far ahead is made when the committed run has come nearer, also if those
// whom it waits for do not move.
func TestRefusedCallsAreLookedAtAgain(t *testing.T) {
	cfg, agents := walkers(2, 2, 1)
	cfg.Mode, cfg.Threshold = Speculative, 0.28
	agents[1].Place = Cell{X: 6}
	s, err := New(cfg, agents)
	if err != nil {
		t.Fatal(err)
	}
	end := func(at Tick) End { return End{Next: at + 1, Place: agents[1].Place} }
	for at := Tick(0); at < 12; { // agent 0 never ends its turn
		if turn, ok := s.Next(); !ok {
			t.Fatal("no turn")
		} else if turn.Agent == 0 {
			continue
		}
		if err := s.Ended(1, end(at)); err != nil {
			t.Fatal(err)
		}
		s.Check()
		at++
	}
	s.Next()
	if ok, err := s.Ask(1); ok || err != nil {
		t.Fatalf("a call 12 turns ahead: %t, %v", ok, err)
	}
	for at := range Tick(3) {
		if turn, ok := s.Next(); ok {
			t.Fatalf("%d turns ahead: %+v", 12-at, turn)
		}
		if err := s.Committed(1, at, end(at)); err != nil {
			t.Fatal(err)
		}
	}
	if turn, ok := s.Next(); !ok || turn.Agent != 1 || !turn.Ask {
		t.Errorf("9 turns ahead: %+v, %t", turn, ok)
	}
}
