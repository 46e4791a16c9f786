package schedule

import "math"

// index finds agents by place and time. The map is cut into squares; four neighbours
// are one square of the level above, up to a single one. Each square holds the
// earliest and the latest next turn of the agents in it, so a search leaves out every
// square whose oldest agent cannot have come near, however far the search goes.
// Squares at the edge of the map hold what lies beyond it.
type index struct {
	side   int64 // of a square, in cells
	x0, y0 int64
	levels []level

	square     []int32 // of an agent; -1 = it has no place
	head       []int32 // first agent of a square; -1 = none
	next, prev []int32 // within a square
	at         []Tick  // next turn of an agent
	late       []Tick  // the same, or of one without a next turn the tick after its last
	place      []Cell
}

type level struct {
	w, h        int32
	first, last []Tick
}

// maxSide bounds the squares of one side of the map.
const maxSide = 4096

func newIndex(c Config, agents []Agent) index {
	x := index{square: make([]int32, len(agents)), next: make([]int32, len(agents)), prev: make([]int32, len(agents)), at: make([]Tick, len(agents)), late: make([]Tick, len(agents)), place: make([]Cell, len(agents))}
	near, placed := int64(1), 0
	lo, hi := Cell{math.MaxInt32, math.MaxInt32}, Cell{math.MinInt32, math.MinInt32}
	for i, a := range agents {
		x.at[i], x.late[i], x.place[i], x.square[i] = a.Next, a.Next, a.Place, -1
		if a.Next == Never {
			x.late[i] = math.MinInt64
		}
		if p := c.Classes[a.Class].Space; p != nil {
			placed++
			near = max(near, int64(p.Radius), int64(p.Reach))
			lo = Cell{min(lo.X, a.Place.X), min(lo.Y, a.Place.Y)}
			hi = Cell{max(hi.X, a.Place.X), max(hi.Y, a.Place.Y)}
		}
	}
	if placed == 0 {
		return x
	}
	if c.Width > 0 {
		lo.X, hi.X = min(lo.X, 0), max(hi.X, c.Width-1)
	}
	if c.Height > 0 {
		lo.Y, hi.Y = min(lo.Y, 0), max(hi.Y, c.Height-1)
	}
	x.x0, x.y0 = int64(lo.X), int64(lo.Y)
	w, h := int64(hi.X)-x.x0+1, int64(hi.Y)-x.y0+1
	x.side = max(near, int64(math.Sqrt(float64(w)*float64(h)/float64(4*placed))), (max(w, h)+maxSide-1)/maxSide)
	x.build(int32((w+x.side-1)/x.side), int32((h+x.side-1)/x.side))
	for i, a := range agents {
		if c.Classes[a.Class].Space != nil {
			x.enter(int32(i), x.squareOf(a.Place))
		}
	}
	return x
}

func (x *index) build(w, h int32) {
	x.head = make([]int32, w*h)
	for i := range x.head {
		x.head[i] = -1
	}
	for {
		l := level{w: w, h: h, first: make([]Tick, w*h), last: make([]Tick, w*h)}
		for i := range l.first {
			l.first[i], l.last[i] = Never, math.MinInt64
		}
		x.levels = append(x.levels, l)
		if w == 1 && h == 1 {
			return
		}
		w, h = (w+1)/2, (h+1)/2
	}
}

func (x *index) squareOf(p Cell) int32 {
	l := &x.levels[0]
	i := min(max((int64(p.X)-x.x0)/x.side, 0), int64(l.w)-1)
	j := min(max((int64(p.Y)-x.y0)/x.side, 0), int64(l.h)-1)
	return int32(j)*l.w + int32(i)
}

// move gives an agent another time and place.
func (x *index) move(a uint32, at, late Tick, place Cell) {
	x.at[a], x.late[a], x.place[a] = at, late, place
	was := x.square[a]
	if was < 0 {
		return
	}
	if now := x.squareOf(place); now != was {
		x.leave(int32(a))
		x.refresh(was)
		x.enter(int32(a), now)
		return
	}
	x.refresh(was)
}

func (x *index) enter(a, sq int32) {
	first := x.head[sq]
	x.square[a], x.head[sq], x.prev[a], x.next[a] = sq, a, -1, first
	if first >= 0 {
		x.prev[first] = a
	}
	x.refresh(sq)
}

func (x *index) leave(a int32) {
	p, n := x.prev[a], x.next[a]
	if p >= 0 {
		x.next[p] = n
	} else {
		x.head[x.square[a]] = n
	}
	if n >= 0 {
		x.prev[n] = p
	}
}

// refresh computes the times of a square again, and of those above as far as they
// change.
func (x *index) refresh(sq int32) {
	l := &x.levels[0]
	first, last := Never, Tick(math.MinInt64)
	for a := x.head[sq]; a >= 0; a = x.next[a] {
		first, last = min(first, x.at[a]), max(last, x.late[a])
	}
	i, j := sq%l.w, sq/l.w
	for k := 0; ; k++ {
		if l.first[sq] == first && l.last[sq] == last {
			return
		}
		l.first[sq], l.last[sq] = first, last
		if k+1 == len(x.levels) {
			return
		}
		i, j = i/2, j/2
		first, last = l.quarter(i, j)
		l = &x.levels[k+1]
		sq = j*l.w + i
	}
}

// quarter joins the up to four squares below square i, j of the level above.
func (l *level) quarter(i, j int32) (first, last Tick) {
	first, last = Never, math.MinInt64
	for y := 2 * j; y < min(2*j+2, l.h); y++ {
		for x := 2 * i; x < min(2*i+2, l.w); x++ {
			first, last = min(first, l.first[y*l.w+x]), max(last, l.last[y*l.w+x])
		}
	}
	return first, last
}

// reach is how far a place is from a square, at least.
func (x *index) reach(p Cell, k int, i, j int32) int64 {
	size := x.side << k
	side := func(v, from int64, n, of int32) int64 {
		lo, hi := from+int64(n)*size, from+int64(n+1)*size-1
		switch {
		case v < lo && n > 0:
			return lo - v
		case v > hi && n < of-1:
			return v - hi
		}
		return 0
	}
	l := &x.levels[k]
	return max(side(int64(p.X), x.x0, i, l.w), side(int64(p.Y), x.y0, j, l.h))
}

// search is a walk over the squares that may hold what is looked for; far says how
// far from the place agents between two times may be.
type search struct {
	x     *index
	place Cell
	far   func(first, last Tick) int64 // below 0 = none of these
	stack [4 * 32]struct {
		k    int8
		i, j int32
	}
	depth int
	agent int32 // next of the square that is open
}

func (x *index) search(s *search, p Cell, far func(first, last Tick) int64) {
	s.x, s.place, s.far, s.agent, s.depth = x, p, far, -1, 0
	if len(x.levels) > 0 {
		s.push(len(x.levels)-1, 0, 0)
	}
}

func (s *search) push(k int, i, j int32) {
	l := &s.x.levels[k]
	sq := j*l.w + i
	if l.first[sq] == Never && l.last[sq] == math.MinInt64 {
		return
	}
	if far := s.far(l.first[sq], l.last[sq]); far >= 0 && s.x.reach(s.place, k, i, j) <= far {
		s.stack[s.depth].k, s.stack[s.depth].i, s.stack[s.depth].j = int8(k), i, j
		s.depth++
	}
}

// agents gives the agents one after the other; false at the end.
func (s *search) agents() (uint32, bool) {
	for {
		if a := s.agent; a >= 0 {
			s.agent = s.x.next[a]
			return uint32(a), true
		}
		if s.depth == 0 {
			return 0, false
		}
		s.depth--
		n := s.stack[s.depth]
		if n.k == 0 {
			s.agent = s.x.head[n.j*s.x.levels[0].w+n.i]
			continue
		}
		below := &s.x.levels[n.k-1]
		for y := 2 * n.j; y < min(2*n.j+2, below.h); y++ {
			for i := 2 * n.i; i < min(2*n.i+2, below.w); i++ {
				s.push(int(n.k)-1, i, y)
			}
		}
	}
}
