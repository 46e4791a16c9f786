package history

import (
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Journal is what a history is read from: the facts of one scene in waves, and
// snapshots. Nobody else needs to write it for that, and somebody may:
// *persistence.Journal is one, of a live scene or of a directory that is only read.
type Journal interface {
	Begin() persistence.Wave
	Durable() persistence.Wave
	Wave(number uint64) (persistence.Wave, error)
	Waves(from uint64, yield func(persistence.Wave) error) error
	Scan(q persistence.Query, yield func(protocol.Record) error) error
	SnapshotAt(wave uint64) (*persistence.Snapshot, error)
}

// Writer is a Journal that takes a wave more.
type Writer interface {
	Journal
	Append(at protocol.Time, actor, kind string, data []byte) (uint64, error)
	CloseWave(done func(persistence.Wave, error)) (uint64, error)
}
