package inspect

import (
	"errors"
	"testing"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// What the log of effects still has of a scene that has ended, as after a kill behind its last wave, does not count beside its
// facts. Without the last wave it does.
func TestBudgetsBesideTheLog(t *testing.T) {
	dir := ran(t, runner.Options{Budget: &budget.Budget{Tokens: 1e9, OnExhausted: budget.Refuse}}, false)
	id, last := asks(t, dir)
	for _, ended := range []bool{true, false} {
		if !ended {
			store, err := rundir.OpenStore(dir, persistence.Options{})
			if err == nil {
				err = errors.Join(store.CutAfter(id, last-1), store.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s := opened(t, dir)
		lines, err := s.Budgets()
		if err != nil || len(lines) == 0 || (lines[0].Reserved.Tokens == 0) != ended {
			t.Errorf("ended: %t, %+v, %v", ended, lines, err)
		}
		if err := s.run.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// asks adds a request of the first agent to the log of effects of a scene, of a turn that has not ended, and gives the last wave.
func asks(t *testing.T, dir string) (id string, last uint64) {
	t.Helper()
	s := opened(t, dir)
	made, err := s.made()
	if err != nil {
		t.Fatal(err)
	}
	last = s.journal.Durable().Number
	if err := s.run.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := rundir.OpenStore(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := store.Direct(outside.JournalID(s.ID))
	if err != nil {
		t.Fatal(err)
	}
	log, err := outside.Open(j, outside.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := make(chan error, 1)
	f := log.Begin(&outside.Effect{Agent: made.Name(0), Turn: 1 << 20, Request: 1, Kind: effect.KindModel, Question: "q", Most: &outside.Most{Tokens: 100}}, func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	f.Fail(protocol.Errorf(protocol.KindCancelled, "killed"))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return s.ID, last
}
