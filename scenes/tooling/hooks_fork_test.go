package tooling_test

import (
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/scenes/history"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
)

// A fork of a scene with hooks asks them for itself from its wave on. Without a change it comes to
// the digest of the scene that it is of; with one it goes its own way, and verify asks none.
func TestHooksOfAFork(t *testing.T) {
	if testing.Short() {
		t.Skip("services are started for each fork")
	}
	box := withPython(t)
	set := scenestest.Settings{Tools: tooling.Live, Sandbox: box, Stop: ended()}
	for _, at := range []uint64{1, 4} {
		for _, seed := range []uint64{0, 7} { // 0 = no change
			s := scenestest.New(t, loadAround(t, "closed"), "")
			whole := s.Run(t, set)
			if whole.Err != nil || !whole.Final {
				t.Fatal(whole.Err)
			}
			forkedAt(t, s, set, at, seed)
			fork := s.Run(t, set)
			if fork.Err != nil || !fork.Final {
				t.Fatalf("forked at wave %d: %v", at, fork.Err)
			}
			if same := fork.Wave.Digest == whole.Wave.Digest; same != (seed == 0) {
				t.Errorf("forked at wave %d with seed %d: the same digest is %v", at, seed, same)
			}
			mustVerify(t, s, scenestest.Settings{Tools: tooling.Off, Stop: ended()})
		}
	}
}

// forkedAt makes a scene a fork of itself: its journal ends at a wave, and it has no log of effects.
func forkedAt(t *testing.T, s *scenestest.Scene, set scenestest.Settings, wave, seed uint64) {
	t.Helper()
	store, err := persistence.Open(s.Dir, persistence.Options{Traces: history.Traces()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ids, err := store.Scenes()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id != s.Def.Definition.ID {
			if err := store.Remove(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.CutAfter(s.Def.Definition.ID, wave); err != nil {
		t.Fatal(err)
	}
	if seed == 0 {
		return
	}
	j, err := store.Journal(s.Def.Definition.ID)
	if err == nil {
		_, err = history.Fork(s.Made(t, set), j, history.Options{}, &agenda.Forked{Parent: "p", Wave: wave, Seed: seed}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}
