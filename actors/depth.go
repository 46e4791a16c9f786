package actors

import (
	"sync/atomic"

	"tavernsim/engine/bus/verdict"
)

// MaxKinds bounds [Spec.Kind].
const MaxKinds = 8

// shards of the senders' counters: senders to actors of different ids rarely meet.
const shards = 8

// depths counts waiting envelopes by kind of actor and lane, for metrics, with
// nothing in the mailboxes: those that were queued, minus those that each
// worker took. A worker has the numbers of what it took to itself; senders
// share theirs, a cache line for each kind and lane of a shard.
type depths struct {
	queued  [shards][MaxKinds][verdict.Lanes]counter
	workers []*taken
}

type counter struct {
	n atomic.Int64
	_ [56]byte
}

// taken is what one worker took out of mailboxes. It alone writes.
type taken [MaxKinds][verdict.Lanes]atomic.Int64

func newDepths(workers int) *depths {
	d := &depths{workers: make([]*taken, workers)}
	for i := range d.workers {
		d.workers[i] = new(taken)
	}
	return d
}

func (d *depths) add(m *mailbox, l verdict.Lane, n int64) {
	d.queued[m.id%shards][m.kind][l].n.Add(n)
}

func (t *taken) add(kind uint8, l verdict.Lane, n int32) {
	c := &t[kind][l]
	c.Store(c.Load() + int64(n))
}

// Depths yields how many envelopes wait, by kind of actor and lane. It may be
// called at any time; envelopes that move meanwhile may be counted still.
func (s *System) Depths(yield func(kind uint8, l verdict.Lane, n int)) {
	for k := range MaxKinds {
		for l := range verdict.Lanes {
			if n := s.depths.waiting(k, l); n > 0 {
				yield(uint8(k), l, int(n))
			}
		}
	}
}

// waiting counts what was taken first: what is queued in between is too much,
// never too little.
func (d *depths) waiting(kind int, l verdict.Lane) (n int64) {
	for _, w := range d.workers {
		n -= w[kind][l].Load()
	}
	for s := range d.queued {
		n += d.queued[s][kind][l].n.Load()
	}
	return n
}
