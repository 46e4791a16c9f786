package scenes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/verify"
)

// mustRestore holds that the newest snapshot, which the live actors gave, and
// its tail are what the facts alone give.
func mustRestore(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	var restored *scenes.State
	var from uint64
	s.Journal(t, func(j *persistence.Journal) {
		var err error
		if restored, from, err = scenes.Restored(s.Project, s.Def, j, s.Options(t, set)); err != nil {
			t.Fatal(err)
		}
	})
	got, want := scenes.Parts(restored), scenes.Parts(s.Fold(t, set))
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: the snapshot of wave %d and its tail give\n%s\nthe facts alone give\n%s", name, from, got[name], want[name])
		}
	}
}

// mustFoldAt holds that a snapshot plus its tail is the whole where the journal
// is cut after a wave.
func mustFoldAt(t testing.TB, s *scenestest.Scene, set scenestest.Settings, wave uint64) {
	t.Helper()
	var hashes [2]string
	s.Journal(t, func(j *persistence.Journal) {
		for i := range hashes {
			opt := s.Options(t, set)
			opt.NoSnapshots = i == 1
			state, err := scenes.FoldTo(s.Project, s.Def, j, opt, wave)
			if err == nil {
				hashes[i], err = state.Hash()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if hashes[0] != hashes[1] {
		t.Errorf("cut after wave %d: %s by way of a snapshot, %s from the facts", wave, hashes[0], hashes[1])
	}
}

// mustVerify holds what a scene wrote to what its machines decide.
func mustVerify(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		r, _, err := verify.Run(context.Background(), s.Project, s.Def, j, verify.Options{Scene: s.Options(t, set)})
		switch {
		case err != nil:
			t.Error(err)
		case r.Difference != nil:
			t.Errorf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
		case r.Facts != j.Durable().Last-j.Begin().Last:
			t.Errorf("%d of %d facts were gone over", r.Facts, j.Durable().Last-j.Begin().Last)
		}
	})
}

// difference shows where the stories of two scenes part.
func difference(t testing.TB, got, want *scenestest.Scene) string {
	t.Helper()
	a, _ := got.Trace(t, 0)
	b, _ := want.Trace(t, 0)
	return parting(a, b)
}

// parting shows where two texts part.
func parting(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("after %s\ngot  %s\nwant %s", strings.Join(x[max(0, i-3):i], "\n"), x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(x), len(y))
}
