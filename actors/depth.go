package actors

import (
	"sync/atomic"

	"tavernsim/engine/bus/verdict"
)

// MaxKinds bounds [Spec.Kind].
const MaxKinds = 8

// depths counts waiting envelopes by kind of actor and lane, for metrics, with
// nothing in the mailboxes: those that were queued, minus those that each
// worker took. A worker has the numbers of what it took to itself; senders
// share theirs, a cache line for each kind and lane.
type depths struct {
	queued [MaxKinds][verdict.Lanes]struct {
		n atomic.Int64
		_ [56]byte
	}
	workers []*taken
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

func (d *depths) add(kind uint8, l verdict.Lane, n int64) { d.queued[kind][l].n.Add(n) }

func (t *taken) one(kind uint8, l verdict.Lane) {
	c := &t[kind][l]
	c.Store(c.Load() + 1)
}

// Depths yields how many envelopes wait, by kind of actor and lane. It may be
// called at any time; envelopes that move meanwhile may be counted still.
func (s *System) Depths(yield func(kind uint8, l verdict.Lane, n int)) {
	for k := range s.depths.queued {
		for l := range verdict.Lanes {
			// Taken first: what is queued in between is too much, never too little.
			var gone int64
			for _, w := range s.depths.workers {
				gone += w[k][l].Load()
			}
			if n := s.depths.queued[k][l].n.Load() - gone; n > 0 {
				yield(uint8(k), l, int(n))
			}
		}
	}
}
