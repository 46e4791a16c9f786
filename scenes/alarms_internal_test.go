package scenes

import (
	"testing"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/span"
)

// A turn that publishes something critical is an alarm until it arrives, or is lost.
func TestAlarmsOnTheirWay(t *testing.T) {
	st := &stage{scene: &scene{Scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}}}
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
