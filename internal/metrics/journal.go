package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/persistence"
)

type journalVecs struct {
	facts, raw, stored prometheus.Counter
	batch              prometheus.Histogram
	commit             map[persistence.Durability]prometheus.Observer
	lag                prometheus.Observer
	wait               prometheus.Counter
	failures           prometheus.Counter
	snapshots          closed
	snapshotTook       prometheus.Observer
	snapshotSize       prometheus.Gauge
}

func (s *Set) makeJournal() {
	s.area = "journal"
	j := &s.journal
	j.facts = s.one("journal_events_total", "Facts stored, with those of the log of effects.")
	j.raw = s.one("journal_fact_bytes_total", "Bytes of the facts stored, before compression.")
	j.stored = s.one("journal_written_bytes_total", "Bytes of stored blocks and their index, after compression.")
	j.batch = s.histogram("journal_batch_events", "Facts of one stored block; its count is the number of batches.", prometheus.ExponentialBuckets(1, 4, 11)).WithLabelValues().(prometheus.Histogram)
	commit := s.histogram("journal_commit_duration_seconds", "From the hand-over of a wave's last block to the database until it is durable: with sync=\"power\" a sync of the disk.", seconds(), "sync")
	j.commit = map[persistence.Durability]prometheus.Observer{}
	for _, d := range persistence.Durabilities() {
		j.commit[d] = commit.WithLabelValues(string(d))
	}
	j.lag = s.histogram("journal_wave_lag_seconds", "From the close of a wave until it and all before it are durable.", seconds()).WithLabelValues()
	j.wait = s.one("journal_wait_seconds_total", "Time that scenes waited because the disk was behind.")
	j.failures = s.one("journal_failures_total", "Scenes that stopped because their journal could not be written.")
	j.snapshots = newClosed(s.counter("snapshots_total", "Snapshots.", "outcome"), []string{"ok", "failed"})
	j.snapshotTook = s.histogram("snapshot_duration_seconds", "Time to write a snapshot.", seconds()).WithLabelValues()
	j.snapshotSize = s.gauge("snapshot_last_size_bytes", "Size of the newest snapshot.").WithLabelValues()
	s.replayed = s.one("replay_events_total", "Facts folded from a journal: the only thing that a replay counts.")
	s.diverged = s.one("replay_divergences_total", "Replays and repetitions whose digest was not the expected one.")
}

// JournalFailed counts a scene that stopped because its journal could not be
// written.
func (s *Set) JournalFailed() { s.journal.failures.Inc() }

// Journal observes a store; give it to persistence.Options. Sync is the store's
// durability, as in persistence.Options.
type Journal struct {
	*Set
	Sync persistence.Durability
}

// BlockStored implements persistence.Observer.
func (j Journal) BlockStored(_ string, facts, raw, stored int) {
	j.journal.facts.Add(float64(facts))
	j.journal.raw.Add(float64(raw))
	j.journal.stored.Add(float64(stored))
	j.journal.batch.Observe(float64(facts))
}

// WaveKept implements persistence.Observer.
func (j Journal) WaveKept(_ string, _ persistence.Wave, commit, latency time.Duration) {
	sync := j.Sync
	if sync == "" {
		sync = persistence.Process
	}
	if o := j.journal.commit[sync]; o != nil { // persistence.Open refuses other levels
		o.Observe(commit.Seconds())
	}
	j.journal.lag.Observe(latency.Seconds())
}

// Waited implements persistence.Observer.
func (j Journal) Waited(_ string, d time.Duration) { j.journal.wait.Add(d.Seconds()) }

// SnapshotSaved implements persistence.Observer.
func (j Journal) SnapshotSaved(_ string, bytes int64, d time.Duration, err error) {
	if err != nil {
		j.journal.snapshots.inc("failed")
	} else {
		j.journal.snapshots.inc("ok")
		j.journal.snapshotSize.Set(float64(bytes))
	}
	j.journal.snapshotTook.Observe(d.Seconds())
}

var _ persistence.Observer = Journal{}
