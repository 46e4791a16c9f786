package schedule

import (
	"cmp"
	"math/bits"
	"slices"
)

// A turn that runs ahead bets on every agent that might still reach it. The bet is
// lost if that agent's turns undo it, and won if the agent comes past it. What became
// of bets alike gives the risk of the next.

// chance is what became of bets of one kind.
type chance struct{ tries, hits int32 }

// risk is the share of bets that are lost, carefully as long as there were few.
func (c chance) risk() float64 { return (0.3 + float64(c.hits)) / (2 + float64(c.tries)) }

const (
	gapSteps, distSteps, waySteps, restSteps = 6, 10, 3, 2
	spaceKinds                               = gapSteps * distSteps * waySteps * restSteps
)

// risks is the table learnt in a run.
type risks struct {
	space  [spaceKinds]chance
	others []chance // by pair of classes and resource
	pairs  int      // classes that have pairs of their own; the rest share
}

// maxPairs bounds the classes whose pairs are learnt apart.
const maxPairs = 64

func newRisks(classes int) risks {
	n := min(classes, maxPairs)
	return risks{others: make([]chance, n*n*resources), pairs: n}
}

// kind is the number of the chance that a bet has; those outside of space come after
// those in it.
func (s *State) kind(a uint32, l laggard) int32 {
	if l.through != 0 {
		n := s.learned.pairs
		i, j := int(s.rows[a].class)%n, int(s.rows[l.agent].class)%n
		return int32(spaceKinds + (i*n+j)*resources + bits.TrailingZeros8(uint8(l.through)))
	}
	k := gapStep(l.gap)
	k = k*distSteps + s.distStep(a, l)
	k = k*waySteps + s.way(a, l.agent)
	k = k * restSteps
	if s.rows[a].from != s.index.place[a] {
		k++
	}
	return int32(k)
}

func (r *risks) of(kind int32) *chance {
	if kind < spaceKinds {
		return &r.space[kind]
	}
	return &r.others[kind-spaceKinds]
}

func gapStep(gap Tick) int {
	for i, most := range [...]Tick{1, 2, 4, 8, 20} {
		if gap <= most {
			return i
		}
	}
	return gapSteps - 1
}

// distStep is the share of what b could travel that it has to until one of a's turns
// ahead perceives it, in tenths; the least of them. If one of these turns has b in
// view, it is 0: what b does will be news, wherever a has gone since.
func (s *State) distStep(a uint32, l laggard) int {
	from, p := s.index.at[l.agent], s.index.place[l.agent]
	step := distOf(l.dist-l.touch.near, l.touch.speed, l.gap)
	turns := s.rows[a].turns
	for i := len(turns) - 1; i >= 0 && turns[i].at > from && step > 0; i-- {
		step = min(step, distOf(apart(turns[i].place, p)-l.touch.near, l.touch.speed, turns[i].at-from))
	}
	return step
}

func distOf(need, speed int64, gap Tick) int {
	if need <= 0 || speed == 0 {
		return 0
	}
	return int(min(1+need*(distSteps-1)/(speed*int64(gap+1)+1), distSteps-1))
}

// way is whether b rested in its last turn, came nearer to a, or went away.
func (s *State) way(a, b uint32) int {
	was, is := s.rows[b].from, s.index.place[b]
	if was == is {
		return 0
	}
	if p := s.index.place[a]; apart(is, p) < apart(was, p) {
		return 1
	}
	return 2
}

// bet is one turn's on one agent, which keeps it.
type bet struct {
	at     Tick
	serial uint64 // of the turn
	agent  uint32 // who has the turn
	kind   int32
}

// bets on an agent, a heap by time.
type bets struct {
	heap []bet
	trim int // the length at which those of turns undone are thrown out
}

// maxLaggards is how many agents a turn bets on; if there are more, it does not begin.
const maxLaggards = 32

// laggards calls f for every agent that may still reach a's next turn, until f has had
// enough.
func (s *State) laggards(a uint32, f func(laggard) bool) {
	for _, k := range s.reach[s.rows[a].class].others {
		// Of a class the earliest ones: whoever comes after them in the heap is later.
		if h := s.times[k].heap; !s.earlier(a, h, 0, f) {
			return
		}
	}
	var w search
	s.near(a, &w)
	for b, ok := w.agents(); ok; b, ok = w.agents() {
		if l, yes := s.reaches(a, b, 0); yes && !f(l) {
			return
		}
	}
}

// earlier walks the part of a heap whose agents reach a's turn outside of space.
func (s *State) earlier(a uint32, heap []uint32, i int, f func(laggard) bool) bool {
	if i >= len(heap) || s.index.at[heap[i]] >= s.index.at[a] {
		return true
	}
	if l, yes := s.reaches(a, heap[i], World|Event|Base); yes && !f(l) {
		return false
	}
	return s.earlier(a, heap, 2*i+1, f) && s.earlier(a, heap, 2*i+2, f)
}

// crowd lists the laggards of a's next turn, and reports whether there are no more than
// a turn bets on.
func (s *State) crowd(a uint32) bool {
	s.found = s.found[:0]
	s.laggards(a, func(l laggard) bool {
		s.found = append(s.found, l)
		return len(s.found) <= maxLaggards
	})
	return len(s.found) <= maxLaggards
}

// bet makes the bets of the turn that a begins, on the laggards that crowd has found.
func (s *State) bet(a uint32) {
	r := &s.rows[a]
	for _, l := range s.found {
		s.rows[l.agent].bets.push(bet{at: r.run.at, serial: r.run.serial, agent: a, kind: s.kind(a, l)}, s)
		r.run.open++
	}
}

func (b *bets) push(one bet, s *State) {
	if len(b.heap) >= max(b.trim, 256) {
		b.heap = slices.DeleteFunc(b.heap, func(o bet) bool { return s.turnOf(o.agent, o.at, o.serial) == nil })
		slices.SortFunc(b.heap, func(x, y bet) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.serial, y.serial)) })
		b.trim = 2 * len(b.heap)
	}
	b.heap = append(b.heap, one)
	for i := len(b.heap) - 1; i > 0; {
		p := (i - 1) / 2
		if b.heap[p].at <= b.heap[i].at {
			return
		}
		b.heap[i], b.heap[p] = b.heap[p], b.heap[i]
		i = p
	}
}

func (b *bets) pop() bet {
	top, last := b.heap[0], len(b.heap)-1
	b.heap[0] = b.heap[last]
	b.heap = b.heap[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return top
		}
		if c+1 < last && b.heap[c+1].at < b.heap[c].at {
			c++
		}
		if b.heap[i].at <= b.heap[c].at {
			return top
		}
		b.heap[i], b.heap[c] = b.heap[c], b.heap[i]
		i = c
	}
}

// decide takes the bets on an agent that it has come past: whoever has such a bet may
// have seen it where it is no more, and has to look.
func (s *State) decide(b uint32, of Tick) {
	list := &s.rows[b].bets
	for len(list.heap) > 0 && list.heap[0].at <= s.index.at[b] {
		one := list.pop()
		if s.turnOf(one.agent, one.at, one.serial) != nil {
			s.deciding = append(s.deciding, one)
			s.checks = append(s.checks, check{Check{Agent: one.agent, At: one.at, By: b, Of: of}, one.serial, b})
		}
	}
}

// settle learns from the bets that are decided: no check is open any more.
func (s *State) settle() {
	for _, one := range s.deciding {
		s.learned.of(one.kind).tries++
		t := s.turnOf(one.agent, one.at, one.serial)
		if t == nil {
			s.learned.of(one.kind).hits++
			continue
		}
		if t.open--; t.open == 0 {
			s.spent.safe(t)
		}
	}
	s.deciding = s.deciding[:0]
}

// lost learns from the later turns that are undone with one: they had bet on the same
// agent.
func (s *State) lost(a uint32, t *turn) {
	if t.open == 0 {
		return
	}
	for _, one := range s.rows[s.root].bets.heap {
		if one.agent == a && one.serial == t.serial {
			c := s.learned.of(one.kind)
			c.tries++
			c.hits++
			return
		}
	}
}

// mayAsk judges the next paid call of a's turn, and counts it. If it is too risky, a
// watches the agents that make it so.
func (s *State) mayAsk(a uint32) bool {
	r := &s.rows[a]
	risk := 0.0
	if s.cfg.Mode == Speculative {
		var top worst
		if risk = s.risk(a, &top); !s.spent.allows(risk, len(r.turns)) {
			s.watch.none(a)
			r.risk = risk
			for _, one := range top.list[:top.n] {
				s.watch.add(a, one.agent, s.index.at[one.agent]+1)
			}
			return s.waits(a, ByRisk)
		}
	}
	s.watch.none(a)
	r.why = Free
	r.run.calls++
	s.tally.Calls++
	s.spent.ask(&r.run, risk)
	return true
}

// risk is that a call of a's turn, made now, is wasted.
func (s *State) risk(a uint32, top *worst) float64 {
	safe := 1.0
	s.laggards(a, func(l laggard) bool {
		p := s.learned.of(s.kind(a, l)).risk()
		top.add(l.agent, p)
		safe *= 1 - p
		return true
	})
	return 1 - safe
}

// worst are the riskiest agents.
type worst struct {
	list [maxWatched]struct {
		agent uint32
		p     float64
	}
	n int
}

func (w *worst) add(a uint32, p float64) {
	if w.n < maxWatched {
		w.list[w.n].agent, w.list[w.n].p = a, p
		w.n++
		return
	}
	least := 0
	for i := range w.list {
		if w.list[i].p < w.list[least].p {
			least = i
		}
	}
	if p > w.list[least].p {
		w.list[least].agent, w.list[least].p = a, p
	}
}
