package bench

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/persistence"
)

// JournalLimits are what the parts of the journal reach alone, in facts per
// second: the same blocks, made beforehand, without hashing, encoding and
// indexing anything.
type JournalLimits struct {
	Pebble    float64 `json:"pebble_facts_per_second"` // bare batches of the blocks' facts; at process without waiting for anything
	Packed    float64 `json:"packed_facts_per_second"` // the same of blocks that were compressed before
	File      float64 `json:"file_facts_per_second"`   // compressed blocks appended to a file; 0 at memory
	Copy      float64 `json:"copy_facts_per_second"`   // the facts' bytes copied in memory
	PebbleCPU float64 `json:"pebble_cpu_ns_per_fact"`  // of the first

	OfPebble float64 `json:"ratio_to_pebble"` // the journal's facts per second to each
	OfPacked float64 `json:"ratio_to_packed"`
	OfFile   float64 `json:"ratio_to_file"`
	OfCopy   float64 `json:"ratio_to_copy"`

	SyncSeconds float64 `json:"sync_seconds"` // of the file, the mean; at power only
}

// MeasureJournalLimits measures the parts for the shape of a run.
func MeasureJournalLimits(o JournalOptions, r Journal) (l JournalLimits, err error) {
	o = o.withDefaults()
	if o.Dir, err = os.MkdirTemp(o.Dir, "simd-limit-"); err != nil {
		return l, err
	}
	defer os.RemoveAll(o.Dir)
	blocks := blocksOf(o, ring(o.Size))
	if len(blocks) == 0 {
		return l, nil
	}
	cpu := cpuTime()
	if l.Pebble, err = pebbleLimit(o, blocks, func(b *stored) []byte { return b.raw }); err != nil {
		return l, err
	}
	l.PebbleCPU = float64(cpuTime()-cpu) / float64(o.Facts)
	if l.Packed, err = pebbleLimit(o, blocks, func(b *stored) []byte { return b.value }); err != nil {
		return l, err
	}
	if l.File, l.SyncSeconds, err = fileLimit(o, blocks); err != nil {
		return l, err
	}
	l.Copy = copyLimit(o, blocks)
	ratio := func(limit float64) float64 {
		if limit == 0 {
			return 0
		}
		return r.PerSecond / limit
	}
	l.OfPebble, l.OfPacked, l.OfFile, l.OfCopy = ratio(l.Pebble), ratio(l.Packed), ratio(l.File), ratio(l.Copy)
	return l, nil
}

// each hands over blocks, again and again, until as many facts as the run kept
// are in them, and gives facts per second.
func each(o JournalOptions, blocks []stored, write func(n int, b *stored) error) (float64, error) {
	facts, start := 0, time.Now()
	for n := 0; facts < o.Facts; n++ {
		b := &blocks[n%len(blocks)]
		if err := write(n, b); err != nil {
			return 0, err
		}
		facts += b.facts
	}
	return float64(facts) / time.Since(start).Seconds(), nil
}

func pebbleLimit(o JournalOptions, blocks []stored, value func(*stored) []byte) (perSecond float64, err error) {
	dir, err := os.MkdirTemp(o.Dir, "pebble-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	opts := &pebble.Options{FormatMajorVersion: pebble.FormatNewest, MemTableSize: 64 << 20, MemTableStopWritesThreshold: 4, Logger: silent{}}
	for i := range opts.Levels {
		opts.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	if o.Durability == persistence.Memory {
		opts.FS, opts.DisableWAL = vfs.NewMem(), true
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return each(o, blocks, func(n int, b *stored) error {
		sync := pebble.NoSync
		if b.closing && o.Durability == persistence.Power {
			sync = pebble.Sync
		}
		batch := db.NewBatch()
		if err := batch.Set(binary.BigEndian.AppendUint64(nil, uint64(n)), value(b), nil); err != nil {
			return err
		}
		if err := batch.Commit(sync); err != nil {
			return err
		}
		return batch.Close()
	})
}

// fileLimit writes each block to a file; at power it syncs at the end of a wave.
func fileLimit(o JournalOptions, blocks []stored) (perSecond, sync float64, err error) {
	if o.Durability == persistence.Memory {
		return 0, 0, nil
	}
	f, err := os.Create(filepath.Join(o.Dir, "file"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	syncs, spent := 0, time.Duration(0)
	perSecond, err = each(o, blocks, func(_ int, b *stored) error {
		if _, err := f.Write(b.value); err != nil || !b.closing || o.Durability != persistence.Power {
			return err
		}
		start := time.Now()
		defer func() { spent += time.Since(start) }()
		syncs++
		return f.Sync()
	})
	if syncs > 0 {
		sync = spent.Seconds() / float64(syncs)
	}
	return perSecond, sync, err
}

func copyLimit(o JournalOptions, blocks []stored) float64 {
	var to []byte
	perSecond, _ := each(o, blocks, func(_ int, b *stored) error {
		to = append(to[:0], b.raw...)
		return nil
	})
	return perSecond
}
