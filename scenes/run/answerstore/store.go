// Package answerstore opens the folder that keeps answers of models for later runs: the database of
// an llm/store. The caller of [Open] closes it.
//
// # Not here
//
// Which request gets which answer (llm/store).
package answerstore

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"tavernsim/llm/store"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// markFile is a file in the folder of a store, so that no other database is taken for one.
const markFile = "ANSWERS"

// table is how many bytes of a store are collected before a table is written.
const table = 4 << 20

// Open opens the answers of models that are kept in a folder, or begins them in a new
// or empty one. One process has a store at a time. The caller closes it.
func Open(dir string, log *slog.Logger, tell func(string)) (*store.Store, error) {
	if err := claim(dir); err != nil {
		return nil, err
	}
	db, err := pebbledb.Open(filepath.Join(dir, "db"), pebbledb.Options{Level: pebbledb.Process, MemTableSize: table, Log: log})
	switch kind := protocol.KindOf(err); {
	case err == nil:
	case kind == protocol.KindConflict:
		return nil, protocol.Errorf(kind, "store %s: another process uses it; wait for its end, or name another folder (%w)", dir, err)
	case kind == protocol.KindDenied, kind == protocol.KindLimit:
		return nil, protocol.Errorf(kind, "store %s: %w", dir, err)
	default: // files are missing, or are not what they were
		return nil, protocol.Errorf(protocol.KindCorrupt, "store %s: it is damaged: %w", dir, err)
	}
	return store.New(database{db}, store.Options{Name: dir, Tell: tell}), nil
}

// claim makes the folder of a store, or finds that it is one.
func claim(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return protocol.Errorf(protocol.KindDenied, "store %s: %w", dir, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return protocol.Errorf(protocol.KindDenied, "store %s: %w", dir, err)
	}
	mark := filepath.Join(dir, markFile)
	if _, err := os.Stat(mark); err == nil {
		return nil
	} else if len(files) > 0 && errors.Is(err, os.ErrNotExist) {
		return protocol.Errorf(protocol.KindConflict, "store %s: the folder has other files, and is no store of answers; name a new or empty one", dir)
	}
	if err := os.WriteFile(mark, []byte("Answers of models, kept by simd run --store. Delete the folder to forget them.\n"), 0o600); err != nil {
		return protocol.Errorf(protocol.KindDenied, "store %s: %w", dir, err)
	}
	return nil
}

// database is the database of a store.
type database struct{ *pebbledb.DB }

// Set implements store.DB.
func (d database) Set(key, value []byte) error {
	b := d.NewBatch()
	b.Set(key, value)
	b.Start(false)
	return b.Wait()
}

// Bytes implements store.DB.
func (d database) Bytes() uint64 { return d.Metrics().DiskUsage }
