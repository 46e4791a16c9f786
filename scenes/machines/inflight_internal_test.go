package machines

import (
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Others stand aside for who began with a critical event: until its deliberation
// ends, waits for a model, or takes too long.
func TestPresses(t *testing.T) {
	at := func(ms int) protocol.Time { return protocol.Time(time.Duration(ms) * time.Millisecond) }
	f := newInFlight(2)
	want := func(now int, urgentUnderWay, room bool) {
		t.Helper()
		if f.urgentUnderWay(at(now)) != urgentUnderWay || f.room() != room {
			t.Fatalf("at %d ms: urgentUnderWay %t, room %t", now, f.urgentUnderWay(at(now)), f.room())
		}
	}
	want(0, false, true)
	f.begin(1, false, at(0))
	want(0, false, true)
	f.begin(2, true, at(10))
	want(20, true, false)
	f.begin(3, true, at(50)) // beyond the limit
	f.end(2)
	want(60, true, false)
	f.wait(3)
	f.wait(3)
	want(60, false, false)
	f.end(3)
	f.end(3)
	want(60, false, true)
	f.begin(4, true, at(100))
	want(199, true, false)
	want(200, false, false)
	f.begin(5, true, at(300))
	f.end(4) // which nobody stood aside for any more
	want(310, true, false)
	f.end(5)
	want(310, false, true)
	f.wait(9)
	if f.end(1); len(f.agents) != 0 || f.urgent != 0 {
		t.Errorf("%+v", f)
	}
}

// Urgent turns without end do not keep the others from being merged: every fifth
// is another's.
func TestUrgentTurnsShare(t *testing.T) {
	for _, others := range []int{1, 5, 50} { // that end in a round
		st := &Stage{scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}, flight: newInFlight(1)}
		merged := map[bool]int{}
		for range 200 {
			for range 100 {
				st.urgentArrived = append(st.urgentArrived, arrival{agent: 1, urgent: true})
			}
			for range others {
				st.arrived = append(st.arrived, arrival{agent: 2})
			}
			taken, urgent := st.takeArrived()
			if merged[urgent] += len(taken); len(taken) == 0 || len(taken) > maxArrived {
				t.Fatal(len(taken))
			}
			if st.UrgentUnderWay(Moment{}) != !st.flight.othersTurn() {
				t.Fatal("who is othersTurn makes others stand aside")
			}
		}
		if merged[false] > merged[true] || merged[false]*5 < merged[true] && len(st.arrived) > 0 {
			t.Errorf("%d urgent ones, %d others, of which %d wait", merged[true], merged[false], len(st.arrived))
		}
		st.arrived = nil
		if taken, urgent := st.takeArrived(); !urgent || len(taken) == 0 {
			t.Error("what is urgent waits for nobody")
		}
	}
}

// The turn of an agent that has heard something critical since it ended goes before
// others, which may be hundreds.
func TestArrivedTurnsHurry(t *testing.T) {
	clock := agenda.New(agenda.Config{Clock: agenda.Realtime, Agents: 3, Timing: func(uint32) agenda.Timing { return agenda.Timing{} }})
	clock.Start(1)
	st := &Stage{scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}, flight: newInFlight(3), Agenda: clock}
	for o := range uint32(3) {
		st.flight.begin(o, false, 1)
		st.arrive(arrival{agent: o})
	}
	clock.Heard(1, protocol.Critical, 1, 2)
	clock.Heard(2, protocol.Normal, 1, 2)
	st.wakeDue(2)
	if len(st.urgentArrived) != 1 || st.urgentArrived[0].agent != 1 || len(st.arrived) != 2 || !st.UrgentUnderWay(Moment{}) {
		t.Errorf("first %v, then %v", st.urgentArrived, st.arrived)
	}
}
