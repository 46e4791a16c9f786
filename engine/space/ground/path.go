package ground

import (
	"strings"
	"time"
)

// A path is a text with a digit for each step: its direction, 0 is north, clockwise. Without
// a grid the digit is that of an exit.

// Directions are the words for one step, in the order of their digits.
func Directions() []string {
	return []string{"north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"}
}

// Step is the change of x and y in a direction; y grows to the south.
func Step(d int) (dx, dy int) {
	const xs, ys = "\x01\x02\x02\x02\x01\x00\x00\x00", "\x00\x00\x01\x02\x02\x02\x01\x00"
	return int(xs[d]) - 1, int(ys[d]) - 1
}

// direction is the digit of a step towards a cell that is not this one.
func direction(x, y, tx, ty int) int {
	dx, dy := sign(tx-x), sign(ty-y)
	for d := range 8 {
		if sx, sy := Step(d); sx == dx && sy == dy {
			return d
		}
	}
	return 0
}

func sign(n int) int { return min(max(n, -1), 1) }

// Open reports whether somebody can step from a cell in a direction: the next cell is free,
// and one of the two that a diagonal step passes.
func (m *Map) Open(x, y, d int) bool {
	dx, dy := Step(d)
	return m.Free(x+dx, y+dy) && (dx == 0 || dy == 0 || m.Free(x+dx, y) || m.Free(x, y+dy))
}

// MaxSearch bounds the cells that the search for one path looks at.
const MaxSearch = 1 << 20

// Finder searches paths. Its memory is used again.
type Finder struct {
	run  uint32
	seen []visit // by cell
	heap []node
}

// visit is what a search knows of a cell.
type visit struct {
	run  uint32 // of which search
	cost uint32
	dir  uint8 // of the step that led here
}

// node is a cell to be looked at.
type node struct{ total, left, cell uint32 }

// less orders nodes: the shortest way, then the nearest to the end, then by cell.
func (a node) less(b node) bool {
	if a.total != b.total {
		return a.total < b.total
	}
	if a.left != b.left {
		return a.left < b.left
	}
	return a.cell < b.cell
}

// Find is a shortest path between two free cells; false = there is none, or it is too far
// to find. Equal maps give equal paths.
func (f *Finder) Find(m *Map, from, to uint32) (path string, ok bool) {
	if m.Joined() {
		return m.through(from, to)
	}
	if path, ok = m.straight(from, to); ok {
		return path, true
	}
	return f.search(m, from, to)
}

// straight is the path that always steps towards the end.
func (m *Map) straight(from, to uint32) (string, bool) {
	x, y := m.At(from)
	tx, ty := m.At(to)
	var b strings.Builder
	b.Grow(Distance(x, y, tx, ty))
	for x != tx || y != ty {
		d := direction(x, y, tx, ty)
		if !m.Open(x, y, d) {
			return "", false
		}
		dx, dy := Step(d)
		x, y = x+dx, y+dy
		b.WriteByte(byte('0' + d))
	}
	return b.String(), true
}

// search is A* with the distance of an empty grid.
func (f *Finder) search(m *Map, from, to uint32) (string, bool) {
	if f.seen == nil {
		f.seen = make([]visit, m.Width*m.Height)
	}
	f.run++
	f.heap = f.heap[:0]
	tx, ty := m.At(to)
	f.seen[from] = visit{run: f.run}
	f.push(node{cell: from})
	for n := 0; len(f.heap) > 0 && n < MaxSearch; n++ {
		at := f.pop()
		if at.cell == to {
			return f.back(m, from, to), true
		}
		cost := f.seen[at.cell].cost
		if at.total-at.left > cost {
			continue // a shorter way was found since
		}
		x, y := m.At(at.cell)
		for d := range 8 {
			if !m.Open(x, y, d) {
				continue
			}
			dx, dy := Step(d)
			next := m.Cell(x+dx, y+dy)
			if v := &f.seen[next]; v.run != f.run || v.cost > cost+1 {
				*v = visit{f.run, cost + 1, uint8(d)}
				left := uint32(Distance(x+dx, y+dy, tx, ty))
				f.push(node{cost + 1 + left, left, next})
			}
		}
	}
	return "", false
}

// back reads the steps from the end.
func (f *Finder) back(m *Map, from, to uint32) string {
	path := make([]byte, f.seen[to].cost)
	for i, c := len(path)-1, to; c != from; i-- {
		d := int(f.seen[c].dir)
		path[i] = byte('0' + d)
		x, y := m.At(c)
		dx, dy := Step(d)
		c = m.Cell(x-dx, y-dy)
	}
	return string(path)
}

func (f *Finder) push(n node) {
	h := append(f.heap, n)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].less(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	f.heap = h
}

func (f *Finder) pop() node {
	h := f.heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(h) && h[k].less(h[least]) {
				least = k
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	f.heap = h
	return top
}

// Follows reports whether a path leads from a cell to another one.
func (m *Map) Follows(from uint32, path string, tx, ty int) bool {
	for i := range len(path) {
		d := int(path[i]) - '0'
		if m.Joined() {
			if d < 0 || d >= len(m.exits[from]) {
				return false
			}
		} else if x, y := m.At(from); d < 0 || d > 7 || !m.Open(x, y, d) {
			return false
		}
		from = m.After(from, path[i])
	}
	return from == m.Cell(tx, ty)
}

// After is the cell to which a step of a path leads.
func (m *Map) After(from uint32, step byte) uint32 {
	if m.Joined() {
		return m.exits[from][step-'0'].to
	}
	dx, dy := Step(int(step - '0'))
	return uint32(int(from) + dy*m.Width + dx)
}

// Takes is the time of a step through an exit.
func (m *Map) Takes(from uint32, step byte) time.Duration { return m.exits[from][step-'0'].takes }

// Along is the cell at the end of a path.
func (m *Map) Along(from uint32, path string) uint32 {
	for i := range len(path) {
		from = m.After(from, path[i])
	}
	return from
}

// Distance is the number of steps between two cells of an empty grid (Chebyshev).
func Distance(x, y, ox, oy int) int { return max(abs(x-ox), abs(y-oy)) }

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
