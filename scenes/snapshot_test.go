package scenes_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/scenes/scenestest"
)

// Waves go on while a snapshot is written, a second one is not begun, and the
// end of the run waits for the file.
func TestSnapshotIsWrittenBesideWaves(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	want := s.Run(t, scenestest.Settings{Snapshots: -1})
	for name, failure := range map[string]error{"written": nil, "failed": errors.New("this file cannot be made")} {
		t.Run(name, func(t *testing.T) {
			s := s.Fresh(t)
			began, later := make(chan struct{}), make(chan struct{})
			var tell sync.Once
			var begun, inside atomic.Int64
			var writing atomic.Bool
			disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
				if !op.Create || !strings.HasSuffix(op.Path, ".partial") {
					return nil
				}
				if inside.Add(1) > 1 {
					t.Error("two snapshots are written at once")
				}
				if begun.Add(1) == 1 {
					writing.Store(true)
					close(began)
					<-later // the scene must come this far meanwhile
					writing.Store(false)
				}
				inside.Add(-1)
				return failure
			})
			waves := 0
			r := s.Run(t, scenestest.Settings{FS: disk, Snapshots: 1, Kept: func(w persistence.Wave) {
				if writing.Load() {
					waves++
				}
				if waves == 5 || w.Number == want.Wave.Number { // a writer that began late must not wait for ever
					tell.Do(func() { close(later) })
				}
			}})
			<-began
			if r.Err != nil || r.Digest() != want.Digest() {
				t.Fatalf("%v, digest %s; want %s", r.Err, r.Digest(), want.Digest())
			}
			s.Journal(t, func(j *persistence.Journal) {
				checks, err := j.CheckSnapshots()
				if err != nil || (len(checks) > 0) != (failure == nil) {
					t.Fatalf("%v, %d snapshots", err, len(checks))
				}
				for _, c := range checks {
					if c.Err != nil {
						t.Error(c.Err)
					}
				}
			})
		})
	}
}

// An interrupted scene waits for the snapshot at hand and leaves one of its end.
func TestStopWaitsForSnapshot(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	gate := make(chan struct{})
	var open sync.Once
	disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
		if op.Create && strings.HasSuffix(op.Path, ".partial") {
			<-gate
		}
		return nil
	})
	r, err := s.Start(scenestest.Settings{FS: disk, Snapshots: 1, InterruptAt: 8, Stop: &agenda.Stop{Ticks: 1 << 30}, Kept: func(w persistence.Wave) {
		if w.Number == 8 {
			open.Do(func() { close(gate) })
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	end := r.Close()
	s.Journal(t, func(j *persistence.Journal) {
		snap, err := j.LatestSnapshot()
		if err != nil || snap.Wave.Number != end.Wave.Number {
			t.Errorf("%v, the newest snapshot is %+v; want of wave %d", err, snap, end.Wave.Number)
		}
	})
}
