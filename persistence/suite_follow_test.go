package persistence_test

import (
	"context"
	"errors"
	"fmt"

	"tavernsim/protocol"
)

// testFollow: several that follow a journal from different places get every fact
// from there on, once and in order, while it is written; its end is theirs.
func testFollow(h *harness) {
	const waves = 200
	w := Workload{Seed: 21}
	m := w.Model(scene, waves)
	j := h.journal(h.open(few), scene)
	h.write(j, w, 20)
	ends := make(chan error, 4)
	for _, from := range []uint64{0, 7, j.Durable().Last + 1, j.Durable().Last + 100} {
		go func() { ends <- followed(j, m, max(from, 1)) }()
	}
	h.check(w.Write(j, j.Durable(), waves, nil))
	_, err := j.Append(0, "a", "k", []byte("of a wave that is never closed"))
	h.check(err)
	h.check(j.Close())
	for range cap(ends) {
		h.check(<-ends)
	}
	h.check(followed(j, m, 1)) // it is as Read, once the journal is closed
}

func followed(j Journal, m Model, from uint64) error {
	next := from
	err := j.Follow(context.Background(), from, func(r protocol.Record) error {
		if r.Seq != next {
			return fmt.Errorf("followed to seq %d; want %d", r.Seq, next)
		}
		next++
		return sameFact(r, m.Facts[r.Seq-1])
	})
	if err == nil && next != m.Last().Last+1 {
		err = fmt.Errorf("followed from seq %d up to %d; want %d", from, next-1, m.Last().Last)
	}
	return err
}

// testFollowEnds: who follows ends with its context and with its own error.
func testFollowEnds(h *harness) {
	j := h.journal(h.open(few), scene)
	h.write(j, Workload{Seed: 22}, 3)
	last := j.Durable().Last
	ctx, cancel := context.WithCancel(context.Background())
	h.kind(j.Follow(ctx, 1, func(r protocol.Record) error {
		if r.Seq == last {
			cancel() // nothing more comes
		}
		return nil
	}), protocol.KindCancelled)
	enough := errors.New("enough")
	if err := j.Follow(context.Background(), last, func(protocol.Record) error { return enough }); !errors.Is(err, enough) {
		h.Errorf("it ends with %v", err)
	}
}
