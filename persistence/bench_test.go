package persistence_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// benchFacts is a ring of facts like those of a market, about 120 bytes each:
// names that repeat, data that half repeats.
func benchFacts() []protocol.Record {
	facts := make([]protocol.Record, 8192)
	d := protocol.NewDraw(1)
	for i := range facts {
		data := protocol.Encode(map[string]any{
			"goods": "herbs", "price": int64(d.IntN(100_000)), "count": int64(d.IntN(50)),
			"buyer": fmt.Sprintf("trader-%05d", d.IntN(100_000)), "mood": d.Float64(),
		})
		facts[i] = protocol.Record{
			Actor: fmt.Sprintf("trader-%05d", i*13%100_000), Kind: "DeliberationEnded", Data: data,
		}
	}
	return facts
}

// cpu is the processor time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure reports facts per second and processor time per fact.
func measure(b *testing.B, run func()) {
	b.ReportAllocs()
	runtime.GC()
	start, before := time.Now(), cpu()
	b.ResetTimer()
	run()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "facts/s")
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/fact")
}

// BenchmarkAppend keeps facts in waves of so many, pipelined.
func BenchmarkAppend(b *testing.B) {
	facts := benchFacts()
	for _, level := range persistence.Durabilities() {
		for _, wave := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("durability=%s/wave=%d", level, wave), func(b *testing.B) {
				s, err := persistence.Open(b.TempDir(), persistence.Options{Durability: level})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				j, err := s.Journal("market")
				if err != nil {
					b.Fatal(err)
				}
				measure(b, func() { appendAll(b, j, facts, wave) })
				b.ReportMetric(float64(j.Durable().Total)/float64(b.N), "raw-B/fact")
				b.ReportMetric(float64(s.Metrics().WALWritten)/float64(b.N), "wal-B/fact")
			})
		}
	}
}

func appendAll(b *testing.B, j *persistence.Journal, facts []protocol.Record, wave int) {
	for i := range b.N {
		f := &facts[i%len(facts)]
		if _, err := j.Append(protocol.Time(i/wave), f.Actor, f.Kind, f.Data); err != nil {
			b.Fatal(err)
		}
		if i%wave == wave-1 {
			if _, err := j.CloseWave(nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	if _, err := j.Sync(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// blocks are the stored blocks of the benchmark's facts, as the journal makes
// them: what the limits below write.
func blocks(facts []protocol.Record, per int) [][]byte {
	var out [][]byte
	for i, raw := range rawBlocks(facts, per) {
		out = append(out, format.AppendBlock(nil, &format.Header{First: uint64(i*per + 1), Wave: 1, Count: per}, raw))
	}
	return out
}

func rawBlocks(facts []protocol.Record, per int) [][]byte {
	var out [][]byte
	for first := 0; first+per <= len(facts); first += per {
		var raw []byte
		for _, f := range facts[first : first+per] {
			raw = format.AppendFact(raw, f.Time, f.Actor, f.Kind, f.Data)
		}
		out = append(out, raw)
	}
	return out
}

// BenchmarkLimitPebble writes the same bytes straight into Pebble with the same
// options: the blocks as the journal compresses them, and the facts as they are.
// It hashes and encodes nothing.
func BenchmarkLimitPebble(b *testing.B) {
	facts := benchFacts()
	for _, level := range []string{"process", "power"} {
		for _, per := range []int{1000, 4096} {
			for _, what := range []struct {
				name string
				vals [][]byte
			}{{"blocks", blocks(facts, per)}, {"facts", rawBlocks(facts, per)}} {
				b.Run(fmt.Sprintf("durability=%s/facts=%d/bytes=%s", level, per, what.name), func(b *testing.B) {
					limitPebble(b, level, per, what.vals)
				})
			}
		}
	}
}

func limitPebble(b *testing.B, level string, per int, vals [][]byte) {
	db, err := pebble.Open(b.TempDir(), &pebble.Options{
		MemTableSize: 64 << 20, MemTableStopWritesThreshold: 4, FormatMajorVersion: pebble.FormatNewest,
		Logger: quiet{},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	opts := pebble.NoSync
	if level == "power" {
		opts = pebble.Sync
	}
	measure(b, func() {
		for i := 0; i < b.N; i += per {
			if err := db.Set(fmt.Appendf(nil, "%020d", i), vals[i/per%len(vals)], opts); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

// BenchmarkLimitFile appends the same bytes to a file: compressed blocks, and
// the facts as they are.
func BenchmarkLimitFile(b *testing.B) {
	const per = 4096
	facts := benchFacts()
	for _, what := range []struct {
		name string
		data []byte
	}{{"blocks", blocks(facts, per)[0]}, {"facts", rawBlocks(facts, per)[0]}} {
		for _, level := range []string{"process", "power"} {
			b.Run(fmt.Sprintf("durability=%s/bytes=%s", level, what.name), func(b *testing.B) {
				f, err := os.Create(filepath.Join(b.TempDir(), "log"))
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				measure(b, func() {
					for i := 0; i < b.N; i += per {
						if _, err := f.Write(what.data); err != nil {
							b.Fatal(err)
						}
						if level == "power" {
							if err := f.Sync(); err != nil {
								b.Fatal(err)
							}
						}
					}
				})
			})
		}
	}
}

// BenchmarkScenes keeps small waves of several scenes side by side: group commit
// shares the syncs.
func BenchmarkScenes(b *testing.B) {
	facts := benchFacts()
	for _, level := range []persistence.Durability{persistence.Process, persistence.Power} {
		for _, scenes := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("durability=%s/wave=20/scenes=%d", level, scenes), func(b *testing.B) {
				s, err := persistence.Open(b.TempDir(), persistence.Options{Durability: level})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				measure(b, func() { appendScenes(b, s, facts, scenes) })
			})
		}
	}
}

func appendScenes(b *testing.B, s *persistence.Store, facts []protocol.Record, scenes int) {
	done := make(chan error, scenes)
	for n := range scenes {
		go func() {
			j, err := s.Journal(fmt.Sprintf("scene-%02d", n))
			for i := n; i < b.N && err == nil; i += scenes {
				f := &facts[i%len(facts)]
				if _, err = j.Append(protocol.Time(i), f.Actor, f.Kind, f.Data); err == nil && i/scenes%20 == 19 {
					_, err = j.CloseWave(nil)
				}
			}
			if err == nil {
				_, err = j.Sync(context.Background())
			}
			done <- err
		}()
	}
	for range scenes {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkRead folds a journal.
func BenchmarkRead(b *testing.B) {
	s, err := persistence.Open(b.TempDir(), persistence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	j, err := s.Journal("market")
	if err != nil {
		b.Fatal(err)
	}
	w := Workload{Seed: 1, MaxWave: 10_000, Size: 35}
	if err := w.Write(j, persistence.Wave{}, 200, nil); err != nil {
		b.Fatal(err)
	}
	last, err := j.Sync(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range []struct {
		name  string
		query persistence.Query
	}{
		{"all", persistence.Query{}},
		{"actor", persistence.Query{Actor: "trader-007"}},
		{"time", persistence.Query{Since: last.MaxTime}},
	} {
		b.Run("query="+q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := j.Scan(q.query, func(protocol.Record) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(last.Last)*float64(b.N)/b.Elapsed().Seconds(), "facts/s")
		})
	}
}

// BenchmarkSnapshot saves and finds again the states of many actors.
func BenchmarkSnapshot(b *testing.B) {
	const actors = 100_000
	facts := benchFacts()
	s, err := persistence.Open(b.TempDir(), persistence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	j, err := s.Journal("market")
	if err != nil {
		b.Fatal(err)
	}
	states := func(yield func(string, []byte) bool) {
		for i := range actors {
			if f := &facts[i%len(facts)]; !yield(f.Actor, f.Data) {
				return
			}
		}
	}
	b.Run(fmt.Sprintf("do=save/actors=%d", actors), func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := j.Append(1, "a", "k", nil); err != nil {
				b.Fatal(err)
			}
			w, err := j.Sync(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			if err := j.SaveSnapshot(w.Number, states); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(actors*float64(b.N)/b.Elapsed().Seconds(), "states/s")
	})
	b.Run(fmt.Sprintf("do=load/actors=%d", actors), func(b *testing.B) {
		for b.Loop() {
			snap, err := j.LatestSnapshot()
			if err != nil {
				b.Fatal(err)
			}
			if err := snap.Read(func(string, []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(actors*float64(b.N)/b.Elapsed().Seconds(), "states/s")
	})
}
