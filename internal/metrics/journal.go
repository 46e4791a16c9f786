package metrics

import (
	"time"

	"tavernsim/persistence"
)

// Journal observes a store; give it to persistence.Options.
type Journal struct{ *Set }

// BlockStored implements persistence.Observer.
func (j Journal) BlockStored(_ string, facts, _, stored int) {
	j.journalFacts.Add(float64(facts))
	j.journalBytes.Add(float64(stored))
	j.journalBatch.Observe(float64(facts))
}

// WaveKept implements persistence.Observer.
func (j Journal) WaveKept(_ string, _ persistence.Wave, commit, _ time.Duration) {
	j.journalCommit.Observe(commit.Seconds())
}

// Waited implements persistence.Observer.
func (j Journal) Waited(_ string, d time.Duration) { j.journalWait.Add(d.Seconds()) }

// SnapshotSaved implements persistence.Observer.
func (j Journal) SnapshotSaved(_ string, bytes int64, d time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	} else {
		j.snapshotBytes.Set(float64(bytes))
	}
	j.snapshots.WithLabelValues(outcome).Inc()
	j.snapshotSec.Observe(d.Seconds())
}

var _ persistence.Observer = Journal{}
