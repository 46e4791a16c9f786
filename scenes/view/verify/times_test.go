package verify_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/scenestest"
)

// A history in which the time of the scene goes back is damaged on the virtual clock: no fold takes it. Verify names the
// wave, on both clocks.
func TestTimeThatGoesBack(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		s, set := busy(t), scenestest.Settings{Stop: &agenda.Stop{After: protocol.Duration(6 * time.Second)}, Clock: clock}
		synctest.Test(t, func(t *testing.T) {
			if r := s.Run(t, set); r.Err != nil {
				t.Fatal(r)
			}
		})
		wave := 1
		back := s.Rewrite(t, func(r *protocol.Record) {
			if wave == 4 {
				r.Time = r.Time.Add(-4 * time.Second)
			}
			if r.Kind == agenda.FactWaveClosed {
				wave++
			}
		})
		back.Journal(t, func(j *persistence.Journal) {
			_, _, err := history.Fold(back.Made(t, set), j, history.Options{})
			if told := err != nil && protocol.KindOf(err) == protocol.KindCorrupt && strings.Contains(err.Error(), "wave 4"); told != (clock == agenda.Virtual) {
				t.Errorf("%s: %v", clock, err)
			}
		})
		if r := run(t, back, set, 1); r.Difference == nil || r.Difference.Wave != 4 || !strings.Contains(r.Difference.Reason, "time") {
			t.Errorf("%s: %+v", clock, r.Difference)
		}
		if r := run(t, s, set, 1); r.Difference != nil {
			t.Errorf("%s: %+v", clock, r.Difference)
		}
	}
}

// A fact is that of its time and its actor, too: another one is a difference, of whomever it is.
func TestAFactOfAnotherTimeOrActor(t *testing.T) {
	s, set := busy(t), scenestest.Settings{Stop: &agenda.Stop{After: protocol.Duration(6 * time.Second)}}
	if r := s.Run(t, set); r.Err != nil {
		t.Fatal(r)
	}
	for _, kind := range []string{agentfact.FactCallMade, agentfact.FactTurnEnded, world.FactCommitted, bus.FactRouted, agenda.FactEnded} {
		for what, change := range map[string]func(*protocol.Record){
			"time": func(r *protocol.Record) { r.Time++ }, "actor": func(r *protocol.Record) { r.Actor = "nobody" },
		} {
			at := uint64(0)
			other := s.Rewrite(t, func(r *protocol.Record) {
				if r.Kind == kind && at == 0 {
					at = r.Seq
					change(r)
				}
			})
			if r := run(t, other, set, 1); at == 0 || r.Difference == nil {
				t.Errorf("another %s of %s at seq %d: nobody noticed", what, kind, at)
			}
		}
	}
}

// A wave in which somebody changed the stopped run is held to that, too.
func TestTheTimeOfAForkGoesBack(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		s, set := busy(t), scenestest.Settings{Stop: &agenda.Stop{After: protocol.Duration(time.Hour)}, Clock: clock, InterruptAt: 5}
		synctest.Test(t, func(t *testing.T) {
			if r := s.Run(t, set); r.Err != nil || r.Final {
				t.Fatal(r)
			}
		})
		s.JournalIn(t, s.Dir, persistence.Options{}, func(j *persistence.Journal) {
			if _, err := history.Fork(s.Made(t, set), j, history.Options{}, &agenda.Forked{Parent: "s", Seed: 1}, nil); err != nil {
				t.Fatal(err)
			}
		})
		forked := false
		back := s.Rewrite(t, func(r *protocol.Record) {
			if forked = forked || r.Kind == agenda.FactForked; forked {
				r.Time = r.Time.Add(-4 * time.Second)
			}
		})
		if r := run(t, s, set, 1); r.Difference != nil {
			t.Errorf("%s: %+v", clock, r.Difference)
		}
		if r := run(t, back, set, 1); r.Difference == nil || !strings.Contains(r.Difference.Reason, "goes back") {
			t.Errorf("%s: %+v", clock, r.Difference)
		}
	}
}
