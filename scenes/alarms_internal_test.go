package scenes

import (
	"testing"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/span"
)

// A turn that publishes something critical is an alarm until it arrives, or is lost.
func TestAlarmsOnTheirWay(t *testing.T) {
	st := &stage{clock: time.Now, scene: &scene{Scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}}}
	turn := carrying(protocol.KindTurn, &handover{span: &span.Span{Urgent: true}})
	turn.Priority = protocol.Critical
	for name, comes := range map[string]func(){
		"it arrives": func() { _, _ = st.input(turn) },
		"it is lost": func() { st.scene.undelivered(actors.DeadLetter{Envelope: turn}) },
	} {
		if st.alarms.Add(1); st.moment().Alarms != 1 {
			t.Error(name, ": no alarm before")
		}
		if comes(); st.moment().Alarms != 0 {
			t.Error(name, ": an alarm after")
		}
	}
}

// The realtime clock goes on where it was when the wall clock is set back, and stays ahead of it by that.
func TestTheWallClockIsSetBack(t *testing.T) {
	var wall time.Time
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	st := &stage{clock: func() time.Time { return wall }, scene: &scene{}}
	for _, c := range []struct{ wall, want time.Duration }{
		{0, 0}, {time.Minute, time.Minute},
		{-time.Hour, time.Minute}, {-59 * time.Minute, 2 * time.Minute}, // set back by an hour and a minute
		{-60 * time.Minute, 2 * time.Minute}, {-58 * time.Minute, 4 * time.Minute}, // and by a minute more
		{time.Hour, 2*time.Hour + 2*time.Minute}, // set forward
	} {
		wall = began.Add(c.wall)
		if got := st.now().Sub(protocol.TimeOf(began)); got != c.want || st.seen() != protocol.TimeOf(began.Add(c.want)) {
			t.Errorf("the wall clock is at %v, the scene at %v, want %v", c.wall, got, c.want)
		}
	}
}
