package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tavernsim/bench"
	"tavernsim/persistence"
)

type benchJournalOptions struct {
	facts, size, batch, wave int
	durability               []string
	count                    int
	benchForm
}

func newBenchJournal(e *env) *cobra.Command {
	var o benchJournalOptions
	c := &cobra.Command{
		Use:   "journal",
		Short: "Keep facts at each level of durability, and read them again",
		Long: `Write facts into a journal, in waves, as fast as it accepts them, and read them
again. Then measure the parts: the cost of a fact before it is in a block, the
finished blocks as the journal stores them, and the same blocks without the
journal: in bare database batches, to a file, in memory.

Absolute times depend on the machine and its other users; compare the ratios.`,
		Example: `  simd bench journal
  simd bench journal --durability power --wave 100 --facts 500000
  simd bench journal --count 10 --gobench > new.txt   # then: benchstat old.txt new.txt`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.IntVar(&o.facts, "facts", 2_000_000, "number of facts")
	f.IntVar(&o.size, "size", 96, "bytes of a fact's data")
	f.IntVar(&o.batch, "batch", 4096, "facts of a block")
	f.IntVar(&o.wave, "wave", 10_000, "facts of a wave")
	f.StringSliceVar(&o.durability, "durability", []string{"memory", "process", "power"}, "levels")
	f.IntVar(&o.count, "count", 1, "number of runs")
	o.register(f, "one JSON object per run")
	least(f, 1, "facts", "size", "batch", "wave", "count")
	return c
}

func (o *benchJournalOptions) check() error {
	if err := o.benchForm.check(); err != nil {
		return err
	}
	for _, name := range o.durability {
		level, err := persistence.ParseDurability(name)
		if err == nil {
			err = persistence.Options{Durability: level, BatchFacts: o.batch}.Validate()
		}
		if err != nil {
			return usageError{fmt.Errorf("bench journal: --durability %s, --batch %d: %w", name, o.batch, err)}
		}
	}
	return nil
}

func (o *benchJournalOptions) run(e *env) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.gobench {
		fmt.Fprintf(e.out, "Unit facts/s better=higher\nUnit x-pebble better=higher\nUnit x-sealed better=higher\nUnit disk-B/op better=lower\n")
	}
	for range o.count {
		for _, name := range o.durability {
			opt := bench.JournalOptions{Facts: o.facts, Size: o.size, Batch: o.batch, Wave: o.wave, Durability: persistence.Durability(name)}
			r, err := bench.RunJournal(opt)
			if err != nil {
				return err
			}
			l, err := bench.MeasureJournalLimits(opt, r)
			if err != nil {
				return err
			}
			if err := o.show(e.out, r, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *benchJournalOptions) show(w io.Writer, r bench.Journal, l bench.JournalLimits) error {
	return o.print(w, map[string]any{"journal": r, "limits": l}, func(w io.Writer) error { return gobenchJournal(w, r, l) }, func(t *benchTable) { showJournal(t, r, l) })
}

func gobenchJournal(w io.Writer, r bench.Journal, l bench.JournalLimits) error {
	_, err := fmt.Fprintf(w, "BenchmarkJournal/durability=%s/wave=%d/batch=%d %d %.1f ns/op %.0f facts/s %.1f cpu-ns/op %.1f disk-B/op %.3f allocs/op %.0f facts/sync %.2f x-amplification %.3f x-pebble %.3f x-packed %.3f x-sealed %.2f x-stages %.3f x-file %.4f x-copy %.0f read-facts/s\n",
		r.Durability, r.Wave, r.Batch, r.Facts, 1e9/r.PerSecond, r.PerSecond, r.CPUNsPer, r.WrittenPer, r.AllocsPer, r.PerSync, r.Amplification, l.OfPebble, l.OfPacked, l.SealedToPacked, l.ToStages, l.OfFile, l.OfCopy, r.ReadPerSecond)
	return err
}

func showJournal(t *benchTable, r bench.Journal, l bench.JournalLimits) {
	per := func(n float64) string { return thousands(int64(n)) + " facts/s" }
	t.head("durability %s: %s facts of %.0f bytes, waves of %s", r.Durability, thousands(int64(r.Facts)), r.FactBytes, thousands(int64(r.Wave)))
	t.row("kept", "%s, %.0f MB/s, %.0f ns CPU each", per(r.PerSecond), r.MBPerSecond, r.CPUNsPer)
	t.row("on the disk", "%.1f bytes each; %.1f given to the database, %.1f written (x%.2f)", r.DiskPer, r.StoredPer, r.WrittenPer, r.Amplification)
	t.row("waited", "%s until earlier facts were written, %s of it for tables", brief(r.WaitSeconds), brief(r.StallSeconds))
	if r.Syncs > 0 {
		t.row("syncs", "%s, %s facts each; a sync of the file takes %s", thousands(r.Syncs), thousands(int64(r.PerSync)), brief(l.SyncSeconds))
	}
	t.row("read", "%s in order, %s verified, %s searched by kind (%d found)", per(r.ReadPerSecond), per(r.VerifyPerSecond), per(r.ScanPerSecond), r.ScanFound)
	t.row("CPU of a fact", "append %.0f + hash %.0f + compress %.0f + commit %.0f = %.0f ns alone; together %.2f times that", l.Append, l.Hash, l.Compress, l.Commit, l.Stages, l.ToStages)
	t.row("finished blocks", "%s kept as the journal keeps them: %.2f of bare Pebble", per(l.Sealed), l.SealedToPacked)
	t.row("bare Pebble", "%s of the same blocks: from facts, the journal reaches %.2f of it", per(l.Packed), l.OfPacked)
	t.row("  as they are", "%s of the blocks' facts, not compressed, %.0f ns CPU each: %.2f of it", per(l.Pebble), l.PebbleCPU, l.OfPebble)
	if l.File > 0 {
		t.row("bare file", "%s: %.2f of it", per(l.File), l.OfFile)
	}
	t.row("memory copy", "%s: %.4f of it", per(l.Copy), l.OfCopy)
}
