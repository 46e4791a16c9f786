package machines

import (
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/inflight"
)

// Urgent turns without end do not keep the others from being merged: every fifth
// is another's.
func TestUrgentTurnsShare(t *testing.T) {
	for _, others := range []int{1, 5, 50} { // that end in a round
		st := &Stage{shared: shared{StageState: &StageState{scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}}, flight: deliberations{Flight: inflight.New(1)}}}
		merged := map[bool]int{}
		for range 200 {
			for range 100 {
				st.flight.urgent = append(st.flight.urgent, arrival{agent: 1, urgent: true})
			}
			for range others {
				st.flight.arrived = append(st.flight.arrived, arrival{agent: 2})
			}
			taken, urgent := st.flight.take(true)
			if merged[urgent] += len(taken); len(taken) == 0 || len(taken) > maxArrived {
				t.Fatal(len(taken))
			}
			if st.UrgentUnderWay(Moment{}) != !st.flight.OthersTurn() {
				t.Fatal("who is othersTurn makes others stand aside")
			}
		}
		if merged[false] > merged[true] || merged[false]*5 < merged[true] && len(st.flight.arrived) > 0 {
			t.Errorf("%d urgent ones, %d others, of which %d wait", merged[true], merged[false], len(st.flight.arrived))
		}
		st.flight.arrived = nil
		if taken, urgent := st.flight.take(true); !urgent || len(taken) == 0 {
			t.Error("what is urgent waits for nobody")
		}
	}
}

// The turn of an agent that has heard something critical since it ended goes before
// others, which may be hundreds.
func TestArrivedTurnsHurry(t *testing.T) {
	clock := agenda.New(agenda.Config{Clock: agenda.Realtime, Agents: 3, Timing: func(uint32) agenda.Timing { return agenda.Timing{} }})
	clock.Start(1)
	st := &Stage{shared: shared{StageState: &StageState{scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}, Agenda: clock}, flight: deliberations{Flight: inflight.New(3)}}}
	for o := range uint32(3) {
		st.flight.Begin(o, 1, false, 1)
		st.flight.arrive(arrival{agent: o}, protocol.Low)
	}
	clock.Heard(1, protocol.Critical, 1, 2)
	clock.Heard(2, protocol.Normal, 1, 2)
	st.wakeDue(2)
	if len(st.flight.urgent) != 1 || st.flight.urgent[0].agent != 1 || len(st.flight.arrived) != 2 || !st.UrgentUnderWay(Moment{}) {
		t.Errorf("first %v, then %v", st.flight.urgent, st.flight.arrived)
	}
}

// An alarm that is on its way to the stage makes others stand aside.
func TestAlarmsOnTheirWay(t *testing.T) {
	st := &Stage{shared: shared{StageState: &StageState{scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}}, flight: deliberations{Flight: inflight.New(1)}}}
	if st.UrgentUnderWay(Moment{}) || !st.UrgentUnderWay(Moment{Alarms: 1}) {
		t.Error("whether others stand aside does not follow the alarms")
	}
}
