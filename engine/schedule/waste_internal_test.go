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
		{1000, 109, 0, 0.05, 0, true}, {1000, 110, 0, 0.05, 0, false}, {1000, 111, 0, 0.05, 0, false}, {1000, 109, 8, 0.05, 0, false}, {1000, 100, 36, 0.05, 0, true},
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

// What a turn risks is open until it is settled, once; a turn that is undone has wasted its calls.
func TestRisksAreSettled(t *testing.T) {
	w, lost, kept := newWaste(Config{Threshold: 0.5, MaxWasted: 0.5}), turn{calls: 2}, turn{calls: 1}
	w.ask(&lost, 0.25)
	w.ask(&lost, 0.5)
	w.ask(&kept, 0.5)
	if w.calls != 3 || w.wasted != 0 || w.risky != 1.25 {
		t.Errorf("asked: %+v", w)
	}
	for range 2 {
		w.safe(&kept)
	}
	if w.wasted != 0 || w.risky != 0.75 {
		t.Errorf("kept: %+v", w)
	}
	if w.lose(&lost); w.wasted != 2 || w.risky != 0 {
		t.Errorf("lost: %+v", w)
	}
}

// A bet whose turn was undone is lost, also one of a later turn that was undone with it. An agent whose call is too risky
// watches those that make it most so.
func TestBetsAreLearntFrom(t *testing.T) {
	cfg, agents := walkers(2, 2, 1)
	s, err := New(cfg, agents)
	if err != nil {
		t.Fatal(err)
	}
	s.deciding = []bet{{agent: 1, serial: 99}}
	s.settle()
	s.root, s.rows[0].bets.heap = 0, []bet{{agent: 1, serial: 7, kind: 3}}
	s.lost(1, &turn{serial: 7, open: 1})
	for _, kind := range []int32{0, 3} {
		if c := *s.learned.of(kind); c != (chance{1, 1}) {
			t.Errorf("bets of kind %d: %+v", kind, c)
		}
	}
	var w worst
	for agent, p := range []float64{0.3, 0.1, 0.5, 0.2, 0.4, 0.15, 0.6} {
		w.add(uint32(agent), p)
	}
	sum := uint32(0)
	for _, one := range w.list {
		sum += 1 << one.agent
	}
	if w.n != maxWatched || sum != 1<<0|1<<2|1<<4|1<<6 {
		t.Errorf("%+v", w)
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
