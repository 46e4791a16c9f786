package pebbledb

import (
	"github.com/cockroachdb/pebble/v2"

	"tavernsim/protocol"
)

// Batch is a set of changes that are kept all or not at all.
type Batch struct {
	db     *DB
	b      changes // nil when the database was closed
	synced bool
	err    error
}

// changes is a *pebble.Batch: see of.
type changes interface {
	Set(key, value []byte, o *pebble.WriteOptions) error
	DeleteRange(lower, upper []byte, o *pebble.WriteOptions) error
	SyncWait() error
	Close() error
}

// NewBatch begins one. It ends with Wait, also where Start has failed.
func (db *DB) NewBatch() *Batch {
	if err := db.enter(); err != nil {
		return &Batch{db: db, err: err}
	}
	return &Batch{db: db, b: of(db).NewBatch()}
}

// Set copies key and value.
func (b *Batch) Set(key, value []byte) {
	if b.b != nil {
		b.keep(b.b.Set(key, value, nil))
	}
}

// DeleteRange removes the keys from lower up to but without upper.
func (b *Batch) DeleteRange(lower, upper []byte) {
	if b.b != nil {
		b.keep(b.b.DeleteRange(lower, upper, nil))
	}
}

func (b *Batch) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Start hands the batch over: readers see it, and it is durable after every
// batch started before. With durable, Wait waits until it is; without, it is
// durable when a later one is. Start waits while too much is waiting for the
// disk.
func (b *Batch) Start(durable bool) {
	if b.keep(b.db.Err()); b.err != nil {
		return
	}
	switch {
	case !durable || b.db.level == Memory:
		b.keep(of(b.db).Apply(b.b.(*pebble.Batch), pebble.NoSync))
	default:
		b.synced = true
		b.keep(of(b.db).ApplyNoSyncWait(b.b.(*pebble.Batch), pebble.Sync))
	}
}

// Wait answers when the batch is as durable as Start was asked to make it, or
// cannot become so.
func (b *Batch) Wait() error {
	if b.b != nil {
		if b.synced {
			b.keep(b.b.SyncWait())
		}
		b.keep(b.b.Close())
		b.b = nil
		b.db.leave()
	}
	if err := b.db.Err(); err != nil {
		return err
	}
	if b.err != nil && protocol.KindOf(b.err) == protocol.KindInternal {
		return protocol.Errorf(protocol.KindTransient, "journal store: commit: %w", b.err)
	}
	return b.err
}

// Commit is Start and Wait.
func (b *Batch) Commit() error {
	b.Start(true)
	return b.Wait()
}

// Sync makes durable what was started before.
func (db *DB) Sync() error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	if err := db.Err(); err != nil {
		return err
	}
	err := of(db).LogData(nil, pebble.Sync)
	if failed := db.Err(); failed != nil {
		return failed
	}
	if err != nil {
		return protocol.Errorf(protocol.KindTransient, "journal store: sync: %w", err)
	}
	return nil
}

// Flush writes what the log holds as tables, without what was deleted since. It
// saves room, no more: where it fails the log stays.
func (db *DB) Flush() {
	if db.enter() == nil {
		defer db.leave()
		_ = of(db).Flush()
	}
}

// Iter walks keys in order over what was there when it was made.
type Iter struct {
	db *DB
	it cursor // nil after Close
}

// cursor is a *pebble.Iterator: see of.
type cursor interface {
	First() bool
	Last() bool
	Next() bool
	Prev() bool
	SeekGE(key []byte) bool
	SeekLT(key []byte) bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	Close() error
}

// NewIter begins one over the keys from lower up to but without upper. It ends
// with Close.
func (db *DB) NewIter(lower, upper []byte) (*Iter, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	it, err := of(db).NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		db.leave()
		return nil, readError(err)
	}
	return &Iter{db, it}, nil
}

// First, Last, Next, Prev, SeekGE and SeekLT move and report whether they
// arrived at a key; where not, Close says whether an error was the reason.

func (i *Iter) First() bool            { return i.it.First() }
func (i *Iter) Last() bool             { return i.it.Last() }
func (i *Iter) Next() bool             { return i.it.Next() }
func (i *Iter) Prev() bool             { return i.it.Prev() }
func (i *Iter) SeekGE(key []byte) bool { return i.it.SeekGE(key) }
func (i *Iter) SeekLT(key []byte) bool { return i.it.SeekLT(key) }

// Key is good until the next move.
func (i *Iter) Key() []byte { return i.it.Key() }

// Value is good until the next move.
func (i *Iter) Value() ([]byte, error) {
	v, err := i.it.ValueAndErr()
	return v, readError(err)
}

// Close ends the walk and returns what cut it short, if anything did. The second
// Close does nothing.
func (i *Iter) Close() error {
	if i.it == nil {
		return nil
	}
	err := i.it.Close()
	i.it = nil
	i.db.leave()
	return readError(err)
}
