package scenes_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// On the realtime clock events reach an agent between its wake and the beginning of
// its deliberation, and while its last one waits to be merged. It is woken once for
// what it has not perceived: a pair that answers whatever wakes it would else
// begin a new chain of causes each time.
func TestRealtimeWokenOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			s := stormScene(t, "pair", "max_depth: 6", "max_depth: 60")
			synctest.Test(t, func(t *testing.T) {
				stop := &agenda.Stop{Deliberations: 4000}
				if r := s.Run(t, scenestest.Settings{Clock: agenda.Realtime, Workers: workers, Stop: stop}); r.Err != nil || r.Reason != agenda.StoppedByQuiet {
					t.Error(r)
				}
			})
			if n := wokenForNothing(t, s); n > 0 {
				t.Errorf("%d deliberations were shown nothing", n)
			}
		})
	}
}

// wokenForNothing counts deliberations after an agent's first that were shown
// neither an event nor an observation.
func wokenForNothing(t *testing.T, s *scenestest.Scene) (n int) {
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Scan(persistence.Query{Kinds: []string{agentfact.FactTurnEnded}}, func(r protocol.Record) error {
			f, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
			if end, ok := f.(*agentfact.TurnEnded); ok && end.Turn > 1 && end.Perceived+end.Seen == 0 {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return n
}
