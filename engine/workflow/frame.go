package workflow

import (
	"time"

	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// frame is one execution of one plan inside a run: the whole, a nested workflow
// or one item of a loop.
type frame struct {
	plan  *Plan
	slots []slot
	nodes []nodeState
	left  int // nodes that have not settled
	draw  protocol.Draw

	start, end time.Duration // on the run's clock
	deadline   time.Duration // 0 = none

	parent  *frame // nil for the whole
	up      int32  // node of the parent
	loop    *loopState
	item    int
	attempt int16  // of the parent's node
	prefix  string // "outer/", made when it is first asked for

	fails  []*Failure // nobody caught, of this frame and those inside it
	fail   *Failure   // of the first failed node, in the order of the plan
	failAt int32
}

type slot struct {
	v    any // *Failure when it failed
	is   slotIs
	size uint32 // of v, for the budget; 0 = not counted yet
}

// slotBytes is what a slot takes beside its value.
const slotBytes = 24

type slotIs uint8

const (
	pending slotIs = iota
	arrived
	skipped
	failed
)

type nodeState struct {
	start   time.Duration // of the latest attempt
	timeout time.Duration // of its request
	wait    int32         // sources that have not settled
	attempt int16
	asked   Ask
	settled bool
	short   bool  // a Shortener asks again
	failed  error // of the attempt before
}

func (f *frame) read(w *wire) slot {
	switch {
	case w.slot >= 0:
		return f.slots[w.slot]
	case w.slot == slotConst:
		return slot{v: w.value, is: arrived}
	}
	return slot{is: skipped}
}

// opened is read for somebody who looks at the value: calls become values there, for all
// who read it, and count as such.
func (r *Run) opened(f *frame, w *wire) (slot, error) {
	s := f.read(w)
	calls, ok := s.v.(callvalue.Calls)
	if !ok {
		return s, nil
	}
	size := calls.Size(r.budget.Left())
	if err := r.budget.Take(size); err != nil {
		return slot{is: arrived}, err
	}
	s.v, s.size = calls.Values(), uint32(size)
	f.slots[w.slot] = s
	return s, nil
}

func (r *Run) newFrame(p *Plan) *frame {
	var f *frame
	if n := len(r.free); n > 0 {
		f, r.free = r.free[n-1], r.free[:n-1]
	} else {
		f = &frame{}
	}
	f.plan = p
	r.live += p.frameBytes()
	f.slots = sized(f.slots, p.slots)
	f.nodes = sized(f.nodes, len(p.nodes))
	return f
}

// sized gives a cleared slice of n; what release cleared stays so.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

const maxFree = 64 // frames a run keeps to use again

func (r *Run) release(f *frame) {
	r.live -= f.plan.frameBytes()
	if len(r.free) >= maxFree {
		return
	}
	clear(f.slots)
	clear(f.nodes)
	clear(f.fails)
	*f = frame{slots: f.slots, nodes: f.nodes, fails: f.fails[:0]}
	r.free = append(r.free, f)
}
