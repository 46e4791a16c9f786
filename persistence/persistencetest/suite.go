package persistencetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

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

// states are an actor's bytes at a wave.
func states(wave uint64, actors int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := range actors {
			state := bytes.Repeat(fmt.Appendf(nil, "w%d a%d ", wave, i), i%50)
			if !yield(fmt.Sprintf("trader-%d", i), state) {
				return
			}
		}
	}
}

func sameStates(s *persistence.Snapshot, wave uint64, actors int) error {
	type state struct{ actor, bytes string }
	var have, want []state
	err := s.Read(func(actor string, b []byte) error {
		have = append(have, state{actor, string(b)})
		return nil
	})
	for actor, b := range states(wave, actors) {
		want = append(want, state{actor, string(b)})
	}
	if err == nil && (!slices.Equal(have, want) || s.Wave.Number != wave || int(s.Entries) != actors) {
		err = fmt.Errorf("snapshot of wave %d with %d states; want wave %d with %d", s.Wave.Number, len(have), wave, actors)
	}
	return err
}

func testSnapshots(h *harness) {
	w := Workload{Seed: 10}
	s := h.open(few)
	j := h.journal(s, scene)
	_, err := j.LatestSnapshot()
	h.kind(err, protocol.KindNotFound)
	h.write(j, w, 6)
	h.kind(j.SaveSnapshot(7, states(7, 3)), protocol.KindNotFound)
	for _, wave := range []uint64{2, 4, 5} {
		h.check(j.SaveSnapshot(wave, states(wave, 20_000)))
		snap, err := j.LatestSnapshot()
		h.check(err)
		h.check(sameStates(snap, wave, 20_000))
	}
	h.check(j.SaveSnapshot(6, states(6, 0)))
	h.check(j.Close())
	snap, err := h.journal(s, scene).LatestSnapshot()
	h.check(err)
	h.check(sameStates(snap, 6, 0))
	h.check(Check(h.reopened(), w.Model(scene, 6)))
}

// reopened gives the scene's journal anew.
func (h *harness) reopened() Journal {
	h.Helper()
	h.check(h.store.Close())
	if !h.b.Keeps {
		j := h.journal(h.open(nil), scene)
		if j.Durable().Number != 0 {
			h.Fatal("a backend that keeps nothing kept something")
		}
		return j
	}
	return h.journal(h.open(nil), scene)
}

func testSnapshotSilent(h *harness) {
	w := Workload{Seed: 11}
	j := h.journal(h.open(few), scene)
	for wave := uint64(1); wave <= 10; wave++ {
		h.write(j, w, wave)
		h.check(j.SaveSnapshot(wave, states(wave, 10)))
	}
	h.check(Check(j, w.Model(scene, 10)))
}

// A journal may be forgotten up to its end, and goes on from there.
func testForget(h *harness) {
	w := Workload{Seed: 13}
	s := h.open(few)
	j := h.journal(s, scene)
	h.write(j, w, 10)
	h.check(j.Forget(4))
	h.kind(j.Forget(11), protocol.KindNotFound)
	m := w.Model(scene, 14)
	for _, last := range []int{10, 14} {
		if b := j.Begin(); b.Digest != m.Waves[b.Number-1].Digest {
			h.Fatalf("begins after %+v", b)
		}
		h.check(j.Forget(uint64(last)))
		h.check(j.Close())
		j = h.journal(s, scene)
		if b, d := j.Begin(), j.Durable(); b != d || d.Digest != m.Waves[last-1].Digest {
			h.Fatalf("begins after %+v and ends with %+v; want both after wave %d", b, d, last)
		}
		if last == 10 {
			h.write(j, w, 14)
		}
	}
}

func testDrop(h *harness) {
	w := Workload{Seed: 12}
	s := h.open(few)
	j := h.journal(s, scene)
	h.write(j, w, 10)
	h.kind(j.Drop(4), protocol.KindConflict) // no snapshot
	h.check(j.SaveSnapshot(6, states(6, 3)))
	h.kind(j.Drop(7), protocol.KindConflict) // newer than the snapshot
	h.check(j.Drop(4))
	m := w.Model(scene, 14)
	if b := j.Begin(); b.Number != 4 || b.Last != m.Waves[3].Last || b.Digest != m.Waves[3].Digest {
		h.Fatalf("begins after %+v; want %+v", b, m.Waves[3])
	}
	h.kind(j.Read(2, func(protocol.Record) error { return nil }), protocol.KindNotFound)
	_, err := j.Wave(2)
	h.kind(err, protocol.KindNotFound)
	h.check(j.Close())
	j = h.journal(s, scene)
	h.write(j, w, 14)
	h.check(Check(j, m))
	snap, err := j.LatestSnapshot()
	h.check(err)
	h.check(sameStates(snap, 6, 3))
}

func testClosed(h *harness) {
	s := h.open(nil)
	j := h.journal(s, scene)
	h.write(j, Workload{Seed: 13}, 2)
	h.check(j.Close())
	h.check(j.Close())
	_, err := j.Append(1, "a", "k", nil)
	h.kind(err, protocol.KindCancelled)
	_, err = j.CloseWave(nil)
	h.kind(err, protocol.KindCancelled)
	h.check(Check(j, Workload{Seed: 13}.Model(scene, 2)))
	h.check(s.Close())
	_, err = s.Journal(scene)
	h.kind(err, protocol.KindCancelled)
}

func testReopen(h *harness) {
	if !h.b.Keeps {
		h.reopenEmpty()
		return
	}
	w := Workload{Seed: 14}
	for to := uint64(5); to <= 40; to += 5 {
		j := h.journal(h.open(few), scene)
		h.check(Check(j, w.Model(scene, to-5)))
		h.write(j, w, to)
		h.check(Check(j, w.Model(scene, to)))
		h.check(h.store.Close())
	}
	h.check(Check(h.journal(h.open(nil), scene), w.Model(scene, 40)))
}

func (h *harness) reopenEmpty() {
	h.write(h.journal(h.open(nil), scene), Workload{Seed: 14}, 3)
	h.reopened()
}

func testLargeFacts(h *harness) {
	s := h.open(func(o *persistence.Options) { o.BatchBytes = 1000 })
	j := h.journal(s, scene)
	w := Workload{Seed: 15, MaxWave: 5, Size: 3 << 20}
	h.write(j, w, 3)
	h.check(Check(j, w.Model(scene, 3)))
}

// testBounds writes far more than may be staged or open: everything must come
// through in order, whoever has to wait for whom.
func testBounds(h *harness) {
	j := h.journal(h.open(func(o *persistence.Options) {
		o.BatchFacts, o.StagedBlocks, o.OpenWaves = 3, 2, 1
	}), scene)
	w := Workload{Seed: 16}
	h.write(j, w, 200)
	h.check(Check(j, w.Model(scene, 200)))
}
