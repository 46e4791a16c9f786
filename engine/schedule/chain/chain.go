// Package chain finds the critical path of a run: the turns whose model calls it waited for.
//
// You [Add] every committed turn, in the order of the waves, with how long its calls took, and how long they
// waited at the gates of endpoints. [Paths.Show] says how long the calls took together, and how long a run
// takes that waits only for them:
//
//   - at the barrier: each wave waits for its slowest turn, with its waits. Without an agent it would wait
//     for the next one; and where calls waited at gates, the others would have had the places of the agent's;
//   - as declared: a turn waits for the agent's own turn before, and for earlier turns of agents
//     whose class may touch its own ([schedule.Through]). It is what the schedule "tracked" can
//     come to, with enough places at the endpoints;
//   - by its longest agent: no schedule lets an agent take two turns at once.
//
// Paths is a machine: it knows no clock and starts nothing. It holds some words for each agent, and
// for each change of the agent along a chain that may still become the longest.
package chain

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tavernsim/engine/schedule"
)

// MaxClasses bounds the classes of whose chains the declared one is found: each turn looks at all
// that may touch its own.
const MaxClasses = 64

// Turn is a committed turn.
type Turn struct {
	Agent uint32
	Class int
	Wave  uint64
	At    int64 // of the scene's clock
	Times
}

// Times are how long the calls of a turn were under way, added up.
type Times struct {
	Took  time.Duration // until they were answered
	Waits []Wait        // before that, and between attempts; one for each gate
	Calls []Call        // those that passed gates, in the order in which they were asked
}

// Wait is how long calls waited at the gate of an endpoint, for a place or for the next attempt.
type Wait struct {
	Gate string
	For  time.Duration
}

// Call is how long one call was under way.
type Call struct {
	Took   time.Duration
	Waits  []Wait
	Gate   string // that it passed last; "" = it passed none
	Places int    // of the gate: as many calls may be out when it is open
}

// Passed notes that a call passed a gate with some places, and how long it waited there.
func (c *Call) Passed(gate string, places int, d time.Duration) {
	c.Gate, c.Places = gate, places
	if d > 0 {
		c.Waits = waited(c.Waits, Wait{gate, d})
	}
}

func (c *Call) waited() (d time.Duration) {
	for _, w := range c.Waits {
		d += w.For
	}
	return d
}

// Add adds a call.
func (t *Times) Add(c Call) {
	t.Took += c.Took
	for _, w := range c.Waits {
		t.Waits = waited(t.Waits, w)
	}
	if c.Gate != "" {
		t.Calls = append(t.Calls, c)
	}
}

// waited adds a wait to those of its gate.
func waited(list []Wait, w Wait) []Wait {
	for i := range list {
		if list[i].Gate == w.Gate {
			list[i].For += w.For
			return list
		}
	}
	return append(list, w)
}

// whole is how long the turn was under way.
func (t *Times) whole() time.Duration {
	d := t.Took
	for _, w := range t.Waits {
		d += w.For
	}
	return d
}

// Paths are the chains of a run so far.
type Paths struct {
	touches [][]int // by class: those that may touch it; nil = the declared chain is not found
	waves   int64
	total   time.Duration
	agents  []agent // by ordinal

	wave    uint64
	slowest Turn          // of the open wave
	next    time.Duration // of the open wave: the whole of its slowest turn of another agent
	barrier time.Duration
	waits   []Wait // of the turns that waves waited for
	again   replay

	now    int64
	open   []*link // by class: the longest chain with a turn of now
	before []*link // by class: that with an earlier turn
}

// agent is what an agent took.
type agent struct {
	took, barrier, saves time.Duration
	chain                *link // up to its last turn
}

// link is a part of a chain in which one agent acts.
type link struct {
	agent  uint32
	took   time.Duration
	length time.Duration // of the chain up to here
	before *link
}

func (l *link) until() time.Duration {
	if l == nil {
		return 0
	}
	return l.length
}

func later(a, b *link) *link {
	if b.until() > a.until() {
		return b
	}
	return a
}

// New begins without turns.
func New(classes []schedule.Class) (*Paths, error) {
	p := &Paths{now: math.MinInt64}
	if len(classes) > MaxClasses {
		return p, nil
	}
	p.touches = make([][]int, len(classes))
	p.open, p.before = make([]*link, len(classes)), make([]*link, len(classes))
	for a := range classes {
		p.touches[a] = []int{}
		for b := range classes {
			through, err := schedule.Through(classes[a], classes[b])
			if err != nil {
				return nil, err
			}
			if through != 0 {
				p.touches[a] = append(p.touches[a], b)
			}
		}
	}
	return p, nil
}

// Add takes a turn.
func (p *Paths) Add(t Turn) {
	if t.Wave != p.wave {
		p.close()
		p.wave = t.Wave
	}
	if t.whole() > p.slowest.whole() {
		if t.Agent != p.slowest.Agent {
			p.next = p.slowest.whole()
		}
		p.slowest = t
	} else if t.Agent != p.slowest.Agent {
		p.next = max(p.next, t.whole())
	}
	p.again.add(&t)
	p.total += t.Took
	if n := int(t.Agent) + 1; n > len(p.agents) {
		p.agents = slices.Grow(p.agents, n-len(p.agents))[:n]
	}
	a := &p.agents[t.Agent]
	a.took += t.Took
	if p.touches != nil {
		p.follow(a, &t)
	}
}

// close ends the open wave: it has waited for its slowest turn.
func (p *Paths) close() {
	if s := &p.slowest; s.whole() > 0 {
		p.waves++
		p.barrier += s.whole()
		for _, w := range s.Waits {
			p.waits = waited(p.waits, w)
		}
		p.agents[s.Agent].barrier += s.whole()
		p.again.saves(s, p.next, func(a uint32, less time.Duration) { p.agents[a].saves += less })
	}
	p.slowest, p.next = Turn{}, 0
	p.again.clear()
}

// follow puts a turn behind the longest of what it waits for.
func (p *Paths) follow(a *agent, t *Turn) {
	if t.At != p.now {
		for i, l := range p.open {
			p.before[i], p.open[i] = later(p.before[i], l), nil
		}
		p.now = t.At
	}
	after := a.chain
	for _, by := range p.touches[t.Class] {
		after = later(after, p.before[by])
	}
	switch {
	case t.Took <= 0:
		a.chain = after
	case after != nil && after.agent == t.Agent:
		a.chain = &link{t.Agent, after.took + t.Took, after.length + t.Took, after.before}
	default:
		a.chain = &link{t.Agent, t.Took, after.until() + t.Took, after}
	}
	p.open[t.Class] = later(p.open[t.Class], a.chain)
}

// Shown is what the paths of a run are.
type Shown struct {
	Model     time.Duration // of all calls, without waits
	Barrier   time.Duration // of the slowest turn of each wave
	Waits     []Wait        // of it, at gates; the longest first
	Declared  time.Duration // 0 = it was not looked for
	Longest   time.Duration // of one agent's own calls
	LongestOf uint32
	Waves     int64  // that waited for a model
	Agents    []Part // by what the barrier's path would be shorter without them, by what they have of it, then of all
	Chain     []Part // the declared one, from the beginning: whose calls follow each other
}

// Part is what an agent has of the paths.
type Part struct {
	Agent   uint32
	Took    time.Duration // by all its calls; of Chain: by those of this part
	Barrier time.Duration // by its turns that were the slowest of their waves, with their waits
	Saves   time.Duration // as much shorter the barrier's would be without it, as far as that is known; 0 = not shorter
}

// Show shows the paths so far.
func (p *Paths) Show() Shown {
	p.close()
	s := Shown{Model: p.total, Barrier: p.barrier, Waits: slices.Clone(p.waits), Waves: p.waves}
	slices.SortFunc(s.Waits, func(a, b Wait) int { return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.Gate, b.Gate)) })
	var longest *link
	for i, a := range p.agents {
		o := uint32(i)
		if a.took <= 0 && a.barrier <= 0 {
			continue
		}
		s.Agents = append(s.Agents, Part{o, a.took, a.barrier, max(0, a.saves)})
		if a.took > s.Longest || a.took == s.Longest && o < s.LongestOf {
			s.Longest, s.LongestOf = a.took, o
		}
		if longest.until() < a.chain.until() || longest.until() == a.chain.until() && longest != nil && a.chain.agent < longest.agent {
			longest = a.chain
		}
	}
	slices.SortFunc(s.Agents, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Saves, a.Saves), cmp.Compare(b.Barrier, a.Barrier), cmp.Compare(b.Took, a.Took), cmp.Compare(a.Agent, b.Agent))
	})
	s.Declared = longest.until()
	for l := longest; l != nil; l = l.before {
		s.Chain = append(s.Chain, Part{Agent: l.agent, Took: l.took})
	}
	slices.Reverse(s.Chain)
	return s
}
