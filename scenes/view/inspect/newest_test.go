package inspect

import (
	"maps"
	"reflect"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/runner"
)

// Promise 6: what is shown of a scene that runs is what all facts say, and it is found in the newest
// note and in a bounded number of facts after it, however long the run is.
func TestViewsOfTheNewest(t *testing.T) {
	s := opened(t, ranProject(t, "../../../internal/bench/project", runner.Options{Agents: 1000, Ticks: 20}, nil))
	end := s.journal.Durable()
	longest := uint64(0) // of a wave: a note comes with its end
	for n := uint64(1); n <= end.Number; n++ {
		w, err := s.journal.Wave(n)
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, w.Last-w.First+1)
	}
	bound := machines.NoteEvery + 2*longest
	if end.Last < 2*bound {
		t.Fatalf("%d facts do not prove a bound of %d", end.Last, bound)
	}
	all, err := s.Agents(AgentQuery{})
	if err != nil || !all.Whole {
		t.Fatal(all, err)
	}
	world, err := s.World("", "", false)
	if err != nil {
		t.Fatal(err)
	}
	id := all.Agents[1].Agent
	one, err := s.Agent(id, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := shows(t, s, id)
	count := &reading{journal: s.journal}
	s.journal = count
	shown, err := s.Shown(id, seen)
	if err != nil || len(shown.Last) == 0 || !reflect.DeepEqual(one.Last[:len(shown.Last)], shown.Last) || count.facts == 0 || count.facts > machines.NoteEvery {
		t.Fatalf("an agent that the run shows: %d facts of %d were read, want at most %d; %v", count.facts, end.Last, machines.NoteEvery, err)
	}
	shown.Last, count.facts = one.Last, 0
	if !reflect.DeepEqual(one, shown) {
		t.Errorf("the run shows\n%+v\nall facts say\n%+v", shown, one)
	}
	few, err := s.Agents(AgentQuery{Newest: true})
	if err != nil || few.Whole || count.facts == 0 || count.facts > bound {
		t.Fatalf("agents: %d facts of %d were read, want at most %d; inboxes counted: %v; %v", count.facts, end.Last, bound, few.Whole, err)
	}
	for i := range all.Agents {
		all.Agents[i].Waiting = nil
	}
	if !reflect.DeepEqual(all.Agents, few.Agents) {
		t.Errorf("all facts say\n%+v\nthe newest\n%+v", all.Agents[0], few.Agents[0])
	}
	count.facts = 0
	now, err := s.World("", "", true)
	if err != nil || count.facts > 2*bound {
		t.Fatalf("world: %d facts of %d were read, want at most %d; %v", count.facts, end.Last, 2*bound, err)
	}
	if !reflect.DeepEqual(world, now) {
		t.Errorf("all facts say\n%+v\nthe newest\n%+v", world, now)
	}
}

// shows is an agent as the run would show it at the end of its journal.
func shows(t *testing.T, s *Scene, id string) *glance.Seen {
	t.Helper()
	state, err := s.Fold(s.journal.Durable().Number)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := state.Ordinal(id)
	raw, err := agent.Snapshot(machines.NewCodec(), &state.Agents[o].State)
	if err != nil {
		t.Fatal(err)
	}
	return &glance.Seen{Wave: state.Agenda.Wave, Now: state.Agenda.Now, Standing: state.Agenda.Standing(o), Subscriptions: state.Subscriptions(o), Raw: raw}
}

// With the note of any wave and the facts after it, views are those of all facts: in every
// recorded run, and in one with budgets.
func TestViewsFromANote(t *testing.T) {
	const limit = 2000
	budgeted := opened(t, ran(t, runner.Options{Budget: &budget.Budget{Tokens: limit, OnExhausted: budget.Refuse}}, false))
	if lines, err := budgeted.Budgets(); err != nil || len(lines) == 0 || lines[0].Left.Tokens == nil || *lines[0].Left.Tokens >= limit {
		t.Fatalf("nothing was taken from the budget: %+v, %v", lines, err)
	}
	scenes := map[string]*Scene{"budgeted": budgeted}
	maps.Insert(scenes, recordedScenes(t))
	runs := 0
	for dir, s := range scenes {
		all, end := shown(t, s, false), s.journal.Durable()
		for n := uint64(1); n <= end.Number; n += 1 + end.Number/4 {
			from := noted(t, s, n)
			if from == nil {
				continue // an older program's; their notes have no stage
			}
			runs++
			if few := shown(t, from, true); !reflect.DeepEqual(all, few) {
				t.Errorf("%s: all facts say\n%+v\nfrom the note of wave %d\n%+v", dir, all, n, few)
			}
		}
	}
	if runs < 18 {
		t.Errorf("%d notes", runs)
	}
}

// shown is what views show of the newest, without what a note does not say.
func shown(t *testing.T, s *Scene, newest bool) (views []any) {
	t.Helper()
	list, err := s.Agents(AgentQuery{Newest: newest})
	if err != nil || list.Whole == newest {
		t.Fatal(list, err)
	}
	world, err := s.World("", "end", newest)
	if err != nil {
		t.Fatal(err)
	}
	budgets, err := s.Budgets()
	if err != nil {
		t.Fatal(err)
	}
	views = append(views, world, budgets)
	for _, a := range list.Agents {
		one, err := s.Agent(a.Agent, "end")
		if err != nil {
			t.Fatal(err)
		}
		a.Waiting, a.Cost, a.Unpriced, a.use = nil, nil, 0, AgentLine{}.use
		views = append(views, a, one)
	}
	own, err := s.Agent(sceneActor, "end")
	if err != nil {
		t.Fatal(err)
	}
	return append(views, own)
}

// noted is the scene with a note of a wave; nil = a program wrote it that noted no stage.
func noted(t *testing.T, s *Scene, wave uint64) *Scene {
	t.Helper()
	folded, err := s.Fold(wave)
	if err != nil {
		t.Fatal(err)
	}
	if folded.Roster == nil || s.clock() == agenda.Realtime {
		return nil
	}
	w, err := s.journal.Wave(wave)
	if err != nil {
		t.Fatal(err)
	}
	scene, err := folded.EncodeScene()
	if err != nil {
		t.Fatal(err)
	}
	j := &reading{journal: s.journal, noted: w.Last}
	if j.note, err = s.codec.Marshal(&machines.Note{Tally: folded.Tally, Scene: scene, World: folded.World().AppendSnapshot(nil)}); err != nil {
		t.Fatal(err)
	}
	from := *s
	from.journal = j
	return &from
}

// A run that goes on from a snapshot keeps its roster.
func TestRosterOfASnapshot(t *testing.T) {
	opt := runner.Options{}
	opt.Snapshots.Facts = 10
	s := opened(t, ran(t, opt, false))
	if snap, err := s.journal.SnapshotAt(s.journal.Durable().Number); err != nil || snap.Wave.Number == 0 {
		t.Fatal(snap, err)
	}
	state, err := s.fold(s.journal.Durable().Number, machines.Agenda)
	if err != nil {
		t.Fatal(err)
	}
	if counted, err := s.roster(); err != nil || state.Roster == nil || !reflect.DeepEqual(counted, state.Roster) {
		t.Errorf("by the snapshot %+v, by all facts %+v, %v", state.Roster, counted, err)
	}
}
