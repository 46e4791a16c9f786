package persistence_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// rareTraces takes the first bytes of a fact for its trace: hardly two facts
// share one.
func rareTraces(rule byte) persistence.Traces {
	return persistence.Traces{Rule: rule, Of: func(_ string, data []byte, yield func([]byte)) {
		if len(data) >= 9 {
			yield(data[:9])
		}
	}}
}

func traced(rule byte) persistence.Options {
	return persistence.Options{BatchFacts: 7, Traces: rareTraces(rule)}
}

// someTrace is a trace of a fact in the middle, and its seq.
func someTrace() (trace string, seq uint64) {
	m := damageWorkload.Model(crashScene, damageWaves)
	for _, f := range m.Facts[len(m.Facts)/2:] {
		if len(f.Data) >= 9 {
			return string(f.Data[:9]), f.Seq
		}
	}
	panic("no fact of the history has a trace")
}

// scanTrace is what a query by trace gives.
func scanTrace(t *testing.T, dir string, o persistence.Options, trace string) (seqs []uint64, err error) {
	t.Helper()
	s, j := openIn(t, dir, o)
	defer s.Close()
	err = j.Scan(persistence.Query{Trace: trace}, func(r protocol.Record) error {
		seqs = append(seqs, r.Seq)
		return nil
	})
	return seqs, err
}

// TestTraceOfOldIndex: entries without traces, and entries by another rule, rule
// nothing out; to rebuild the index makes them say more.
func TestTraceOfOldIndex(t *testing.T) {
	dir := written(t) // without traces
	trace, seq := someTrace()
	want := []uint64{seq}
	for _, rebuild := range []byte{0, 1, 2} {
		if rebuild > 0 {
			s, j := openIn(t, dir, traced(rebuild))
			if err := j.RebuildIndex(); err != nil {
				t.Fatal(err)
			}
			if report, err := j.Verify(context.Background(), nil); err != nil || report.Index != nil || report.Damage != nil {
				t.Fatalf("verify: %+v, %v", report, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := scanTrace(t, dir, traced(1), trace); err != nil || !slices.Equal(have, want) {
			t.Fatalf("index of rule %d: facts %v, %v; want %v", rebuild, have, err, want)
		}
	}
	_, err := scanTrace(t, dir, persistence.Options{}, trace)
	if protocol.KindOf(err) != protocol.KindUnknown {
		t.Fatalf("a trace was looked for by a store that cannot read any: %v", err)
	}
}

// TestTraceReadsFewBlocks damages every block in which the trace is not, but the
// last: a query by trace does not notice, one by another rule does.
func TestTraceReadsFewBlocks(t *testing.T) {
	dir := t.TempDir()
	s, j := openIn(t, dir, traced(1))
	if err := damageWorkload.Write(j, persistence.Wave{}, damageWaves, nil); err != nil {
		t.Fatal(err)
	}
	last, err := j.Sync(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	trace, seq := someTrace()
	damaged := 0
	edit(t, dir, func(db *pebble.DB) { damaged = damageOthers(t, db, seq, last.Last) })
	have, err := scanTrace(t, dir, traced(1), trace)
	if err != nil || !slices.Equal(have, []uint64{seq}) || damaged < 20 {
		t.Fatalf("facts %v, %v; want %d, past %d damaged blocks", have, err, seq, damaged)
	}
	if _, err := scanTrace(t, dir, traced(2), trace); err == nil {
		t.Fatal("an index by another rule ruled a block out")
	}
}

// damageOthers damages every block but those that hold one of two seqs.
func damageOthers(t *testing.T, db *pebble.DB, keep ...uint64) (damaged int) {
	lower, upper := format.Range(crashScene, format.FamilyBlock)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		blk, err := format.OpenBlock(it.Value())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(keep, func(seq uint64) bool { return blk.First <= seq && seq <= blk.Last() }) {
			continue
		}
		if err := db.Set(it.Key(), []byte("nothing"), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		damaged++
	}
	return damaged
}

// TestForgedFilter: a filter that lacks a trace or an actor of its block fits its
// checksum, and Verify finds it.
func TestForgedFilter(t *testing.T) {
	for name, forge := range map[string]func(e *format.Entry){
		"traces": func(e *format.Entry) { clear(e.Traces) },
		"actors": func(e *format.Entry) { clear(e.Filter) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			s, j := openIn(t, dir, traced(1))
			if err := j.RebuildIndex(); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			corruptValue(t, dir, blockKey(format.FamilyIndex, firstOf(4)), func(b []byte) []byte {
				e, err := format.ReadEntry(b, firstOf(4))
				if err != nil {
					t.Fatal(err)
				}
				forge(&e)
				return format.AppendEntry(nil, &e)
			})
			_, j = openIn(t, dir, traced(1))
			if report, err := j.Verify(context.Background(), nil); err != nil || len(report.Index) != 1 {
				t.Fatalf("verify: %+v, %v; want one index entry with a fault", report, err)
			}
		})
	}
}
