package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

func TestConformance(t *testing.T) {
	levels := persistence.Durabilities()
	if testing.Short() {
		levels = []persistence.Durability{persistence.Process}
	}
	for _, level := range levels {
		t.Run("durability="+string(level), func(t *testing.T) {
			Run(t, Backend{
				Open:    open,
				Options: persistence.Options{Durability: level, MemTableSize: 1 << 20},
				Keeps:   level != persistence.Memory,
			})
		})
	}
	t.Run("direct", func(t *testing.T) {
		Run(t, Backend{
			Open: func(dir string, o persistence.Options) (Store, error) {
				s, err := persistence.Open(dir, o)
				if err != nil {
					return nil, err
				}
				return direct{store{s}}, nil
			},
			Options: persistence.Options{MemTableSize: 1 << 20},
			Keeps:   true,
		})
	})
}

func open(dir string, o persistence.Options) (Store, error) {
	s, err := persistence.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return Of(s), nil
}

// Backend opens stores for the suite.
type Backend struct {
	Open func(dir string, o persistence.Options) (Store, error)
	// Options are given to every Open, with a test's own on top.
	Options persistence.Options
	// Keeps says that what was durable is there after Close and Open.
	Keeps bool
}

// Run holds a backend to every promise that the package's doc makes and that
// does not need a crash.
func Run(t *testing.T, b Backend) {
	for _, test := range []struct {
		name string
		run  func(*harness)
	}{
		{"WavesAreReadAsWritten", testReadBack},
		{"AnUnclosedWaveIsGone", testUnclosed},
		{"AnswersComeInOrder", testAnswers},
		{"AnEmptyWaveIsNoWave", testEmptyWave},
		{"BatchSizeDoesNotMoveTheDigest", testBatchSizes},
		{"ScenesDoNotMix", testScenes},
		{"AJournalHasOneWriter", testOneWriter},
		{"FactsBeyondTheLimitsAreRefused", testLimits},
		{"ReadingFromAnywhere", testReadFrom},
		{"QueriesEqualFiltering", testQueries},
		{"WavesAreFound", testWaves},
		{"FollowersGetWhatBecomesDurable", testFollow},
		{"FollowersEnd", testFollowEnds},
		{"SnapshotsAreReadAsWritten", testSnapshots},
		{"SnapshotsChangeNothing", testSnapshotSilent},
		{"DroppedFactsAreGone", testDrop},
		{"ForgottenFactsNeedNoSnapshot", testForget},
		{"NotesStandAndFallWithTheirWaves", testNotes},
		{"AClosedJournalRefuses", testClosed},
		{"ReopenedJournalsGoOn", testReopen},
		{"LargeFacts", testLargeFacts},
		{"BoundsMakeWait", testBounds},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(&harness{T: t, b: b, dir: t.TempDir()}) })
	}
}

// harness is one test's store. It is opened at the first need.
type harness struct {
	*testing.T
	b     Backend
	dir   string
	store Store
}

const scene = "tavern"

func (h *harness) open(change func(*persistence.Options)) Store {
	h.Helper()
	o := h.b.Options
	if change != nil {
		change(&o)
	}
	s, err := h.b.Open(h.dir, o)
	if err != nil {
		h.Fatalf("open: %v", err)
	}
	h.store = s
	h.Cleanup(func() { h.check(s.Close()) })
	return s
}

func (h *harness) journal(s Store, scene string) Journal {
	h.Helper()
	j, err := s.Journal(scene)
	if err != nil {
		h.Fatalf("journal %q: %v", scene, err)
	}
	return j
}

func (h *harness) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) kind(err error, want protocol.ErrorKind) {
	h.Helper()
	if err == nil || protocol.KindOf(err) != want {
		h.Fatalf("error %v of kind %s; want kind %s", err, protocol.KindOf(err), want)
	}
}

// write appends waves and waits until all are durable.
func (h *harness) write(j Journal, w Workload, to uint64) {
	h.Helper()
	h.check(w.Write(j, j.Durable(), to, nil))
	last, err := j.Sync(context.Background())
	h.check(err)
	if last.Number != to {
		h.Fatalf("wave %d is durable; want %d", last.Number, to)
	}
}

func few(o *persistence.Options) { o.BatchFacts = 7 }

func testReadBack(h *harness) {
	w := Workload{Seed: 1}
	j := h.journal(h.open(few), scene)
	h.write(j, w, 60)
	h.check(Check(j, w.Model(scene, 60)))
	if n := j.Pending(); n != 0 {
		h.Fatalf("%d facts pending after Sync", n)
	}
}

func testUnclosed(h *harness) {
	w := Workload{Seed: 2}
	s := h.open(few)
	j := h.journal(s, scene)
	h.write(j, w, 5)
	for range 40 {
		_, err := j.Append(1, "a", "Lost", []byte("x"))
		h.check(err)
	}
	h.check(Check(j, w.Model(scene, 5)))
	h.check(j.Close())
	j = h.journal(s, scene)
	h.check(Check(j, w.Model(scene, 5)))
	h.write(j, w, 9)
	h.check(Check(j, w.Model(scene, 9)))
}

func testAnswers(h *harness) {
	w := Workload{Seed: 3, MaxWave: 3}
	j := h.journal(h.open(func(o *persistence.Options) { o.OpenWaves = 3 }), scene)
	var got []persistence.Wave
	h.check(w.Write(j, persistence.Wave{}, 50, func(w persistence.Wave, err error) {
		if err != nil {
			h.Error(err)
		}
		got = append(got, w)
	}))
	_, err := j.Sync(context.Background())
	h.check(err)
	if !slices.Equal(got, w.Model(scene, 50).Waves) {
		h.Fatalf("answers %v", got)
	}
}

func testEmptyWave(h *harness) {
	j := h.journal(h.open(nil), scene)
	first, err := j.Sync(context.Background())
	h.check(err)
	if first.Number != 0 || first.Last != 0 {
		h.Fatalf("an empty wave of an empty journal answered %+v", first)
	}
	w := Workload{Seed: 4}
	h.write(j, w, 2)
	again, err := j.Sync(context.Background())
	h.check(err)
	if again != w.Model(scene, 2).Last() {
		h.Fatalf("an empty wave answered %+v; want the last one", again)
	}
}

func testBatchSizes(h *harness) {
	w := Workload{Seed: 5}
	want := w.Model(scene, 30)
	for _, size := range []int{1, 2, 13, 4096} {
		sub := &harness{T: h.T, b: h.b, dir: h.TempDir()}
		j := sub.journal(sub.open(func(o *persistence.Options) { o.BatchFacts = size }), scene)
		sub.write(j, w, 30)
		if err := Check(j, want); err != nil {
			h.Fatalf("BatchFacts %d: %v", size, err)
		}
	}
}

func testScenes(h *harness) {
	s := h.open(few)
	names := []string{"b", "a", "tavern", "tavern2", "酒馆/大厅", strings.Repeat("x", 255), "B"}
	journals := map[string]Journal{}
	for i, name := range names {
		journals[name] = h.journal(s, name)
		h.check(Workload{Seed: uint64(i)}.Write(journals[name], persistence.Wave{}, 8, nil))
	}
	for i, name := range names {
		_, err := journals[name].Sync(context.Background())
		h.check(err)
		h.check(Check(journals[name], Workload{Seed: uint64(i)}.Model(name, 8)))
	}
	have, err := s.Scenes()
	h.check(err)
	slices.Sort(names)
	slices.Sort(have)
	if !slices.Equal(have, names) {
		h.Fatalf("scenes %q; want %q", have, names)
	}
	for _, bad := range []string{"", strings.Repeat("x", 256)} {
		_, err := s.Journal(bad)
		h.kind(err, protocol.KindInvalid)
	}
}

func testOneWriter(h *harness) {
	s := h.open(nil)
	j := h.journal(s, scene)
	_, err := s.Journal(scene)
	h.kind(err, protocol.KindConflict)
	h.check(j.Close())
	h.journal(s, scene)
}

func testLimits(h *harness) {
	j := h.journal(h.open(nil), scene)
	_, err := j.Append(1, strings.Repeat("a", 5000), "k", nil)
	h.kind(err, protocol.KindLimit)
	_, err = j.Append(1, "a", strings.Repeat("k", 256), nil)
	h.kind(err, protocol.KindLimit)
	_, err = j.Append(1, "a", "k", make([]byte, protocol.MaxBytes+1))
	h.kind(err, protocol.KindLimit)
	// A refused fact leaves no trace.
	w := Workload{Seed: 6}
	h.write(j, w, 1)
	h.check(Check(j, w.Model(scene, 1)))
}

func testReadFrom(h *harness) {
	w := Workload{Seed: 7}
	j := h.journal(h.open(few), scene)
	h.write(j, w, 20)
	m := w.Model(scene, 20)
	for from := uint64(1); from <= uint64(len(m.Facts))+2; from++ {
		next := from
		h.check(j.Read(from, func(r protocol.Record) error {
			if r.Seq != next {
				return fmt.Errorf("from %d: read seq %d; want %d", from, r.Seq, next)
			}
			next++
			return sameFact(r, m.Facts[r.Seq-1])
		}))
		if next != max(from, uint64(len(m.Facts))+1) {
			h.Fatalf("from %d: ended before seq %d", from, next)
		}
	}
	stop := errors.New("enough")
	if err := j.Read(3, func(protocol.Record) error { return stop }); !errors.Is(err, stop) {
		h.Fatalf("read returned %v; want what yield returned", err)
	}
}

func testQueries(h *harness) {
	w := Workload{Seed: 8}
	j := h.journal(h.open(func(o *persistence.Options) { o.BatchFacts, o.Traces = 7, w.Traces() }), scene)
	h.write(j, w, 40)
	m := w.Model(scene, 40)
	sec := protocol.Time(1_000_000_000)
	for _, q := range []persistence.Query{
		{},
		{From: 10, To: 30},
		{Since: 7 * sec, Until: 12 * sec},
		{Actor: "trader-007"},
		{Actor: "nobody"},
		{Kinds: []string{"GoalReached"}},
		{Kinds: []string{"GoalReached", "EventPublished"}, Since: 20 * sec, Actor: "trader-100"},
		{Kinds: []string{"NoSuchKind"}},
		{From: 100, Actor: "trader-001", Until: 39 * sec},
		{Trace: "ab"},
		{Trace: "ff", From: 50, To: 400},
		{Trace: "zz"},
		{Trace: "cd", Kinds: []string{"GoalReached"}, Since: 3 * sec},
	} {
		var have []uint64
		h.check(j.Scan(q, func(r protocol.Record) error {
			have = append(have, r.Seq)
			return sameFact(r, m.Facts[r.Seq-1])
		}))
		if want := m.filter(q, w.Traces()); !slices.Equal(have, want) {
			h.Errorf("query %+v gave %v; want %v", q, have, want)
		}
	}
}

func (m Model) filter(q persistence.Query, traces persistence.Traces) []uint64 {
	var seqs []uint64
	for _, f := range m.Facts {
		if f.Seq < q.From || q.To > 0 && f.Seq > q.To || f.Time < q.Since || q.Until > 0 && f.Time >= q.Until ||
			q.Actor != "" && q.Actor != f.Actor || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, f.Kind) || q.Trace != "" && !belongs(traces, f, q.Trace) {
			continue
		}
		seqs = append(seqs, f.Seq)
	}
	return seqs
}

func belongs(traces persistence.Traces, f protocol.Record, trace string) (found bool) {
	traces.Of(f.Kind, f.Data, func(b []byte) { found = found || string(b) == trace })
	return found
}

func testWaves(h *harness) {
	w := Workload{Seed: 9}
	j := h.journal(h.open(few), scene)
	h.write(j, w, 50)
	m := w.Model(scene, 50)
	for number := uint64(1); number <= 50; number++ {
		have, err := j.Wave(number)
		h.check(err)
		if have != m.Waves[number-1] {
			h.Fatalf("wave %d is %+v; want %+v", number, have, m.Waves[number-1])
		}
		n := number
		h.check(j.Waves(number, func(w persistence.Wave) error {
			if w.Number != n {
				return fmt.Errorf("from wave %d: wave %d; want %d", number, w.Number, n)
			}
			n++
			return nil
		}))
	}
	_, err := j.Wave(51)
	h.kind(err, protocol.KindNotFound)
}
