package persistence_test

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

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

// The newest note of a wave that is there is found, and no other.
func testNotes(h *harness) {
	w := Workload{Seed: 14}
	m := w.Model(scene, 14)
	s := h.open(few)
	j := h.journal(s, scene)
	find := func(from, to uint64) {
		h.Helper()
		for at := from; at <= to; at++ {
			newest := at
			for newest > from && !noted(newest) {
				newest--
			}
			want, text := uint64(0), ""
			if noted(newest) {
				want, text = m.Waves[newest-1].Last, string(noteOf(newest))
			}
			if seq, note, err := j.NoteAt(m.Waves[at-1].Last); err != nil || seq != want || string(note) != text {
				h.Fatalf("at wave %d: %q of seq %d, %v; want %q of seq %d", at, note, seq, err, text, want)
			}
		}
	}
	h.write(j, w, 14)
	find(1, 14)
	h.check(j.Forget(4))
	find(5, 14)
	_, err := j.Append(1, "a", "Lost", nil)
	h.check(err)
	j.Note([]byte("of a wave that is never closed"))
	h.check(j.Close())
	j = h.journal(s, scene)
	find(5, 14)
	h.check(Check(j, m))
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
	h.write(j, w, 2)
	h.check(Check(j, w.Model(scene, 2)))
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
