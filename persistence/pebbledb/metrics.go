package pebbledb

import (
	"sync"
	"time"
)

// Metrics is what the database says about itself. Counters count from Open.
type Metrics struct {
	DiskUsage         uint64 // bytes of all files
	ReadAmplification int
	LevelFiles        []int64
	LevelBytes        []int64
	CompactionDebt    uint64 // bytes
	MemTables         uint64 // bytes
	Compactions       int64
	CompactedBytes    int64 // written by compactions
	Flushes           int64
	FlushedBytes      int64
	WALWritten        uint64 // bytes
	WALSyncs          int64  // that were made; none below level power
	CacheHits         int64
	CacheMisses       int64
	WriteStalls       int64 // times that commits had to wait for tables to be written
	WriteStallTime    time.Duration
}

// stalls counts the times when commits wait.
type stalls struct {
	mu    sync.Mutex // guards what follows
	count int64
	total time.Duration
	since time.Time
}

func (s *stalls) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.since = now
}

func (s *stalls) end(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += now.Sub(s.since)
	s.since = time.Time{}
}

func (s *stalls) read(now time.Time) (int64, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return s.count, s.total
	}
	return s.count, s.total + now.Sub(s.since)
}

// Metrics reads the database's counters; zeros once it is closed.
func (db *DB) Metrics() Metrics {
	if db.enter() != nil {
		return Metrics{}
	}
	defer db.leave()
	m := of(db).Metrics()
	out := Metrics{
		DiskUsage:         m.DiskSpaceUsage(),
		ReadAmplification: m.ReadAmp(),
		CompactionDebt:    m.Compact.EstimatedDebt,
		MemTables:         m.MemTable.Size,
		Compactions:       m.Compact.Count,
		Flushes:           m.Flush.Count,
		FlushedBytes:      m.Flush.WriteThroughput.Bytes,
		WALWritten:        m.WAL.BytesWritten,
		CacheHits:         m.BlockCache.Hits,
		CacheMisses:       m.BlockCache.Misses,
		WALSyncs:          db.guard.syncs.Load(),
	}
	out.WriteStalls, out.WriteStallTime = db.stalls.read(time.Now())
	for i := range m.Levels {
		out.LevelFiles = append(out.LevelFiles, m.Levels[i].TablesCount)
		out.LevelBytes = append(out.LevelBytes, m.Levels[i].TablesSize)
		out.CompactedBytes += int64(m.Levels[i].TableBytesCompacted)
	}
	return out
}
