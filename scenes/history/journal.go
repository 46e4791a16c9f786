package history

import (
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Journal gives the facts of one scene in waves, and snapshots. *persistence.Journal is
// one, also while a live scene appends to it.
type Journal interface {
	Begin() persistence.Wave
	Durable() persistence.Wave
	Wave(number uint64) (persistence.Wave, error)
	Waves(from uint64, yield func(persistence.Wave) error) error
	Scan(q persistence.Query, yield func(protocol.Record) error) error
	SnapshotAt(wave uint64) (*persistence.Snapshot, error)
}

// Writer is a Journal to which one more wave can be appended.
type Writer interface {
	Journal
	Append(at protocol.Time, actor, kind string, data []byte) (uint64, error)
	CloseWave(done func(persistence.Wave, error)) (uint64, error)
}
