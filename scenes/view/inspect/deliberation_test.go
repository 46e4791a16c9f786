package inspect

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/knowledge"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// A deliberation is folded from the newest note and snapshot, without the turns of other agents. What it
// shows is what the state of the whole scene says: in every recorded run, in one that was resumed from
// a snapshot and in a fork of that.
func TestDeliberationsOfAPart(t *testing.T) {
	snapshots := runner.Options{Ticks: 1 << 30}
	snapshots.Snapshots.Facts = 20
	resumed := ran(t, snapshots, true)
	goOn(t, resumed)
	fork, seed := filepath.Join(t.TempDir(), "fork"), uint64(99)
	if _, err := rundir.Fork(t.Context(), resumed, fork, rundir.ForkOptions{At: "wave:4", Seed: &seed}); err != nil {
		t.Fatal(err)
	}
	goOn(t, fork)
	scenes := map[string]*Scene{"resumed": opened(t, resumed), "fork": opened(t, fork)}
	maps.Insert(scenes, recordedScenes(t))
	turns, questions, notes := 0, 0, 0
	for name, s := range scenes {
		end := s.journal.Durable().Number
		froms := []*Scene{s}
		for _, n := range []uint64{1, end / 2} {
			if n == 0 {
				continue
			}
			if from := noted(t, s, n); from != nil {
				froms, notes = append(froms, from), notes+1
			}
		}
		for _, id := range someTurns(t, s) {
			want := wholly(t, s, id)
			for i, from := range froms {
				if got, err := text(from.Deliberation(id)); err != nil || got != want {
					t.Fatalf("%s: %s, %d: %v\nby the whole state %s\nby a part          %s", name, id, i, err, want, got)
				}
			}
			turns++
			questions += strings.Count(want, `"messages":`)
		}
	}
	if turns < 200 || questions < 100 || notes < 20 {
		t.Errorf("%d turns with %d questions, from %d notes, prove little", turns, questions, notes)
	}
}

// What the scene's own workflow writes into a knowledge base is an effect of its turn, though the fact names nobody. What
// an order writes is not.
func TestKnowledgeOfTheScene(t *testing.T) {
	for _, f := range []protocol.Fact{&knowledge.Written{Request: "$scene/3.2"}, &knowledge.Suggested{Request: "$scene/3.2"}, &knowledge.Refused{Request: "$scene/3.2"}} {
		if e := effectsOf(f)[0]; e.by != "$scene" || e.turn != 3 {
			t.Errorf("%s: by %q in turn %d", f.FactKind(), e.by, e.turn)
		}
	}
	if e := effectsOf(&knowledge.Written{Request: "order-1"})[0]; e.by != "" {
		t.Errorf("by %q", e.by)
	}
}

// someTurns are the ids of at most 5 turns of a scene, among them the last.
func someTurns(t *testing.T, s *Scene) (ids []string) {
	t.Helper()
	var all []string
	err := s.Scan(persistence.Query{Kinds: []string{"agent.turn_ended"}}, func(r protocol.Record) error {
		all = append(all, fmt.Sprintf("seq:%d", r.Seq))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := len(all) - 1; i >= 0; i -= 1 + len(all)/4 {
		ids = append(ids, all[i])
	}
	return ids
}

// wholly is a deliberation by the state of the whole scene.
func wholly(t *testing.T, s *Scene, id string) string {
	t.Helper()
	agent, turn, seq, err := s.turnID(id)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := s.findTurn(agent, turn, seq)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.before(facts)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.Fold(before.Number)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := state.Ordinal(agent)
	d, err := text(s.deliberation(agent, facts, o, state))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
