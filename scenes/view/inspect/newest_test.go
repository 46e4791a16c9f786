package inspect

import (
	"reflect"
	"testing"

	"tavernsim/engine/agenda"
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
	count := &reading{journal: s.journal}
	s.journal = count
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

// With the note of any wave and the facts after it, agents and world are those of all
// facts: in every recorded run.
func TestViewsFromANote(t *testing.T) {
	runs := 0
	for dir, s := range recordedScenes(t) {
		all, err := s.Agents(AgentQuery{})
		if err != nil {
			t.Fatal(dir, err)
		}
		world, err := s.World("", "", false)
		if err != nil {
			t.Fatal(dir, err)
		}
		for i := range all.Agents {
			all.Agents[i].Waiting, all.Agents[i].Cost, all.Agents[i].Unpriced = nil, nil, 0
			all.Agents[i].use = AgentLine{}.use
		}
		end := s.journal.Durable()
		for n := uint64(1); n <= end.Number; n += 1 + end.Number/4 {
			folded, err := s.Fold(n)
			if err != nil {
				t.Fatal(dir, err)
			}
			if folded.Roster == nil || s.clock() == agenda.Realtime {
				continue // an older program's; their notes have no stage
			}
			w, err := s.journal.Wave(n)
			if err != nil {
				t.Fatal(dir, err)
			}
			scene, err := folded.EncodeScene()
			if err != nil {
				t.Fatal(err)
			}
			note := machines.Note{Tally: folded.Tally, Scene: scene, World: folded.World().AppendSnapshot(nil)}
			j := &reading{journal: s.journal, noted: w.Last}
			if j.note, err = s.codec.Marshal(&note); err != nil {
				t.Fatal(err)
			}
			runs++
			from := *s
			from.journal = j
			few, err := from.Agents(AgentQuery{Newest: true})
			if err != nil || few.Whole || !reflect.DeepEqual(all.Agents, few.Agents) {
				t.Errorf("%s: all facts say\n%+v\nfrom the note of wave %d\n%+v, %v", dir, all.Agents, n, few, err)
			}
			now, err := from.World("", "end", true)
			if err != nil || !reflect.DeepEqual(world, now) {
				t.Errorf("%s: all facts say\n%+v\nfrom the note of wave %d\n%+v, %v", dir, world, n, now, err)
			}
		}
	}
	if runs < 15 {
		t.Errorf("%d notes", runs)
	}
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
