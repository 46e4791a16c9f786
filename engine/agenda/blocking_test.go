package agenda

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// counter is a scene of agents that deliberate every second, whose normal lane
// takes one event and blocks.
func counter(agents int) Config {
	timings := make([]Timing, agents)
	for i := range timings {
		timings[i] = Timing{WakeOnStart: true, Period: time.Second, MaxRestarts: 2, Blocks: &Bounds{0, 1, 0, 0}}
	}
	return config(timings...)
}

// publishes routes n normal events of an agent and has it wait if it must.
func publishes(s *State, from, to uint32, n int, now protocol.Time) {
	for range n {
		s.Heard(to, protocol.Normal, s.Wave+1, now)
		s.Received(to, protocol.Normal, s.Wave+1)
		if s.Blocks(from, to, protocol.Normal) {
			s.Blocked(Blocked{Agent: from, Event: "e", Receivers: []uint32{to}}, s.Wave+1)
		}
	}
}

// Promise 5: who publishes to a full lane is not woken before the receiver has had a turn
// that began after the event; then at the next tick.
func TestBlockedUntilPerceived(t *testing.T) {
	s := New(counter(2))
	s.Start(at(0))
	got := wakes(s, at(6), func(now protocol.Time, woken []uint32) {
		for _, o := range woken {
			turn := Turn{Wave: s.Wave + 1}
			if o == 1 {
				turn.BusyUntil = now.Add(3 * time.Second)
			}
			s.TurnEnded(o, turn, now)
		}
		if slices.Contains(woken, 0) {
			publishes(s, 0, 1, 2, now)
		}
	})
	expect(t, got, "0s[0 1]", "3s[1]", "4s[0]", "6s[1]")
}

func TestWhoIsNotBlocked(t *testing.T) {
	for name, c := range map[string]struct {
		before    func(s *State, now protocol.Time)
		from, to  uint32
		n         int
		p         protocol.Priority
		otherwise bool
	}{
		"there is room":                {from: 0, to: 1, n: 1},
		"the lane is full":             {from: 0, to: 1, n: 2, otherwise: true},
		"its own event":                {from: 1, to: 1, n: 2},
		"a lane that does not block":   {from: 0, to: 1, n: 9, p: protocol.High},
		"a receiver that sleeps":       {before: asleep(protocol.High), from: 0, to: 1, n: 9},
		"a receiver that it wakes":     {before: asleep(protocol.Normal), from: 0, to: 1, n: 2, otherwise: true},
		"a receiver that was given up": {before: givesUp(1), from: 0, to: 1, n: 9},
		"a receiver that rests":        {before: func(s *State, now protocol.Time) { s.Rested(Rested{Agents: []uint32{1}}, now) }, from: 0, to: 1, n: 9},
		"a receiver that failed in its sleep": {before: func(s *State, now protocol.Time) {
			asleep(protocol.High)(s, now)
			s.AgentFailed(AgentFailed{Agent: 1, WakeAt: now + 1}, now)
		}, from: 0, to: 1, n: 2, otherwise: true},
		"a publisher that was given up":      {before: givesUp(0), from: 0, to: 1, n: 9},
		"the receiver waits for it":          {before: waits(1, 0), from: 0, to: 1, n: 9},
		"the receiver's receiver waits":      {before: waits(1, 2, 2, 0), from: 0, to: 1, n: 9},
		"the receiver waits for another":     {before: waits(1, 2), from: 0, to: 1, n: 2, otherwise: true},
		"another waits for it":               {before: waits(2, 0), from: 0, to: 1, n: 2, otherwise: true},
		"it waits for this receiver already": {before: waits(0, 1), from: 0, to: 1, n: 9},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(counter(3))
			s.Start(at(0))
			if c.before != nil {
				c.before(s, at(0))
			}
			for range c.n {
				s.Received(c.to, c.p, s.Wave+1)
			}
			if got := s.Blocks(c.from, c.to, c.p); got != c.otherwise {
				t.Errorf("blocked: %v", got)
			}
		})
	}
}

func asleep(above protocol.Priority) func(*State, protocol.Time) {
	return func(s *State, now protocol.Time) {
		s.TurnEnded(1, Turn{Wave: 1, Asleep: true, WakeAbove: above}, now)
	}
}

func givesUp(o uint32) func(*State, protocol.Time) {
	return func(s *State, now protocol.Time) { s.AgentFailed(AgentFailed{Agent: o, Failures: 9}, now) }
}

// waits has each first agent of a pair wait for the second.
func waits(pairs ...uint32) func(*State, protocol.Time) {
	return func(s *State, _ protocol.Time) {
		for i := 0; i < len(pairs); i += 2 {
			s.Blocked(Blocked{Agent: pairs[i], Receivers: pairs[i+1 : i+2]}, s.Wave+1)
		}
	}
}

// An agent that fails, for now or for good, lets go of everybody.
func TestFailureReleases(t *testing.T) {
	for _, failures := range []int64{1, 3} {
		s := New(counter(3))
		s.Start(at(0))
		s.Take(at(0))
		ends(s, at(0), []uint32{0, 1, 2})
		waits(0, 1, 1, 2)(s, at(0))
		s.CloseWave(WaveClosed{Wave: 1}, at(0))
		f := AgentFailed{Agent: 1, Failures: failures}
		if failures == 1 {
			f.WakeAt = at(9)
		}
		s.AgentFailed(f, at(0))
		s.CloseWave(WaveClosed{Wave: 2}, at(0))
		if now, _ := s.NextTime(); now != at(1) {
			t.Errorf("next at %v", now)
		}
		if got := s.Take(at(1)); !slices.Equal(got, []uint32{0, 2}) {
			t.Errorf("after failure %d: %v", failures, got)
		}
		if want := map[int64]int{1: 1, 3: 0}[failures]; s.Waiting() != want {
			t.Errorf("after failure %d %d wait, want %d", failures, s.Waiting(), want)
		}
	}
}

// Who is released before it was due again is still on the agenda, although the
// agenda had passed over it meanwhile.
func TestReleasedBeforeItIsDue(t *testing.T) {
	s := New(counter(2))
	s.Start(at(0))
	s.Take(at(0))
	s.TurnEnded(0, Turn{Wave: 1, SleepUntil: at(5)}, at(0))
	s.TurnEnded(1, Turn{Wave: 1, BusyUntil: at(9)}, at(0))
	waits(0, 1)(s, at(0))
	if now, _ := s.NextTime(); now != at(9) {
		t.Fatalf("next at %v", now.Sub(at(0)))
	}
	s.AgentFailed(AgentFailed{Agent: 1, Failures: 1, WakeAt: at(20)}, at(1))
	if now, _ := s.NextTime(); now != at(5) {
		t.Errorf("next at %v", now.Sub(at(0)))
	}
}

// A turn that was in flight when the event came, in realtime, does not release
// its publisher; the next one does.
func TestBlockedBeyondATurnInFlight(t *testing.T) {
	c := counter(2)
	c.Clock = Realtime
	s := New(c)
	s.Start(at(0))
	takeAll(s, at(0), nobody)
	s.TurnEnded(0, Turn{Wave: 1}, at(0))
	s.CloseWave(WaveClosed{Wave: 1}, at(0.1))
	publishes(s, 0, 1, 2, at(0.2)) // in wave 2, for which agent 1 was woken before
	s.CloseWave(WaveClosed{Wave: 2}, at(0.2))
	s.TurnEnded(1, Turn{Wave: 2}, at(0.1))
	if s.Waiting() != 1 || len(s.Standing(0).WaitsFor) != 1 {
		t.Fatal("it was released")
	}
	if next, _ := s.NextTime(); next != at(0.2) {
		t.Fatalf("the receiver is due at %v", next.Sub(at(0)))
	}
	takeAll(s, at(0.2), nobody)
	s.TurnEnded(1, Turn{Wave: 3}, at(0.3))
	if s.Waiting() != 0 {
		t.Error("it was not released")
	}
}

// Promise 5, whoever publishes to whom: nobody waits in a circle, every
// chain ends at somebody who is due, nobody that waits is woken, time does not
// stand still, and a snapshot at any moment goes on alike.
func TestNobodyWaitsForEver(t *testing.T) {
	codec := protocol.NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "agents")
		c := counter(n)
		s := New(c)
		s.Start(at(0))
		for range rapid.IntRange(1, 25).Draw(t, "waves") {
			now, ok := s.NextTime()
			if !ok && s.Waiting() == 0 {
				return // everybody sleeps or was given up
			}
			if !ok || s.Wave > 0 && now <= s.Now {
				t.Fatalf("after %v comes %v, %v; %d wait", s.Now, now, ok, s.Waiting())
			}
			s.Now = now
			flood(t, s, s.Take(now), now)
			s.CloseWave(WaveClosed{Wave: s.Wave + 1}, now)
			mustEnd(t, s)
			if rapid.Bool().Draw(t, "restored") {
				s = again(t, codec, c, s)
			}
		}
		goOn := func(s *State) []string {
			return wakes(s, s.Now+9*second, func(now protocol.Time, woken []uint32) { ends(s, now, woken) })
		}
		if other := again(t, codec, c, s); !slices.Equal(goOn(s), goOn(other)) {
			t.Fatal("a restored state goes on differently")
		}
	})
}

// flood has everybody who was woken end its turn, or fail, and publish.
func flood(t *rapid.T, s *State, woken []uint32, now protocol.Time) {
	for _, o := range woken {
		if s.slots[o].blocked || s.GaveUp(o) {
			t.Fatalf("%d was woken", o)
		}
		switch rapid.IntRange(0, 9).Draw(t, "end") {
		case 0:
			s.AgentFailed(s.Failure(o, "x", nil, now), now)
		case 1:
			s.TurnEnded(o, Turn{Wave: s.Wave + 1, Asleep: true, WakeAbove: protocol.Priority(rapid.IntRange(0, 1).Draw(t, "above"))}, now)
		default:
			s.TurnEnded(o, Turn{Wave: s.Wave + 1, BusyUntil: now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "busy")) * time.Second)}, now)
		}
	}
	for _, o := range woken {
		to := uint32(rapid.IntRange(0, len(s.slots)-1).Draw(t, "to"))
		publishes(s, o, to, rapid.IntRange(0, 3).Draw(t, "events"), now)
	}
}

// mustEnd walks from every agent that waits to those it waits for.
func mustEnd(t *rapid.T, s *State) {
	for o := range s.blocking.waits {
		if s.leads(o, o) {
			t.Fatalf("%d waits for itself: %v", o, s.blocking.waits)
		}
	}
	for o, who := range s.blocking.waiters {
		if len(s.blocking.waits[o]) == 0 && s.slots[o].wake() == 0 {
			t.Fatalf("%v wait for %d, which nothing wakes", who, o)
		}
	}
	for o := range s.slots {
		if s.slots[o].blocked != (len(s.blocking.waits[uint32(o)]) > 0) {
			t.Fatalf("%d is blocked: %v; it waits for %v", o, s.slots[o].blocked, s.blocking.waits[uint32(o)])
		}
	}
}

// again is the state of a snapshot of the state.
func again(t *rapid.T, codec *protocol.Codec, c Config, s *State) *State {
	raw, err := s.Snapshot(codec)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(c, codec, raw)
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := back.Snapshot(codec); !bytes.Equal(raw, other) {
		t.Fatalf("%x became %x", raw, other)
	}
	return back
}

// What a snapshot says of agents that the scene does not have is refused.
func TestRestoreRefusesForeignWaits(t *testing.T) {
	for _, pairs := range [][]uint32{{0, 2}, {2, 0}} {
		s := New(counter(3))
		s.Start(at(0))
		waits(pairs...)(s, at(0))
		s.Received(pairs[0], protocol.Normal, 1)
		lanes, list := s.blocking.store()
		if err := New(counter(2)).restoreBlocking(lanes, list); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%v: %v", pairs, err)
		}
	}
	if err := New(counter(2)).restoreBlocking([]storedLane{{Agent: 1, Lane: 4}}, nil); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
}

// What a lane keeps is bounded by its bound, whatever comes; it forgets nothing
// that makes it full.
func TestLaneAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 5).Draw(t, "bound")
		var l lane
		var all []uint64
		wave := uint64(1)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				wave++
			case 1:
				before := rapid.Uint64Range(0, wave).Draw(t, "before")
				l.before(before)
				all = slices.DeleteFunc(all, func(w uint64) bool { return w < before })
			default:
				l.add(wave, bound)
				all = append(all, wave)
			}
			if (l.total > bound) != (len(all) > bound) || len(l.runs) > bound+1 {
				t.Fatalf("%+v of %v, bound %d", l, all, bound)
			}
		}
	})
}

// Of an agent that was given up nothing is counted any more, and it waits for nobody.
func TestBlockedAndGivenUp(t *testing.T) {
	s := New(counter(3))
	s.Start(at(0))
	publishes(s, 1, 0, 2, at(0))
	publishes(s, 0, 2, 2, at(0))
	givesUp(0)(s, at(0))
	if s.blocking.unread[0] != nil || len(s.blocking.waits) > 0 || len(s.blocking.waiters) > 0 || s.slots[0].blocked || s.slots[1].blocked {
		t.Errorf("%+v", s.blocking)
	}
	if s.blocking.unread[2] == nil {
		t.Error("what others have not perceived is forgotten")
	}
}

// A publisher goes on when the receiver rests behind a gate: nobody knows when that has its next turn.
func TestAClosedGateReleases(t *testing.T) {
	s := New(counter(2))
	s.Start(at(0))
	s.Take(at(0))
	ends(s, at(0), []uint32{0, 1})
	waits(0, 1)(s, at(0))
	s.CloseWave(WaveClosed{Wave: 1}, at(0))
	s.Close(ByScript, 1, at(0))
	if got := s.Take(at(1)); s.Waiting() != 0 || !slices.Equal(got, []uint32{0}) {
		t.Errorf("%d wait, woken are %v", s.Waiting(), got)
	}
}
