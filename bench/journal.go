package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// JournalOptions say what to keep. Zero fields take the defaults.
type JournalOptions struct {
	Facts      int                    // default 2,000,000
	Size       int                    // bytes of a fact's data; default 96
	Batch      int                    // facts of a block; default 4,096
	Wave       int                    // facts of a wave; default 10,000
	Durability persistence.Durability // default process
	Dir        string                 // default a temporary one, removed afterwards
}

func (o JournalOptions) withDefaults() JournalOptions {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&o.Facts, 2_000_000)
	set(&o.Size, 96)
	set(&o.Batch, 4096)
	set(&o.Wave, 10_000)
	if o.Durability == "" {
		o.Durability = persistence.Process
	}
	return o
}

// Journal is what keeping facts cost.
type Journal struct {
	Durability    string  `json:"durability"`
	Facts         int     `json:"facts"`
	Wave          int     `json:"wave_facts"`
	Batch         int     `json:"batch_facts"`
	FactBytes     float64 `json:"bytes_per_fact"` // before compression, with time, actor and kind
	WallSeconds   float64 `json:"wall_seconds"`   // until the last wave is durable
	PerSecond     float64 `json:"facts_per_second"`
	MBPerSecond   float64 `json:"megabytes_per_second"` // of facts, before compression
	CPUNsPer      float64 `json:"cpu_ns_per_fact"`      // of all cores
	AllocsPer     float64 `json:"allocs_per_fact"`
	StoredPer     float64 `json:"stored_bytes_per_fact"`  // given to the database: blocks and index
	WrittenPer    float64 `json:"written_bytes_per_fact"` // to the disk: log, tables, compactions
	DiskPer       float64 `json:"disk_bytes_per_fact"`    // that the closed store takes
	Amplification float64 `json:"write_amplification"`    // written to the disk / given to the database
	Syncs         int64   `json:"syncs"`                  // of the database's log
	PerSync       float64 `json:"facts_per_sync"`         // 0 without syncs
	WaitSeconds   float64 `json:"wait_seconds"`           // that Append and CloseWave waited for the disk
	StallSeconds  float64 `json:"stall_seconds"`          // that commits waited for tables to be written

	ReadPerSecond   float64 `json:"read_facts_per_second"`   // every fact, in order
	VerifyPerSecond float64 `json:"verify_facts_per_second"` // with chain and index
	ScanPerSecond   float64 `json:"scan_facts_per_second"`   // facts of the journal per second, to find those of a rare actor by the index
	ScanFound       int     `json:"scan_found"`
	Digest          string  `json:"digest"`
}

// RunJournal keeps facts in a store of its own and reads them again.
func RunJournal(o JournalOptions) (r Journal, err error) {
	o = o.withDefaults()
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "simd-bench-"); err != nil {
			return r, err
		}
		defer os.RemoveAll(o.Dir)
	}
	watch := &storeWatch{}
	s, err := persistence.Open(o.Dir+"/journal", persistence.Options{Durability: o.Durability, BatchFacts: o.Batch, Observer: watch})
	if err != nil {
		return r, err
	}
	defer s.Close()
	j, err := s.Journal("bench")
	if err != nil {
		return r, err
	}
	if r, err = keep(j, o); err != nil {
		return r, err
	}
	r.disk(s.Metrics(), watch)
	if err := r.read(j); err != nil {
		return r, err
	}
	return r, s.Close()
}

// keep appends all facts and waits until the last is durable.
func keep(j *persistence.Journal, o JournalOptions) (r Journal, err error) {
	facts := ring(o.Size)
	runtime.GC()
	before, cpu, start := memStats(), cpuTime(), time.Now()
	for i := range o.Facts {
		f := &facts[i%len(facts)]
		if _, err = j.Append(protocol.Time(i/o.Wave), f.Actor, f.Kind, f.Data); err == nil && i%o.Wave == o.Wave-1 {
			_, err = j.CloseWave(nil)
		}
		if err != nil {
			return r, err
		}
	}
	last, err := j.Sync(context.Background())
	if err != nil {
		return r, err
	}
	wall, n := time.Since(start).Seconds(), float64(o.Facts)
	r = Journal{Durability: string(o.Durability), Facts: o.Facts, Wave: o.Wave, Batch: o.Batch, WallSeconds: wall, Digest: last.Digest.String()}
	r.CPUNsPer, r.AllocsPer = float64(cpuTime()-cpu)/n, float64(memStats().Mallocs-before.Mallocs)/n
	r.FactBytes, r.PerSecond, r.MBPerSecond = float64(last.Total)/n, n/wall, float64(last.Total)/wall/1e6
	return r, nil
}

// disk says what became of the bytes.
func (r *Journal) disk(m persistence.Metrics, w *storeWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, stored := float64(r.Facts), float64(w.stored)
	written := float64(m.WALWritten) + float64(m.FlushedBytes) + float64(m.CompactedBytes)
	r.StoredPer, r.WrittenPer, r.DiskPer, r.Amplification = stored/n, written/n, float64(m.DiskUsage)/n, written/stored
	r.WaitSeconds, r.StallSeconds, r.Syncs = w.waited.Seconds(), m.WriteStallTime.Seconds(), m.WALSyncs
	if r.Syncs > 0 {
		r.PerSync = n / float64(r.Syncs)
	}
}

// read walks the journal in the three ways in which it is walked.
func (r *Journal) read(j *persistence.Journal) error {
	found := 0
	count := func(protocol.Record) error { found++; return nil }
	rate := func(walk func() error) (perSecond float64, err error) {
		start := time.Now()
		err = walk()
		return float64(r.Facts) / time.Since(start).Seconds(), err
	}
	var err error
	if r.ReadPerSecond, err = rate(func() error { return j.Read(0, count) }); err != nil {
		return err
	}
	if found != r.Facts {
		return protocol.Errorf(protocol.KindInternal, "bench: %d facts were kept and %d read", r.Facts, found)
	}
	found = 0
	if r.ScanPerSecond, err = rate(func() error { return j.Scan(persistence.Query{Kinds: []string{rareKind}}, count) }); err != nil {
		return err
	}
	r.ScanFound = found
	r.VerifyPerSecond, err = rate(func() error {
		report, err := j.Verify(context.Background(), nil)
		if err == nil {
			err = report.Damage
		}
		return err
	})
	return err
}

// storeWatch adds up what a journal's goroutines tell.
type storeWatch struct {
	mu     sync.Mutex // guards what follows
	stored int
	waited time.Duration
}

// BlockStored implements persistence.Observer.
func (w *storeWatch) BlockStored(_ string, _, _, stored int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored += stored
}

// Waited implements persistence.Observer.
func (w *storeWatch) Waited(_ string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited += d
}

// WaveKept implements persistence.Observer.
func (*storeWatch) WaveKept(string, persistence.Wave, time.Duration, time.Duration) {}

// SnapshotSaved implements persistence.Observer.
func (*storeWatch) SnapshotSaved(string, int64, time.Duration, error) {}

// ringFacts is how many different facts are kept, again and again: two of the
// largest common blocks.
const ringFacts = 8192

// rareKind is the kind of one fact of the ring.
const rareKind = "bench.rare"

// ring makes facts like those of a market, which compress to about a fifth:
// names that repeat, data in which one byte of twelve is drawn.
func ring(size int) []protocol.Record {
	facts := make([]protocol.Record, ringFacts)
	d := protocol.NewDraw(1)
	words := "the trader offers herbs and wood for seven coins to whoever comes first "
	for i := range facts {
		data := make([]byte, size)
		for k := range data {
			if data[k] = words[k%len(words)]; k%12 == 0 {
				data[k] = byte('0' + d.IntN(10))
			}
		}
		facts[i] = protocol.Record{Actor: fmt.Sprintf("trader_%05d", i*13%ringFacts), Kind: "agent.turn_ended", Data: data}
	}
	facts[ringFacts/2].Kind = rareKind
	return facts
}

// stored are the blocks of some waves as the journal makes them, and the facts'
// bytes in them: what the limits write.
type stored struct {
	value   []byte
	entry   []byte // of the index
	raw     []byte
	facts   int
	closing bool
}

func blocksOf(o JournalOptions, facts []protocol.Record) (blocks []stored) {
	summary := format.NewSummary(o.Batch, 0)
	raw, count := []byte(nil), 0
	for i := range min(o.Facts, max(4*o.Wave, len(facts))) {
		f := &facts[i%len(facts)]
		at := protocol.Time(i / o.Wave)
		raw, count = format.AppendFact(raw, at, f.Actor, f.Kind, f.Data), count+1
		summary.Add(at, f.Actor, f.Kind)
		closing := i%o.Wave == o.Wave-1
		if closing || count == o.Batch || len(raw)+format.FactSize(f.Actor, f.Kind, f.Data) > 1<<20 {
			h := &format.Header{First: uint64(i - count + 2), Wave: uint64(i/o.Wave + 1), Count: count, Raw: len(raw), Closing: closing, WaveFirst: 1}
			blocks = append(blocks, sealed(h, raw, summary))
			raw, count = nil, 0
			summary.Reset()
		}
	}
	return blocks
}

func sealed(h *format.Header, raw []byte, s *format.Summary) stored {
	b := stored{value: format.AppendBlock(nil, h, raw), raw: raw, facts: h.Count, closing: h.Closing}
	e := format.Entry{Header: *h, Stored: len(b.value)}
	s.Fill(&e, nil)
	b.entry = format.AppendEntry(nil, &e)
	return b
}
