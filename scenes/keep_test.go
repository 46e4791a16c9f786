package scenes_test

import (
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// A run that drops its old facts ends as one that keeps all, and what it keeps begins at a snapshot and folds, verifies and restores.
func TestKeepDropsOldFacts(t *testing.T) {
	p := scenestest.Town(t)
	whole := scenestest.New(t, p, "")
	want := whole.Run(t, scenestest.Settings{})
	hash := whole.FoldHash(t, scenestest.Settings{})
	for name, keep := range map[string]persistence.Keep{"waves": {Waves: 4}, "time": {Time: 3 * time.Second}} {
		if !scenestest.Long() && name == "time" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := whole.Fresh(t)
			set := scenestest.Settings{Snapshots: 20, Keep: keep, BatchFacts: 7}
			var r scenestest.Result
			for !r.Final { // each stop leaves a snapshot, however slow the disk is
				var asked atomic.Int64
				if r = s.RunUntil(t, set, func(*protocol.ModelRequest) bool { return asked.Add(1) == 15 }); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			if r.Digest() != want.Digest() {
				t.Fatalf("digest %s, want %s", r.Digest(), want.Digest())
			}
			begin := beginsAtSnapshot(t, s, keep)
			if got := s.FoldHash(t, set); got != hash {
				t.Errorf("state %s, want %s", got, hash)
			}
			mustFoldAt(t, s, set, begin+1)
			mustVerify(t, s, set)
		})
	}
}

func beginsAtSnapshot(t *testing.T, s *scenestest.Scene, keep persistence.Keep) (begin uint64) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		checks, err := j.CheckSnapshots()
		if err != nil || len(checks) < 2 || len(checks) > 4 {
			t.Fatalf("%v, %d snapshots", err, len(checks))
		}
		for _, c := range checks {
			if c.Err != nil {
				t.Error(c.Err)
			}
		}
		begin = j.Begin().Number
		if begin == 0 || checks[len(checks)-1].Wave != begin {
			t.Fatalf("begins after wave %d, the oldest snapshot is of %d", begin, checks[len(checks)-1].Wave)
		}
		if newest := checks[0].Wave; newest-begin < keep.Waves {
			t.Errorf("waves %d to %d are kept before the snapshot; want %d at least", begin+1, newest, keep.Waves)
		}
	})
	return begin
}
