package town

import (
	"tavernsim/engine/schedule"
)

// simple is what the policies without the machine share: no call is held back, and
// calls wait in the machine's order.
type simple struct {
	*clock
	pace schedule.Pace
}

func (p *simple) mayAsk(int) bool { return true }

func (p *simple) rank(a int) schedule.Rank {
	t := &p.turns[a]
	return schedule.Rank{At: schedule.Tick(t.step), Rest: p.pace.Rest(t.made), Agent: uint32(a)}
}

func (p *simple) learn(a int) { p.pace.Learn(p.turns[a].made) }

// barrier runs step by step: none begins before all of the one before have ended.
type barrier struct {
	simple
	step, open int
}

func (p *barrier) start() { p.all(0) }

func (p *barrier) all(step int) {
	if step == p.trace.Steps {
		return
	}
	p.step, p.open = step, p.trace.Agents
	for a := range p.trace.Agents {
		p.begin(a, step)
	}
}

func (p *barrier) ended(a int) {
	p.learn(a)
	if p.open--; p.open == 0 {
		p.all(p.step + 1)
	}
}

// oracle knows whom each turn really perceives, and waits for nobody else: for those
// in its view, and for those who have just left it.
type oracle struct {
	simple
	done  []int32   // steps that an agent has ended
	after [][]int32 // who waits for an agent; they look again when it has ended a turn
}

func newOracle(c *clock) *oracle {
	return &oracle{simple: simple{clock: c}, done: make([]int32, c.trace.Agents), after: make([][]int32, c.trace.Agents)}
}

func (p *oracle) start() {
	for a := range p.trace.Agents {
		p.try(a)
	}
}

func (p *oracle) ended(a int) {
	p.learn(a)
	p.done[a]++
	again := p.after[a]
	p.after[a] = nil
	p.try(a)
	for _, b := range again {
		p.try(int(b))
	}
}

func (p *oracle) try(a int) {
	s := int(p.done[a])
	if s == p.trace.Steps {
		return
	}
	for _, b := range p.trace.reads(s, a) {
		if int(p.done[b]) < s {
			p.after[b] = append(p.after[b], int32(a))
			return
		}
	}
	p.begin(a, s)
}

// published is the rule of AI Metropolis (Xie and others, arXiv 2411.03519). Agents of
// the same step within radius + speed of each other are coupled; coupled agents, and
// those coupled with these, are a cluster, which begins a step together and goes on
// when all have ended it. A cluster waits while an agent b of an earlier step is within
// radius + (difference of the steps + 1) · speed of one of its agents. Calls of
// earlier steps go first.
type published struct {
	simple
	done    []int32
	grid    grid
	in      []int32 // cluster of an agent that runs; -1 = none
	open    []int   // turns of a cluster that run
	members [][]int32
	spare   []int32 // clusters that have ended
	after   [][]int32
	slowest slowest
}

func newPublished(c *clock) *published {
	n := c.trace.Agents
	p := &published{simple: simple{clock: c}, done: make([]int32, n), in: make([]int32, n), after: make([][]int32, n), grid: newGrid(c.trace), slowest: newSlowest(c.trace)}
	for a := range n {
		p.in[a] = -1
		p.grid.put(a, c.trace.Place(0, a))
	}
	return p
}

func (p *published) start() {
	for a := range p.trace.Agents {
		p.try(a)
	}
}

// try begins the cluster of an agent if nothing blocks it.
func (p *published) try(a int) {
	if p.in[a] >= 0 || int(p.done[a]) == p.trace.Steps {
		return
	}
	cluster := p.cluster(a)
	for _, m := range cluster {
		if b := p.blocker(int(m)); b >= 0 {
			p.after[b] = append(p.after[b], int32(a))
			return
		}
	}
	id := int32(len(p.members))
	if n := len(p.spare); n > 0 {
		id, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		p.members, p.open = append(p.members, nil), append(p.open, 0)
	}
	p.members[id], p.open[id] = cluster, len(cluster)
	for _, m := range cluster {
		p.in[m] = id
		p.begin(int(m), int(p.done[m]))
	}
}

// cluster finds the agents that are coupled with one, directly or by others.
func (p *published) cluster(a int) []int32 {
	list := []int32{int32(a)}
	p.in[a] = int32(len(p.members)) // a mark
	for i := 0; i < len(list); i++ {
		m := int(list[i])
		p.grid.around(p.grid.at[m], p.trace.Radius+p.trace.Speed, func(b int) bool {
			if p.in[b] < 0 && p.done[b] == p.done[m] {
				p.in[b] = p.in[a]
				list = append(list, int32(b))
			}
			return true
		})
	}
	for _, m := range list {
		p.in[m] = -1
	}
	return list
}

func (p *published) blocker(a int) int {
	found := -1
	far := p.trace.Radius + (p.done[a]-p.slowest.step+1)*p.trace.Speed
	p.grid.around(p.grid.at[a], far, func(b int) bool {
		gap := p.done[a] - p.done[b]
		if gap > 0 && apart(p.grid.at[a], p.grid.at[b]) <= p.trace.Radius+(gap+1)*p.trace.Speed {
			found = b
		}
		return found < 0
	})
	return found
}

func (p *published) ended(a int) {
	p.learn(a)
	id := p.in[a]
	if p.open[id]--; p.open[id] > 0 {
		return
	}
	cluster := p.members[id]
	p.spare = append(p.spare, id)
	var again []int32
	for _, m := range cluster {
		p.in[m] = -1
		p.slowest.move(int(p.done[m]))
		p.done[m]++
		p.grid.put(int(m), p.trace.Place(int(p.done[m]), int(m)))
		again = append(again, p.after[m]...)
		p.after[m] = nil
	}
	for _, list := range [][]int32{cluster, again} {
		for _, m := range list {
			p.try(int(m))
		}
	}
}

// slowest is the earliest step that an agent is at.
type slowest struct {
	step  int32
	count []int // agents at a step
}

func newSlowest(t *Trace) slowest {
	s := slowest{count: make([]int, t.Steps+1)}
	s.count[0] = t.Agents
	return s
}

// move counts that an agent has ended a step.
func (s *slowest) move(step int) {
	s.count[step]--
	s.count[step+1]++
	for int(s.step) < len(s.count)-1 && s.count[s.step] == 0 {
		s.step++
	}
}
