package persistencetest

import (
	"context"
	"iter"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Writer is the half of a journal that takes facts.
type Writer interface {
	Append(at protocol.Time, actor, kind string, data []byte) (uint64, error)
	AppendSheaf(*format.Sheaf) error
	CloseWave(done func(persistence.Wave, error)) (uint64, error)
	CloseWaveLater(done func(persistence.Wave, error)) (uint64, error)
	Note(data []byte)
}

// Journal is all that *persistence.Journal can do.
// Whoever uses a journal names the part of it that he needs (scenes.Journal,
// outside.Journal, history.Journal); a test there holds this to be all of them.
type Journal interface {
	Writer
	Sync(ctx context.Context) (persistence.Wave, error)
	Durable() persistence.Wave
	Begin() persistence.Wave
	Pending() uint64
	Read(from uint64, yield func(protocol.Record) error) error
	Scan(q persistence.Query, yield func(protocol.Record) error) error
	Follow(ctx context.Context, from uint64, yield func(protocol.Record) error) error
	Waves(from uint64, yield func(persistence.Wave) error) error
	Wave(number uint64) (persistence.Wave, error)
	SaveSnapshot(wave uint64, states iter.Seq2[string, []byte]) error
	LatestSnapshot() (*persistence.Snapshot, error)
	SnapshotAt(wave uint64) (*persistence.Snapshot, error)
	NoteAt(seq uint64) (last uint64, note []byte, err error)
	Drop(wave uint64) error
	Forget(wave uint64) error
	Err() error
	Close() error
}
