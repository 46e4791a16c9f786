package pebbledb

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// afterOpen lets no compaction begin before Open has ended. One that runs while Open fails reads tables
// through a cache that Open closes, and its panic ends the process. Afterwards Pebble asks after each flush
// and each compaction, so the scheduler below, which Pebble names for tests, needs no ticker.
type afterOpen struct {
	*pebble.ConcurrencyLimitScheduler

	db     pebble.DBForCompaction
	opened atomic.Bool
}

func newAfterOpen() *afterOpen {
	return &afterOpen{ConcurrencyLimitScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *afterOpen) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !s.opened.Load() {
		return false, nil
	}
	return s.ConcurrencyLimitScheduler.TrySchedule()
}

// Register implements pebble.CompactionScheduler.
func (s *afterOpen) Register(n int, db pebble.DBForCompaction) {
	s.db = db
	s.ConcurrencyLimitScheduler.Register(n, db)
}

// start begins the compactions that have waited for the end of Open. Without them a database with many tables
// would take no write, and wait for ever.
func (s *afterOpen) start() {
	s.opened.Store(true)
	for {
		if waits, _ := s.db.GetWaitingCompaction(); !waits {
			return
		}
		granted, handle := s.TrySchedule()
		if !granted {
			return
		}
		if !s.db.Schedule(handle) {
			handle.Done()
			return
		}
	}
}
