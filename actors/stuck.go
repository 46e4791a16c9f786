package actors

import (
	"sync/atomic"
	"time"

	"tavernsim/protocol"
)

// Stuck is a Receive that has not returned.
type Stuck struct {
	Receiver string // with the supervisor's prefix
	Kind     uint8  // Spec.Kind
	Envelope *protocol.Envelope
	For      time.Duration // at least
}

// holds is what a worker is at, for the watcher. The worker alone writes: once for
// each envelope, and at the beginning and the end of an actor's slice.
type holds struct {
	slices atomic.Uint64
	actor  atomic.Pointer[mailbox]
	given  atomic.Pointer[protocol.Envelope] // nil = it is in no Receive
}

func (h *holds) begin(m *mailbox) {
	h.slices.Add(1)
	h.actor.Store(m)
}

func (h *holds) end() {
	h.given.Store(nil)
	h.actor.Store(nil)
}

// watcher looks at the workers now and then. An envelope that a worker is at in
// two looks, in one slice, was there all the time between them: nobody tells an
// actor the same envelope twice.
type watcher struct {
	after time.Duration
	hear  func(Stuck) (free func())
	seen  []seen
	stop  chan struct{}
	done  chan struct{}
}

// seen is what a worker was at in the last look.
type seen struct {
	slice uint64
	given *protocol.Envelope
	since time.Time
	free  func() // nil = not reported
}

// over says that a Receive that was reported has returned.
func (s *seen) over() {
	if s.free != nil {
		s.free()
	}
}

// looks in the time after which an actor is stuck: it is noticed at most a quarter
// of that time late.
const looks = 4

func (s *System) watch() *watcher {
	if s.opts.StuckAfter <= 0 || s.opts.Stuck == nil {
		return nil
	}
	w := &watcher{after: s.opts.StuckAfter, hear: s.opts.Stuck, seen: make([]seen, len(s.depths.workers)),
		stop: make(chan struct{}), done: make(chan struct{})}
	go w.run(s.depths.workers)
	return w
}

// close ends the looks; nil is a watcher that there is not.
func (w *watcher) close() {
	if w != nil {
		close(w.stop)
		<-w.done
	}
}

func (w *watcher) run(workers []*taken) {
	defer close(w.done)
	tick := time.NewTicker(max(w.after/looks, 1))
	defer tick.Stop()
	for {
		select {
		case <-w.stop: // the workers are gone, so everything returned
			for i := range w.seen {
				w.seen[i].over()
			}
			return
		case now := <-tick.C:
			for i, worker := range workers {
				w.look(&w.seen[i], &worker.holds, now)
			}
		}
	}
}

func (w *watcher) look(s *seen, h *holds, now time.Time) {
	slice, m, given := h.slices.Load(), h.actor.Load(), h.given.Load()
	if given == nil || m == nil || slice != s.slice || given != s.given {
		s.over()
		*s = seen{slice: slice, given: given, since: now}
		return
	}
	if held := now.Sub(s.since); s.free == nil && held >= w.after && h.slices.Load() == slice {
		s.free = w.hear(Stuck{Receiver: m.sup.Prefix + m.name(), Kind: m.kind, Envelope: given, For: held})
	}
}
