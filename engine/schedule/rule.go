package schedule

// laggard is an agent whose next turn is earlier than another's, and that can still
// do something the other's turn reads.
type laggard struct {
	agent   uint32
	why     Reason
	through Resource // 0 = space
	gap     Tick     // how much earlier
	dist    int64    // of the places
	spare   int64    // cells less than it would need to be out of reach
	touch   *touch
}

// reaches is the rule: whether b, whose next turn is earlier than a's, may still be
// perceived by a's next turn, or do something that is.
//
//	space  dist ≤ near + speed · (gap + 1)
//	event  the time of b's turn + the least delay < the time of a's
//	world, base  always
//
// The one tick more in space: b speaks where it stands after its move, and a hears
// where it stood before its own.
func (s *State) reaches(a, b uint32, resources Resource) (l laggard, yes bool) {
	gap := s.index.at[a] - s.index.at[b]
	if gap <= 0 || a == b {
		return l, false
	}
	t := &s.touch[s.rows[a].class][s.rows[b].class]
	l = laggard{agent: b, gap: gap, touch: t}
	if resources == 0 {
		if !t.spatial {
			return l, false
		}
		l.why, l.dist = BySpace, apart(s.index.place[a], s.index.place[b])
		l.spare = t.near + t.speed*int64(gap+1) - l.dist
		return l, l.spare >= 0
	}
	switch through := t.through & resources; {
	case through&World != 0:
		l.why, l.through = ByWorld, World
	case through&Base != 0:
		l.why, l.through = ByBase, Base
	case through&Event != 0 && t.delay < gap:
		l.why, l.through = ByEvent, Event
	default:
		return l, false
	}
	return l, true
}

// until is the earliest time to which b must have come before a need look again.
func (s *State) until(a uint32, l laggard) Tick {
	at := s.index.at[a]
	switch {
	case l.through == Event:
		return at - l.touch.delay
	case l.through != 0 || l.touch.speed == 0:
		return at
	}
	// b gets out of reach the faster by walking away: each tick takes its speed
	// from what it can travel and adds its speed to the distance.
	return min(at, s.index.at[l.agent]+Tick(l.spare/(2*l.touch.speed)+1))
}

// blocker finds an agent that a's next turn waits for; why = Free if there is none.
func (s *State) blocker(a uint32) (b uint32, why Reason, until Tick) {
	for _, k := range s.reach[s.rows[a].class].others {
		if h := s.times[k].heap; len(h) > 0 {
			if l, yes := s.reaches(a, h[0], World|Event|Base); yes {
				return h[0], l.why, s.until(a, l)
			}
		}
	}
	var w search
	s.near(a, &w)
	for b, ok := w.agents(); ok; b, ok = w.agents() {
		if l, yes := s.reaches(a, b, 0); yes {
			return b, l.why, s.until(a, l)
		}
	}
	return 0, Free, 0
}

// near searches the agents that may be in reach of a's next turn.
func (s *State) near(a uint32, w *search) {
	at, e := s.index.at[a], s.reach[s.rows[a].class]
	if w.agent = -1; s.index.square[a] < 0 {
		return
	}
	s.index.search(w, s.index.place[a], func(first, _ Tick) int64 {
		if first >= at {
			return -1
		}
		return e.near + e.speed*int64(at-first+1)
	})
}

// watchers are agents that are looked at again when others have moved on. Each
// watches a few at most; none is in a list twice.
type watchers struct {
	head []int32 // by whom is watched: its first entry; -1 = none
	next []int32 // entries: maxWatched for each watcher
	prev []int32
	of   []int32 // who is watched; -1 = the entry is free
	till []Tick
	used []uint8 // entries of a watcher
}

// maxWatched is how many agents one watches: a call that is too risky waits for the
// riskiest.
const maxWatched = 4

func newWatchers(n int) watchers {
	w := watchers{head: make([]int32, n), next: make([]int32, n*maxWatched), prev: make([]int32, n*maxWatched), of: make([]int32, n*maxWatched), till: make([]Tick, n*maxWatched), used: make([]uint8, n)}
	for i := range w.head {
		w.head[i] = -1
	}
	for i := range w.of {
		w.of[i] = -1
	}
	return w
}

// only makes a watch b and nobody else.
func (w *watchers) only(a, b uint32, till Tick) {
	w.none(a)
	w.add(a, b, till)
}

func (w *watchers) add(a, b uint32, till Tick) {
	e := int32(a)*maxWatched + int32(w.used[a])
	w.used[a]++
	first := w.head[b]
	w.of[e], w.till[e], w.prev[e], w.next[e], w.head[b] = int32(b), till, -1, first, e
	if first >= 0 {
		w.prev[first] = e
	}
}

// none ends what a watches.
func (w *watchers) none(a uint32) {
	for i := range int32(w.used[a]) {
		w.remove(int32(a)*maxWatched + i)
	}
	w.used[a] = 0
}

func (w *watchers) remove(e int32) {
	b := w.of[e]
	if b < 0 {
		return
	}
	if p := w.prev[e]; p >= 0 {
		w.next[p] = w.next[e]
	} else {
		w.head[b] = w.next[e]
	}
	if n := w.next[e]; n >= 0 {
		w.prev[n] = w.prev[e]
	}
	w.of[e] = -1
}

// fire calls those that waited for b to come to a time.
func (w *watchers) fire(b uint32, at Tick, call func(uint32)) {
	for e := w.head[b]; e >= 0; {
		next := w.next[e]
		if w.till[e] <= at {
			w.remove(e)
			call(uint32(e / maxWatched))
		}
		e = next
	}
}
