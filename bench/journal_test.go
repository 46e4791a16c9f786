package bench

import (
	"fmt"
	"testing"

	"tavernsim/persistence"
)

func BenchmarkJournal(b *testing.B) {
	for _, level := range persistence.Durabilities() {
		for _, wave := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("durability=%s/wave=%d", level, wave), func(b *testing.B) {
				o := JournalOptions{Facts: max(b.N, 4*wave), Wave: wave, Durability: level, Dir: b.TempDir()}
				r, err := RunJournal(o)
				if err != nil {
					b.Fatal(err)
				}
				l, err := MeasureJournalLimits(o, r)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(1e9/r.PerSecond, "ns/op")
				b.ReportMetric(r.PerSecond, "facts/s")
				b.ReportMetric(r.CPUNsPer, "cpu-ns/op")
				b.ReportMetric(r.WrittenPer, "disk-B/op")
				b.ReportMetric(r.PerSync, "facts/sync")
				b.ReportMetric(l.OfPebble, "x-pebble")
				b.ReportMetric(l.SealedToPacked, "x-sealed")
				b.ReportMetric(r.ReadPerSecond, "read-facts/s")
			})
		}
	}
}

// What is written to measure the limits is what the journal writes: the same
// facts in blocks of the same size.
func TestLimitsWriteTheSameBlocks(t *testing.T) {
	o := JournalOptions{Facts: 9000, Size: 50, Batch: 700, Wave: 2000, Durability: persistence.Process, Dir: t.TempDir()}.withDefaults()
	r, err := RunJournal(o)
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
