package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// BenchmarkJournal keeps facts in a journal, reads them again, and measures the parts
// of that work alone on the same facts in the same blocks: each x is a ratio to one of
// them. Take -benchtime 2000000x for a run of two million facts.
func BenchmarkJournal(b *testing.B) {
	for _, level := range persistence.Durabilities() {
		for _, wave := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("durability=%s/wave=%d", level, wave), func(b *testing.B) {
				o := journalOptions{Facts: max(b.N, 4*wave), Size: 96, Batch: 4096, Wave: wave, Durability: level, Dir: b.TempDir()}
				r, err := runJournal(o)
				if err != nil {
					b.Fatal(err)
				}
				l, err := measureJournalLimits(o, r)
				if err != nil {
					b.Fatal(err)
				}
				for unit, v := range map[string]float64{
					"ns/op": 1e9 / r.PerSecond, "facts/s": r.PerSecond, "cpu-ns/op": r.CPUNsPer, "allocs/op": r.AllocsPer, "disk-B/op": r.WrittenPer,
					"facts/sync": r.PerSync, "sync-s": l.SyncSeconds, "pebble-cpu-ns/op": l.PebbleCPU, "x-amplification": r.Amplification, "wait-s": r.WaitSeconds, "stall-s": r.StallSeconds,
					"x-pebble": l.OfPebble, "x-packed": l.OfPacked, "x-sealed": l.SealedToPacked, "x-stages": l.ToStages, "x-file": l.OfFile, "x-copy": l.OfCopy,
					"read-facts/s": r.ReadPerSecond, "verify-facts/s": r.VerifyPerSecond, "scan-facts/s": r.ScanPerSecond,
				} {
					b.ReportMetric(v, unit)
				}
			})
		}
	}
}

// What is written to measure the limits is what the journal writes: the same
// facts in blocks of the same size.
func TestLimitsWriteTheSameBlocks(t *testing.T) {
	o := journalOptions{Facts: 9000, Size: 50, Batch: 700, Wave: 2000, Durability: persistence.Process, Dir: t.TempDir()}
	r, err := runJournal(o)
	if err != nil {
		t.Fatal(err)
	}
	raw, value, facts := 0, 0, 0
	for _, b := range blocksOf(o, ring(o.Size)) {
		raw, value, facts = raw+len(b.raw), value+len(b.value)+len(b.entry), facts+b.facts
	}
	whole := float64(facts) / float64(o.Facts)
	if facts < 8000 || float64(raw) > r.FactBytes*float64(facts)*1.01 || float64(raw) < r.FactBytes*float64(facts)*0.99 {
		t.Errorf("%d facts in %d bytes; the journal has %.1f each", facts, raw, r.FactBytes)
	}
	if kept := r.StoredPer * float64(o.Facts) * whole; float64(value) > kept*1.01 || float64(value) < kept*0.99 {
		t.Errorf("blocks and index entries of %d bytes; the journal stored %.0f", value, r.StoredPer*float64(o.Facts)*whole)
	}
	if r.Syncs != 0 || r.Amplification < 0.9 || r.DiskPer == 0 || r.ScanFound != 1+(o.Facts-1-ringFacts/2)/ringFacts {
		t.Errorf("%+v", r)
	}
}

// journalOptions say what to keep.
type journalOptions struct {
	Facts      int
	Size       int // bytes of a fact's data
	Batch      int // facts of a block
	Wave       int // facts of a wave
	Durability persistence.Durability
	Dir        string
}

// journalCost is what keeping facts cost.
type journalCost struct {
	Facts         int
	FactBytes     float64 // before compression, with time, actor and kind
	PerSecond     float64 // until the last wave is durable
	CPUNsPer      float64 // of all cores
	AllocsPer     float64
	StoredPer     float64 // given to the database: blocks and index
	WrittenPer    float64 // to the disk: log, tables, compactions
	DiskPer       float64 // that the closed store takes
	Amplification float64 // written to the disk / given to the database
	Syncs         int64   // of the database's log
	PerSync       float64 // 0 without syncs
	WaitSeconds   float64 // that Append and CloseWave waited for the disk
	StallSeconds  float64 // that commits waited for tables to be written

	ReadPerSecond   float64 // every fact, in order
	VerifyPerSecond float64 // with chain and index
	ScanPerSecond   float64 // facts of the journal per second, to find those of a rare actor by the index
	ScanFound       int
}

// runJournal keeps facts in a store of its own and reads them again.
func runJournal(o journalOptions) (r journalCost, err error) {
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
func keep(j *persistence.Journal, o journalOptions) (r journalCost, err error) {
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
	r = journalCost{Facts: o.Facts}
	r.CPUNsPer, r.AllocsPer = float64(cpuTime()-cpu)/n, float64(memStats().Mallocs-before.Mallocs)/n
	r.FactBytes, r.PerSecond = float64(last.Total)/n, n/wall
	return r, nil
}

// disk says what became of the bytes.
func (r *journalCost) disk(m persistence.Metrics, w *storeWatch) {
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
func (r *journalCost) read(j *persistence.Journal) error {
	found := 0
	count := func(protocol.Record) error { found++; return nil } //nolint:unparam // the signature is the journal's
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

func blocksOf(o journalOptions, facts []protocol.Record) (blocks []stored) {
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
