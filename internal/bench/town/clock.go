package town

import (
	"container/heap"
	"context"

	"tavernsim/engine/schedule"
)

// policy decides which turns run. It begins them by clock.begin, and calls that it has
// held back by clock.ask.
type policy interface {
	start()
	mayAsk(agent int) bool
	rank(agent int) schedule.Rank
	ended(agent int)
}

// clock is the virtual time of one run: turns make calls one after the other, and a
// call has one of a number of slots for as long as it takes.
type clock struct {
	trace  *Trace
	policy policy
	free   int // slots

	now     float64
	turns   []running // by agent
	work    []going   // turns that go on now
	waiting waiting
	flying  flying
	made    int     // calls begun
	used    float64 // seconds of slots
	steps   int     // turns ended, for those who look on
}

type going struct {
	agent int32
	run   uint64
}

// running is the turn of an agent.
type running struct {
	step, made int
	run        uint64 // of the turn, so that what was cancelled is told apart
	flies      bool
	until      float64
}

func newClock(t *Trace, slots int) *clock {
	return &clock{trace: t, free: slots, turns: make([]running, t.Agents)}
}

// run has the whole trace. It looks at ctx now and then, and tells how far it is.
func (c *clock) run(ctx context.Context, p policy, seen func(turns int)) error {
	c.policy = p
	p.start()
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			seen(c.steps)
		}
		c.settle()
		if len(c.flying) == 0 {
			return nil
		}
		f := heap.Pop(&c.flying).(flight)
		c.now = f.at
		if t := &c.turns[f.agent]; t.run == f.run {
			c.free++
			t.flies = false
			t.made++
			c.work = append(c.work, going{f.agent, f.run})
		}
	}
}

// settle goes on until every turn waits for a call, and every slot that can be is taken.
func (c *clock) settle() {
	for {
		for i := 0; i < len(c.work); i++ {
			if g := c.work[i]; c.turns[g.agent].run == g.run {
				c.goOn(int(g.agent))
			}
		}
		c.work = c.work[:0]
		if c.free == 0 || len(c.waiting) == 0 {
			return
		}
		w := heap.Pop(&c.waiting).(waiter)
		if t := &c.turns[w.rank.Agent]; t.run == w.run {
			c.call(int(w.rank.Agent))
		}
	}
}

func (c *clock) begin(agent, step int) {
	t := &c.turns[agent]
	*t = running{step: step, run: t.run + 1}
	c.work = append(c.work, going{int32(agent), t.run})
}

func (c *clock) goOn(agent int) {
	t := &c.turns[agent]
	if t.made == len(c.trace.Tokens(t.step, agent)) {
		c.steps++
		c.policy.ended(agent)
		return
	}
	if c.policy.mayAsk(agent) {
		c.ask(agent)
	}
}

// ask puts a turn's next call among those that wait for a slot.
func (c *clock) ask(agent int) {
	heap.Push(&c.waiting, waiter{c.policy.rank(agent), c.turns[agent].run})
}

func (c *clock) call(agent int) {
	t := &c.turns[agent]
	took := c.trace.Seconds(c.trace.Tokens(t.step, agent)[t.made])
	c.free--
	c.made++
	c.used += took
	t.flies, t.until = true, c.now+took
	heap.Push(&c.flying, flight{t.until, c.made, int32(agent), t.run})
}

// cancel ends a turn that is undone; its slot is free at once.
func (c *clock) cancel(agent int) {
	t := &c.turns[agent]
	if t.flies {
		c.free++
		c.used -= t.until - c.now
	}
	*t = running{step: -1, run: t.run + 1}
}

type flight struct {
	at    float64
	order int // of two that end together
	agent int32
	run   uint64
}

type flying []flight

func (h flying) Len() int { return len(h) }
func (h flying) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h flying) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *flying) Push(x any)   { *h = append(*h, x.(flight)) }
func (h *flying) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

type waiter struct {
	rank schedule.Rank
	run  uint64
}

type waiting []waiter

func (h waiting) Len() int           { return len(h) }
func (h waiting) Less(i, j int) bool { return h[i].rank.Less(h[j].rank) }
func (h waiting) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *waiting) Push(x any)        { *h = append(*h, x.(waiter)) }
func (h *waiting) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
