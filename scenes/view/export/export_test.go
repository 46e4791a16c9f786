package export

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/inspect"
)

// townRun runs the town, in which a scene does everything it can.
func townRun(t testing.TB, ticks int64) (dir string) {
	t.Helper()
	p, err := runner.LoadFS(scenestest.TownFS(), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(p, runner.Options{Dir: dir, Scenes: []string{"day"}, Ticks: ticks, BatchFacts: 50, Snapshots: machines.SnapshotPolicy{Facts: 300}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openRun(t testing.TB, dir string) *inspect.Scene {
	t.Helper()
	run, err := inspect.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Close() })
	s, err := run.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t testing.TB, s *inspect.Scene, table string, f Format, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	done, err := Write(context.Background(), s, table, f, o, &b)
	if err != nil {
		t.Fatalf("%s as %s: %v", table, f, err)
	}
	if done.Rows == 0 {
		t.Fatalf("%s as %s: no rows", table, f)
	}
	return b.Bytes()
}

// Promise 1: every table says the same in every format.
func TestFormatsAgree(t *testing.T) {
	town, painters := townRun(t, 12), paintersRun(t)
	for _, table := range Tables() {
		t.Run(table.Name, func(t *testing.T) {
			dir := town
			if table.Name == "artifacts" {
				dir = painters
			}
			s, o := openRun(t, dir), Options{RunDir: dir}
			want := readCSV(t, table, written(t, s, table.Name, CSV, o))
			for f, have := range map[Format][][]string{
				JSONL:   readJSONL(t, table, written(t, s, table.Name, JSONL, o)),
				Parquet: readParquet(t, table, written(t, s, table.Name, Parquet, o)),
			} {
				if len(have) != len(want) {
					t.Fatalf("%s has %d rows, csv %d", f, len(have), len(want))
				}
				for i := range want {
					if !slices.Equal(have[i], want[i]) {
						t.Fatalf("row %d of %s is %q, of csv %q", i, f, have[i], want[i])
					}
				}
			}
			again := written(t, s, table.Name, JSONL, Options{})
			if !bytes.Equal(again, written(t, s, table.Name, JSONL, Options{})) {
				t.Error("the same export gives other bytes")
			}
		})
	}
}

// The facts of an export are those of the journal.
func TestFactsAreTheJournals(t *testing.T) {
	s := openRun(t, townRun(t, 12))
	table, err := Find("facts")
	if err != nil {
		t.Fatal(err)
	}
	rows := readParquet(t, table, written(t, s, "facts", Parquet, Options{}))
	codec, n := machines.NewCodec(), 0
	waves := map[uint64]uint64{}
	if err := s.Journal().Waves(1, func(w persistence.Wave) error {
		for seq := w.First; seq <= w.Last; seq++ {
			waves[seq] = w.Number
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	err = s.Journal().Scan(persistence.Query{}, func(r protocol.Record) error {
		want := []string{fmt.Sprint(r.Seq), fmt.Sprint(waves[r.Seq]), moment(r.Time), fmt.Sprint(int64(r.Time)), r.Actor, r.Kind}
		if !slices.Equal(rows[n][:6], want) {
			return fmt.Errorf("row %d: %q; want %q", n, rows[n], want)
		}
		n++
		if r.Kind != bus.FactRouted {
			return nil
		}
		var data map[string]any
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err == nil {
			err = stdjson.Unmarshal([]byte(rows[n-1][6]), &data)
		}
		if x := f.(*bus.Routed); err == nil && (data["id"] != x.ID || data["type"] != x.Type || data["source"] != x.Source) {
			err = fmt.Errorf("data %v; want %+v", data, x)
		}
		return err
	})
	if err != nil || n != len(rows) {
		t.Fatalf("%d rows for %d facts: %v", len(rows), n, err)
	}
}

// A series, folded over its rows, is the state at every wave; one that begins
// later is the end of the whole.
func TestSeriesAreTheStates(t *testing.T) {
	s := openRun(t, townRun(t, 12))
	for _, name := range []string{"world", "agents"} {
		table, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		rows := readCSV(t, table, written(t, s, name, CSV, Options{}))
		have, at := map[string]string{}, 0
		for wave := range s.Journal().Durable().Number + 1 {
			for ; at < len(rows) && rows[at][0] <= fmt.Sprint(wave) && len(rows[at][0]) <= len(fmt.Sprint(wave)); at++ {
				apply(have, rows[at])
			}
			want := valuesAt(t, s, name, wave)
			if fmt.Sprint(have) != fmt.Sprint(want) {
				t.Fatalf("%s at wave %d: %v; want %v", name, wave, have, want)
			}
		}
		if at != len(rows) {
			t.Fatalf("%s: %d of %d rows", name, at, len(rows))
		}
		late := readCSV(t, table, written(t, s, name, CSV, Options{Span: inspect.Span{Since: "wave:5", Until: "wave:9"}}))
		have = map[string]string{}
		for _, row := range late {
			apply(have, row)
		}
		if want := valuesAt(t, s, name, 9); fmt.Sprint(have) != fmt.Sprint(want) || late[0][0] != "5" {
			t.Fatalf("%s from wave %s to 9: %v; want %v", name, late[0][0], have, want)
		}
	}
}

// apply puts a row of a series into what is known: by agent or world, and path.
func apply(have map[string]string, row []string) {
	key := row[4]
	if row[3] != "" && !strings.ContainsAny(row[3][:1], "0123456789") {
		key = row[3] + " " + row[4]
	}
	if delete(have, key); row[5] == "true" {
		have[key] = row[6]
	}
}

func valuesAt(t *testing.T, s *inspect.Scene, table string, wave uint64) map[string]string {
	t.Helper()
	st, err := s.Fold(wave)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	if table == "world" {
		for k, v := range st.World().Value() {
			out[k] = string(world.AppendJSON(nil, v))
		}
		return out
	}
	for o := range uint32(st.Size()) {
		for k, v := range st.Agents[o].State.Private {
			out[st.Name(o)+" "+k] = string(world.AppendJSON(nil, v))
		}
	}
	return out
}

// What is chosen is a part of the whole, in its order.
func TestChoices(t *testing.T) {
	s := openRun(t, townRun(t, 12))
	actor := ""
	if err := s.Journal().Scan(persistence.Query{Kinds: []string{"agent.said"}}, func(r protocol.Record) error { actor = r.Actor; return nil }); err != nil || actor == "" {
		t.Fatal("nobody said anything", err)
	}
	table, err := Find("facts")
	if err != nil {
		t.Fatal(err)
	}
	all := readCSV(t, table, written(t, s, "facts", CSV, Options{}))
	for _, c := range []struct {
		options Options
		wants   func(row []string) bool
	}{
		{Options{Kinds: []string{"agent.said"}}, func(r []string) bool { return r[5] == "agent.said" }},
		{Options{Kinds: []string{"event.*"}}, func(r []string) bool { return strings.HasPrefix(r[5], "event.") }},
		{Options{Agents: []string{actor}}, func(r []string) bool { return r[4] == actor }},
		{Options{Agents: []string{actor, "$world"}}, func(r []string) bool { return r[4] == actor || r[4] == "$world" }},
		{Options{Span: inspect.Span{Since: "wave:3", Until: "wave:5"}}, func(r []string) bool { return r[1] >= "3" && r[1] <= "5" && len(r[1]) == 1 }},
	} {
		var want [][]string
		for _, row := range all {
			if c.wants(row) {
				want = append(want, row)
			}
		}
		have := readCSV(t, table, written(t, s, "facts", CSV, c.options))
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("%+v gives %d rows; want %d", c.options, len(have), len(want))
		}
	}
}

func TestBadChoices(t *testing.T) {
	s := openRun(t, townRun(t, 3))
	for _, c := range []struct {
		table   string
		options Options
		kind    protocol.ErrorKind
	}{
		{"nothing", Options{}, protocol.KindInvalid},
		{"facts", Options{Agents: []string{"nobody"}}, protocol.KindNotFound},
		{"facts", Options{Span: inspect.Span{Since: "tomorrow"}}, protocol.KindInvalid},
		{"world", Options{Paths: []string{"a..b"}}, protocol.KindInvalid},
		{"world", Options{Span: inspect.Span{Since: "wave:9999"}}, protocol.KindNotFound},
	} {
		if _, err := Write(context.Background(), s, c.table, CSV, c.options, io.Discard); protocol.KindOf(err) != c.kind {
			t.Errorf("%s %+v: %v of kind %s; want %s", c.table, c.options, err, protocol.KindOf(err), c.kind)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Write(ctx, s, "facts", CSV, Options{}, io.Discard); protocol.KindOf(err) != protocol.KindCancelled {
		t.Errorf("a stopped export: %v", err)
	}
}

// looker looks at the heap at every so many bytes that it swallows.
type looker struct {
	left int
	most uint64
}

// heap is what is in use. A pool lets go of what it holds in the second collection,
// and under the race detector pools hold more or less by chance.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (l *looker) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		l.left, l.most = 200_000, max(l.most, heap())
	}
	return len(p), nil
}

// Promise 2: a table of a long run needs as much memory as one of a short run.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures, which says nothing under the race detector")
	}
	grown := map[string][2]int64{}
	for i, ticks := range []int64{20, 160} {
		s := openRun(t, townRun(t, ticks))
		for _, table := range []string{"facts", "events", "world", "agents"} {
			for _, f := range []Format{JSONL, Parquet} {
				before, l := heap(), &looker{}
				if _, err := Write(context.Background(), s, table, f, Options{}, l); err != nil {
					t.Fatal(err)
				}
				name := table + " " + string(f)
				g := grown[name]
				g[i] = int64(max(l.most, before)) - int64(before)
				grown[name] = g
			}
		}
	}
	for name, g := range grown {
		t.Logf("%s: %d bytes more for the short run, %d for one eight times as long", name, g[0], g[1])
		if g[1] > g[0]+4<<20 {
			t.Errorf("%s: %d bytes for the short run, %d for the long one", name, g[0], g[1])
		}
	}
}
