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
	f.Wait(3)
	f.Wait(3)
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
	f.Wait(9)
	if f.End(1); len(f.agents) != 0 || f.urgent != 0 {
		t.Errorf("%+v", f)
	}
}
