package scenes_test

import (
	"testing"

	"tavernsim/persistence"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// restoredHash hashes the state of the newest snapshot and its tail.
func restoredHash(t testing.TB, s *scenestest.Scene, set scenestest.Settings) (hash string, from uint64) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		state, wave, err := scenes.Restored(s.Project, s.Def, j, s.Options(t, set))
		if err != nil {
			t.Fatal(err)
		}
		if hash, err = state.Hash(); err != nil {
			t.Fatal(err)
		}
		from = wave
	})
	return hash, from
}
