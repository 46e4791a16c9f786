package chain

import (
	"cmp"
	"slices"
	"time"
)

// Bounds of how often a wave is played again. That takes some 100 ns a call, and a few a turn.
const (
	// MaxCalls is how many calls a wave may have that is played again.
	MaxCalls   = 1 << 16
	mostPlayed = 1 << 12 // calls of a wave that are played again, and turns that are looked at, or
	leastAgain = 8       // for as many agents, those whose calls took longest
)

// replay plays a wave again without the calls of an agent. A call is asked for when the one before it in its
// turn has ended, and leaves as soon as its gate has a place; of those that wait, the one goes first that went
// first (list scheduling). What a call waited beyond that, for a rate or for another attempt, it waits again.
type replay struct {
	turns  []turned
	calls  []passed // those of a turn follow each other
	order  []int32  // calls, in the order in which they left
	gates  []*line
	waited bool // some call
	large  bool // there are more than MaxCalls

	again  int // calls that were played again so far
	looked int // turns of the waves that were
}

// turned is a turn of the wave.
type turned struct {
	agent      uint32
	took, rest time.Duration // rest: of its calls that passed no gate
	over       time.Duration // of its calls that passed gates
}

// passed is a call that passed a gate.
type passed struct {
	turn  int32
	last  bool // of its turn
	gate  *line
	ready time.Duration // when its turn asked, since the wave began
	wait  time.Duration
	took  time.Duration
	more  time.Duration // of wait: not for a place
	order int64         // in which it left
}

// line is a gate.
type line struct {
	name   string
	places int
	now    time.Duration // when the last one left
	free   heap          // when its places are free
	coming heap          // calls that ask later, by when
	room   []item        // for first
	first  []item        // calls that wait for a place from the beginning of the wave, in their order
	stand  heap          // others that wait for a place, in their order
}

// take gives the call that leaves next, of those that wait.
func (l *line) take() int32 {
	if len(l.first) > 0 && (len(l.stand) == 0 || l.first[0].key < l.stand[0].key) {
		x := l.first[0]
		l.first = l.first[1:]
		return x.of
	}
	return l.stand.pop().of
}

// next is when the gate lets the next call out.
func (l *line) next() (time.Duration, bool) {
	switch {
	case len(l.first)+len(l.stand) > 0:
		return max(l.now, time.Duration(l.free[0].key)), true
	case len(l.coming) > 0:
		return time.Duration(max(l.free[0].key, l.coming[0].key)), true
	}
	return 0, false
}

func (r *replay) clear() {
	r.turns, r.calls, r.gates, r.waited, r.large = r.turns[:0], r.calls[:0], r.gates[:0], false, false
}

// add takes a turn. Its calls follow each other from the beginning of the wave.
func (r *replay) add(t *Turn) {
	if t.whole() <= 0 {
		return
	}
	r.waited = r.waited || len(t.Waits) > 0
	turn, ready := int32(len(r.turns)), time.Duration(0)
	if r.large = r.large || len(r.calls)+len(t.Calls) > MaxCalls; !r.large {
		for i := range t.Calls {
			c := &t.Calls[i]
			r.calls = append(r.calls, passed{turn: turn, last: i == len(t.Calls)-1, gate: r.gate(c), ready: ready, wait: c.waited(), took: c.Took})
			ready += c.waited() + c.Took
		}
	}
	r.turns = append(r.turns, turned{agent: t.Agent, took: t.Took, rest: t.whole() - ready})
}

func (r *replay) gate(c *Call) *line {
	for _, l := range r.gates {
		if l.name == c.Gate {
			l.places = max(l.places, c.Places)
			return l
		}
	}
	l := &line{name: c.Gate, places: max(1, c.Places)}
	r.gates = append(r.gates, l)
	return l
}

// saves gives how much shorter the wave would be without each of its agents. next is how long its slowest
// turn but those of the slowest agent took.
func (r *replay) saves(slowest *Turn, next time.Duration, yield func(agent uint32, less time.Duration)) {
	whole := slowest.whole()
	if !r.waited {
		yield(slowest.Agent, whole-next)
		return
	}
	again := []uint32{slowest.Agent}
	if r.explains() {
		again = r.longest(slowest.Agent)
		for _, a := range again {
			yield(a, whole-r.without(a))
		}
	} else {
		yield(slowest.Agent, whole-next)
	}
	r.share(slowest, again, yield)
}

// share is for agents without whom the wave is not played again: the slowest turn would have waited as
// much less as their calls held places, of as many as were held on the average.
func (r *replay) share(slowest *Turn, but []uint32, yield func(agent uint32, less time.Duration)) {
	whole, waited := slowest.whole(), slowest.whole()-slowest.Took
	sum := time.Duration(0)
	for _, t := range r.turns {
		sum += t.took
	}
	places := max(1, float64(sum)/float64(whole))
	for _, t := range r.turns {
		if waited > 0 && !slices.Contains(but, t.agent) {
			yield(t.agent, min(waited, time.Duration(float64(t.took)/places)))
		}
	}
}

// longest lists the agents without whom the wave is played again.
func (r *replay) longest(slowest uint32) []uint32 {
	list := slices.Clone(r.turns)
	slices.SortFunc(list, func(a, b turned) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.agent, b.agent)) })
	of := []uint32{slowest}
	for _, t := range list[:min(len(list), max(leastAgain, mostPlayed/max(len(r.calls), len(r.turns))))] {
		if !slices.Contains(of, t.agent) {
			of = append(of, t.agent)
		}
	}
	return of
}

// explains looks what the calls waited for. It reports whether that was for places at least half of the
// time: else a replay says little.
func (r *replay) explains() bool {
	if r.large || len(r.calls) == 0 {
		return false
	}
	r.order = slices.Grow(r.order[:0], len(r.calls))[:len(r.calls)]
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortStableFunc(r.order, func(a, b int32) int {
		return cmp.Compare(r.calls[a].ready+r.calls[a].wait, r.calls[b].ready+r.calls[b].wait)
	})
	for n, i := range r.order {
		r.calls[i].order = int64(n)
	}
	var waited, queued time.Duration
	r.play(func(c *passed) bool { return true }, func(c *passed, start time.Duration) {
		c.more = c.wait - (start - c.ready)
		waited, queued = waited+c.wait, queued+start-c.ready
	})
	return queued >= waited/2
}

// without is how long the wave takes without the calls of an agent.
func (r *replay) without(agent uint32) (over time.Duration) {
	for i := range r.turns {
		r.turns[i].over = 0
	}
	r.play(func(c *passed) bool { return r.turns[c.turn].agent != agent }, func(c *passed, start time.Duration) {
		r.turns[c.turn].over = start + c.took + c.more
		r.again++
	})
	r.looked += len(r.turns)
	for _, t := range r.turns {
		if t.agent != agent {
			over = max(over, t.over+t.rest)
		}
	}
	return over
}

// play plays those calls of the wave that belong to it. left gets each when it leaves.
func (r *replay) play(belongs func(*passed) bool, left func(c *passed, start time.Duration)) {
	for _, l := range r.gates {
		l.now, l.coming, l.stand, l.free, l.first = 0, l.coming[:0], l.stand[:0], l.free[:0], l.room[:0]
		for range min(l.places, len(r.calls)) {
			l.free = append(l.free, item{})
		}
	}
	for _, i := range r.order {
		if c := &r.calls[i]; (i == 0 || r.calls[i-1].last) && belongs(c) {
			c.gate.first = append(c.gate.first, item{c.order, i})
		}
	}
	for _, l := range r.gates {
		l.room = l.first
	}
	for {
		l, at := r.first()
		if l == nil {
			return
		}
		for len(l.coming) > 0 && l.coming[0].key <= int64(at) {
			i := l.coming.pop().of
			l.stand.push(item{r.calls[i].order, i})
		}
		l.now = at
		i := l.take()
		c := &r.calls[i]
		l.free.pop()
		l.free.push(item{key: int64(at + c.took)})
		left(c, at)
		if !c.last {
			r.calls[i+1].gate.coming.push(item{int64(at + c.took + c.more), i + 1})
		}
	}
}

// first is the gate that lets a call out next, and when.
func (r *replay) first() (first *line, at time.Duration) {
	for _, l := range r.gates {
		if t, ok := l.next(); ok && (first == nil || t < at) {
			first, at = l, t
		}
	}
	return first, at
}

// item is a call, or a place, in a heap.
type item struct {
	key int64
	of  int32
}

// heap has the least item in front.
type heap []item

func (h *heap) push(x item) {
	l := append(*h, x)
	i := len(l) - 1
	for i > 0 && l[(i-1)/2].key > x.key {
		l[i], i = l[(i-1)/2], (i-1)/2
	}
	l[i], *h = x, l
}

func (h *heap) pop() item {
	l := *h
	least, x := l[0], l[len(l)-1]
	l = l[:len(l)-1]
	for i := 0; len(l) > 0; {
		c := 2*i + 1
		if c+1 < len(l) && l[c+1].key < l[c].key {
			c++
		}
		if c >= len(l) || l[c].key >= x.key {
			l[i] = x
			break
		}
		l[i], i = l[c], c
	}
	*h = l
	return least
}
