package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// journalLimits are what the parts of the journal reach alone, of the same facts
// in the same blocks.
type journalLimits struct {
	Sealed    float64 // finished blocks, kept as the journal keeps them: with its keys, its index and its waiting
	Packed    float64 // the same blocks in bare batches that wait for nothing below power
	Pebble    float64 // bare batches of the blocks' facts as they are
	File      float64 // finished blocks appended to a file; 0 at memory
	Copy      float64 // the facts' bytes copied in memory
	PebbleCPU float64 // of Pebble

	// CPU time of what the journal does to a fact, alone and one after the other.
	Append   float64 // into a block, with what the index will say
	Hash     float64
	Compress float64
	Commit   float64 // of Sealed, the database's goroutines included
	Stages   float64 // their sum

	SealedToPacked float64
	ToStages       float64 // the journal's CPU time to their sum
	OfPebble       float64 // the journal's facts per second to each
	OfPacked       float64
	OfFile         float64
	OfCopy         float64

	SyncSeconds float64 // of the file, the mean; at power only
}

// limitRounds is how often each side has its turn; medians count.
const limitRounds = 5

// measureJournalLimits measures the parts for the shape of a run.
func measureJournalLimits(o journalOptions, r journalCost) (l journalLimits, err error) {
	if o.Dir, err = os.MkdirTemp(o.Dir, "simd-limit-"); err != nil {
		return l, err
	}
	defer os.RemoveAll(o.Dir)
	facts := ring(o.Size)
	blocks := blocksOf(o, facts)
	if len(blocks) == 0 {
		return l, nil
	}
	l.stages(o, facts, blocks)
	if err := l.databases(o, blocks); err != nil {
		return l, err
	}
	if l.File, l.SyncSeconds, err = fileLimit(o, blocks); err != nil {
		return l, err
	}
	l.Copy = copyLimit(o, blocks)
	l.compare(r)
	return l, nil
}

func (l *journalLimits) compare(r journalCost) {
	ratio := func(limit float64) float64 {
		if limit == 0 {
			return 0
		}
		return r.PerSecond / limit
	}
	l.OfPebble, l.OfPacked, l.OfFile, l.OfCopy = ratio(l.Pebble), ratio(l.Packed), ratio(l.File), ratio(l.Copy)
	l.Stages = l.Append + l.Hash + l.Compress + l.Commit
	l.ToStages = r.CPUNsPer / l.Stages
}

// databases lets the three ways of keeping blocks in a database take turns.
func (l *journalLimits) databases(o journalOptions, blocks []stored) error {
	var sealed, commit, packed, pebbles, cpus, ratios []float64
	for range limitRounds {
		cpu := cpuTime()
		s, err := sealedLimit(o, blocks)
		if err != nil {
			return err
		}
		commit = append(commit, float64(cpuTime()-cpu)/float64(o.Facts))
		p, err := pebbleLimit(o, blocks, func(b *stored) []byte { return b.value })
		if err != nil {
			return err
		}
		cpu = cpuTime()
		raw, err := pebbleLimit(o, blocks, func(b *stored) []byte { return b.raw })
		if err != nil {
			return err
		}
		cpus = append(cpus, float64(cpuTime()-cpu)/float64(o.Facts))
		sealed, packed, pebbles, ratios = append(sealed, s), append(packed, p), append(pebbles, raw), append(ratios, s/p)
	}
	l.Sealed, l.Packed, l.Pebble, l.PebbleCPU = median(sealed), median(packed), median(pebbles), median(cpus)
	l.Commit, l.SealedToPacked = median(commit), median(ratios)
	return nil
}

// stages measures what the journal's own goroutines do to facts before the
// database has them.
func (l *journalLimits) stages(o journalOptions, facts []protocol.Record, blocks []stored) {
	kept := 0
	for i := range blocks {
		kept += blocks[i].facts
	}
	rounds := max(1, o.Facts/kept)
	per := func(once func()) float64 {
		once() // memory is there
		cpu := cpuTime()
		for range rounds {
			once()
		}
		return float64(cpuTime()-cpu) / float64(rounds*kept)
	}
	l.Append = per(appending(o, facts, kept))
	chain, buf := sha256.New(), []byte(nil)
	each := func(do func(*stored)) func() {
		return func() {
			for i := range blocks {
				do(&blocks[i])
			}
		}
	}
	l.Hash = per(each(func(b *stored) { chain.Write(b.raw) }))
	l.Compress = per(each(func(b *stored) {
		h := &format.Header{First: 1, Wave: 1, Count: b.facts, Raw: len(b.raw)}
		buf = format.AppendBlock(buf[:0], h, b.raw)
	}))
}

// appending makes blocks of facts, as the one who appends does.
func appending(o journalOptions, facts []protocol.Record, n int) func() {
	summary, raw := format.NewSummary(o.Batch, 0), []byte(nil)
	return func() {
		for i := range n {
			if i%o.Batch == 0 || i%o.Wave == 0 {
				raw = raw[:0]
				summary.Reset()
			}
			f := &facts[i%len(facts)]
			raw = format.AppendFact(raw, protocol.Time(i/o.Wave), f.Actor, f.Kind, f.Data)
			summary.Add(protocol.Time(i/o.Wave), f.Actor, f.Kind)
		}
	}
}

// sealedLimit keeps blocks as the journal's writer does from the moment on when
// they are hashed, compressed and indexed: block and index entry in one batch,
// and somebody who waits for the end of each wave while the next is written.
func sealedLimit(o journalOptions, blocks []stored) (perSecond float64, err error) {
	dir, err := os.MkdirTemp(o.Dir, "sealed-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	db, err := pebbledb.Open(dir, pebbledb.Options{Level: o.Durability, MemTableSize: 64 << 20})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	started, ended := make(chan *pebbledb.Batch, 16), make(chan error, 1)
	go func() {
		var err error
		for b := range started {
			err = errors.Join(err, b.Wait())
		}
		ended <- err
	}()
	seq := uint64(1)
	perSecond, err = each(o, blocks, func(_ int, b *stored) error {
		batch := db.NewBatch()
		batch.Set(format.AppendKey(nil, "bench", format.FamilyBlock, seq), b.value)
		batch.Set(format.AppendKey(nil, "bench", format.FamilyIndex, seq), b.entry)
		seq += uint64(b.facts)
		batch.Start(b.closing)
		if !b.closing {
			return batch.Wait()
		}
		started <- batch
		return nil
	}, func() error { close(started); return <-ended })
	return perSecond, err
}

// each hands over blocks, again and again, until as many facts as the run kept
// are in them, and gives facts per second until the end, too, was reached.
func each(o journalOptions, blocks []stored, write func(n int, b *stored) error, end func() error) (float64, error) {
	facts, start := 0, time.Now()
	for n := 0; facts < o.Facts; n++ {
		b := &blocks[n%len(blocks)]
		if err := write(n, b); err != nil {
			return 0, err
		}
		facts += b.facts
	}
	if err := end(); err != nil {
		return 0, err
	}
	return float64(facts) / time.Since(start).Seconds(), nil
}

func pebbleLimit(o journalOptions, blocks []stored, value func(*stored) []byte) (perSecond float64, err error) {
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
	}, noEnd)
}

func noEnd() error { return nil }

// fileLimit writes each block to a file; at power it syncs at the end of a wave.
func fileLimit(o journalOptions, blocks []stored) (perSecond, sync float64, err error) {
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
	}, noEnd)
	if syncs > 0 {
		sync = spent.Seconds() / float64(syncs)
	}
	return perSecond, sync, err
}

func copyLimit(o journalOptions, blocks []stored) float64 {
	var to []byte
	perSecond, _ := each(o, blocks, func(_ int, b *stored) error {
		to = append(to[:0], b.raw...)
		return nil
	}, noEnd)
	return perSecond
}
