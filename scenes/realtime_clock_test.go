package scenes_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// Promise 9: a machine whose clock was set back while a scene was stopped goes on with it where it was: no wave is at an
// earlier time than the one before, and who is due in a second is woken in a second.
func TestAClockThatWasSetBack(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `agent_instances: [{instance_id: a, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 0.5}}]
simulation: {clock: realtime, stop: {after: 9s}}`), "")
	for _, stop := range []time.Duration{5 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) { // each bubble begins at the same time of the clock
			began := time.Now()
			r := live(t, s, scenestest.Settings{})
			time.AfterFunc(stop, r.Interrupt)
			if res := r.Close(); res.Err != nil || res.Final != (stop == time.Hour) || time.Since(began) > 6*time.Second {
				t.Error(res, time.Since(began))
			}
		})
	}
	var last protocol.Time
	waves := 0
	s.Facts(t, func(r protocol.Record, _ protocol.Fact) {
		if waves++; r.Time < last {
			t.Errorf("a wave at %s is behind one at %s", r.Time, last)
		}
		last = r.Time
	}, agenda.FactWaveClosed)
	if waves < 6 {
		t.Errorf("%d waves", waves)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}
