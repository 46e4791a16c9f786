package inflight

import (
	"testing"
	"time"

	"tavernsim/protocol"
)

// Others stand aside for who began with a critical event: until its deliberation
// ends, waits for a model, or takes too long.
func TestPresses(t *testing.T) {
	at := func(ms int) protocol.Time { return protocol.Time(time.Duration(ms) * time.Millisecond) }
	f := New(2)
	want := func(now int, urgentUnderWay, room bool) {
		t.Helper()
		if f.UrgentUnderWay(at(now)) != urgentUnderWay || f.Room() != room {
			t.Fatalf("at %d ms: urgentUnderWay %t, room %t", now, f.UrgentUnderWay(at(now)), f.Room())
		}
	}
	want(0, false, true)
	f.Begin(1, 1, false, at(0))
	want(0, false, true)
	f.Begin(2, 1, true, at(10))
	want(20, true, false)
	f.Begin(3, 1, true, at(50)) // beyond the limit
	f.End(2)
	want(60, true, false)
	f.Wait(3, 0) // said by the actor of an agent that has left
	want(60, true, false)
	f.Wait(3, 1)
	f.Wait(3, 1)
	want(60, false, false)
	f.End(3)
	f.End(3)
	want(60, false, true)
	f.Begin(4, 1, true, at(100))
	want(199, true, false)
	want(200, false, false)
	f.Begin(5, 1, true, at(300))
	f.End(4) // which nobody stood aside for any more
	want(310, true, false)
	f.End(5)
	want(310, false, true)
	f.Wait(9, 1)
	if f.End(1); len(f.agents) != 0 || f.urgent != 0 {
		t.Errorf("%+v", f)
	}
}

// Who is in flight is known with the wave of its wake, whatever it has done since; nobody is who is not.
func TestIs(t *testing.T) {
	f := New(2)
	f.Begin(1, 3, false, 0)
	f.Begin(2, 0, false, 0)
	for _, become := range []func(){func() {}, func() { f.MakeUrgent(1, 0) }, func() { f.Wait(1, 3) }, func() { f.Arrive(1) }} {
		if become(); !f.Is(1, 3) || f.Is(1, 4) || !f.Is(2, 0) || f.Is(7, 0) {
			t.Errorf("%+v", f.agents)
		}
	}
}

// A deliberation becomes urgent once, and not while it waits for a model, nor when it has ended.
func TestMakeUrgent(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(*Flight)
		urgent, ended bool
	}{
		"begun":  {func(*Flight) {}, true, false},
		"twice":  {func(f *Flight) { f.MakeUrgent(1, 0) }, true, false},
		"waits":  {func(f *Flight) { f.Wait(1, 1) }, false, false},
		"ended":  {func(f *Flight) { f.Arrive(1) }, false, true},
		"waited": {func(f *Flight) { f.MakeUrgent(1, 0); f.Wait(1, 1) }, false, false},
	} {
		f := New(1)
		f.Begin(1, 1, false, 0)
		c.before(&f)
		if ended := f.MakeUrgent(1, 0); ended != c.ended || f.UrgentUnderWay(0) != c.urgent {
			t.Errorf("%s: ended %t, urgent %t", name, ended, f.UrgentUnderWay(0))
		}
		if f.Arrive(1); f.UrgentUnderWay(0) {
			t.Errorf("%s: it is urgent after its end", name)
		}
	}
	f := New(1)
	for f.InARow = Streak - 1; f.InARow <= Streak; f.InARow++ {
		if f.OthersTurn() != (f.InARow == Streak) {
			t.Errorf("%d in a row: %t", f.InARow, f.OthersTurn())
		}
	}
}
