package actors

import (
	"sync/atomic"

	"tavernsim/engine/bus/delivery"
)

// MaxKinds bounds [Spec.Kind].
const MaxKinds = 8

// counts are numbers of envelopes by kind of actor and lane.
type counts [MaxKinds][delivery.Lanes]atomic.Int64

// shares of the senders' counts: more than there are cellPools, as a rule.
const shares = 16

// depths counts waiting envelopes by kind of actor and lane, for metrics, with
// nothing in the mailboxes: those that were queued, minus those that each
// worker took. A worker has the numbers of what it took to itself; senders
// spread over the shares.
type depths struct {
	queued  [shares]counts
	next    atomic.Uint32 // the share that is given out next
	workers []*taken
}

// taken is what one worker took out of mailboxes, and what it is at. It alone
// writes.
type taken struct {
	counts
	holds
}

func newDepths(workers int) *depths {
	d := &depths{workers: make([]*taken, workers)}
	for i := range d.workers {
		d.workers[i] = new(taken)
	}
	return d
}

func (d *depths) share() *counts { return &d.queued[d.next.Add(1)%shares] }

// discarded counts an envelope that was queued and that no worker will handle.
func (d *depths) discarded(kind uint8, l delivery.Lane) { d.queued[0][kind][l].Add(-1) }

func (t *taken) add(kind uint8, l delivery.Lane, n int32) {
	c := &t.counts[kind][l]
	c.Store(c.Load() + int64(n))
}

// Depths yields how many envelopes wait, by kind of actor and lane. It may be
// called at any time; envelopes that move meanwhile may be counted still.
func (s *System) Depths(yield func(kind uint8, l delivery.Lane, n int)) {
	for k := range MaxKinds {
		for l := range delivery.Lanes {
			if n := s.depths.waiting(k, l); n > 0 {
				yield(uint8(k), l, int(n))
			}
		}
	}
}

// waiting counts what was taken first: what is queued in between is too much,
// never too little.
func (d *depths) waiting(kind int, l delivery.Lane) (n int64) {
	for _, w := range d.workers {
		n -= w.counts[kind][l].Load()
	}
	for s := range d.queued {
		n += d.queued[s][kind][l].Load()
	}
	return n
}
