package scenestest

import (
	"errors"
	"sync"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/scenes"
	"tavernsim/scenes/links"
	"tavernsim/scenes/load/roads"
)

// Linked are scenes of one project, by id, that share a folder: agents may travel between them.
type Linked []*Scene

// Beside takes the scenes of the project into the folder of the scene.
func (s *Scene) Beside(t testing.TB, ids ...string) (list Linked) {
	t.Helper()
	for _, id := range ids {
		def, err := s.Project.Scene(id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &Scene{Project: s.Project, Def: def, Dir: s.Dir})
	}
	return list
}

// Run runs the scenes together until all have stopped; set gives the settings of each. What
// they share is that of the first: workers, facts of a block, whom durable waves are told. If
// one stops before its end, the others are interrupted: they would wait for it.
func (l Linked) Run(t testing.TB, set func(*Scene) Settings) (results []Result) {
	t.Helper()
	var defs []*agenda.Scene
	for _, s := range l {
		defs = append(defs, s.Def.Definition)
	}
	all, err := roads.Of(defs)
	if err != nil {
		t.Fatal(err)
	}
	hub := links.New(all)
	first := set(l[0])
	shared, err := l[0].open(&watcher{set: &first})
	if err != nil {
		t.Fatal(err)
	}
	var running []*Running
	for _, s := range l {
		r := &Running{store: shared.store, system: shared.system}
		journal, bad := r.store.Journal(s.Def.Definition.ID)
		if bad == nil {
			bad = s.launch(r, journal, set(s), []func(*scenes.Options){func(o *scenes.Options) { o.Links = hub.Of(s.Def.Definition.ID) }})
		}
		if err = errors.Join(err, bad); bad == nil {
			running = append(running, r)
		}
	}
	results = make([]Result, len(running))
	var ended sync.WaitGroup
	for i, r := range running {
		ended.Go(func() {
			results[i].Outcome = r.Wait()
			if !results[i].Final || results[i].Err != nil {
				interrupt(running)
			}
		})
	}
	if err != nil {
		interrupt(running)
	}
	ended.Wait()
	shared.system.Close()
	for _, r := range running {
		_ = r.hands.Close()
	}
	_ = shared.store.Close()
	for i := range results {
		results[i].DeadLetters = shared.dead.Load()
	}
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func interrupt(running []*Running) {
	for _, r := range running {
		r.Interrupt()
	}
}
