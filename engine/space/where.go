package space

import (
	"slices"

	"tavernsim/engine/space/ground"
)

// where is who stands where. Numbers are one more than what they mean: 0 = nothing.
type where struct {
	m    *ground.Map
	pos  pages // of an agent: its cell
	head pages // of a bucket: the first agent in it
	next pages // of an agent: the next one in its bucket
	prev pages // of an agent: the one before it
	dest pages // of an agent: the cell that it walks to
	// inside counts the agents in each place.
	inside pages
	// outside are the agents that are nowhere, ascending. It is copied before it changes.
	outside []uint32
}

func (w *where) share() where {
	return where{m: w.m, pos: w.pos.share(), head: w.head.share(), next: w.next.share(), prev: w.prev.share(), dest: w.dest.share(), inside: w.inside.share(), outside: w.outside}
}

// cellOf is the cell of an agent; false = it is nowhere.
func (w *where) cellOf(o uint32) (cell uint32, ok bool) {
	c := w.pos.get(o)
	return c - 1, c != 0
}

// put moves an agent to a cell.
func (w *where) put(o, cell uint32) {
	x, y := w.m.At(cell)
	b := w.m.Bucket(x, y)
	before, was := w.cellOf(o)
	w.pos.set(o, cell+1)
	if was {
		px, py := w.m.At(before)
		w.cross(px, py, x, y)
		if pb := w.m.Bucket(px, py); pb != b {
			w.unlink(o, pb)
			w.link(o, b)
		}
		return
	}
	if i, found := slices.BinarySearch(w.outside, o); found {
		w.outside = slices.Delete(slices.Clone(w.outside), i, i+1)
	}
	w.link(o, b)
	w.enter(w.m.PlaceAt(x, y), 1)
}

// remove takes an agent off the map.
func (w *where) remove(o uint32) {
	cell, was := w.cellOf(o)
	if !was {
		return
	}
	x, y := w.m.At(cell)
	w.unlink(o, w.m.Bucket(x, y))
	w.pos.set(o, 0)
	w.enter(w.m.PlaceAt(x, y), -1)
	i, _ := slices.BinarySearch(w.outside, o)
	w.outside = slices.Insert(slices.Clone(w.outside), i, o)
}

func (w *where) cross(px, py, x, y int) {
	if len(w.m.Places) == 0 {
		return
	}
	if from, to := w.m.PlaceAt(px, py), w.m.PlaceAt(x, y); from != to {
		w.enter(from, -1)
		w.enter(to, 1)
	}
}

func (w *where) enter(place, n int) {
	if place >= 0 {
		w.inside.set(uint32(place), uint32(int(w.inside.get(uint32(place)))+n))
	}
}

func (w *where) link(o, b uint32) {
	first := w.head.get(b)
	w.next.set(o, first)
	w.prev.set(o, 0)
	if first != 0 {
		w.prev.set(first-1, o+1)
	}
	w.head.set(b, o+1)
}

func (w *where) unlink(o, b uint32) {
	next, prev := w.next.get(o), w.prev.get(o)
	if prev != 0 {
		w.next.set(prev-1, next)
	} else {
		w.head.set(b, next)
	}
	if next != 0 {
		w.prev.set(next-1, prev)
	}
}

// within yields who stands in a rectangle, in no order; its ends are inside.
func (w *where) within(x0, y0, x1, y1 int, yield func(o uint32, x, y int)) {
	w.m.Buckets(x0, y0, x1, y1, func(b uint32) {
		for o := w.head.get(b); o != 0; o = w.next.get(o - 1) {
			if x, y := w.m.At(w.pos.get(o-1) - 1); x >= x0 && x <= x1 && y >= y0 && y <= y1 {
				yield(o-1, x, y)
			}
		}
	})
}

// In lists who stands in a rectangle, ascending; its ends are inside.
func (w *where) In(x0, y0, x1, y1 int) (list []uint32) {
	w.within(x0, y0, x1, y1, func(o uint32, _, _ int) { list = append(list, o) })
	slices.Sort(list)
	return list
}

// crowd is how many stand in a cell.
func (w *where) crowd(cell uint32) (n int) {
	x, y := w.m.At(cell)
	w.within(x, y, x, y, func(uint32, int, int) { n++ })
	return n
}

// full says why nobody else may step onto a cell; "" = somebody may. o comes from a cell
// that it leaves.
func (w *where) full(o, cell uint32) string {
	m := w.m
	if m.Capacity > 0 && w.crowd(cell) >= m.Capacity {
		return ReasonBlocked
	}
	if len(m.Places) == 0 {
		return ""
	}
	x, y := m.At(cell)
	to := m.PlaceAt(x, y)
	if to < 0 || m.Places[to].Capacity == 0 || int(w.inside.get(uint32(to))) < m.Places[to].Capacity {
		return ""
	}
	if before, is := w.cellOf(o); is {
		if px, py := m.At(before); m.PlaceAt(px, py) == to {
			return ""
		}
	}
	return ReasonFull
}

// nearby yields who is near a cell, who stands in it too, in no order.
func (w *where) nearby(cell uint32, yield func(Neighbour)) {
	x, y := w.m.At(cell)
	if !w.m.Joined() {
		r := w.m.Radius
		w.within(x-r, y-r, x+r, y+r, func(o uint32, ox, oy int) { yield(Neighbour{o, ox, oy, ground.Distance(x, y, ox, oy)}) })
		return
	}
	for _, h := range w.m.Within(cell) {
		hx, hy := w.m.At(h.Place)
		w.within(hx, hy, hx, hy, func(o uint32, ox, oy int) { yield(Neighbour{o, ox, oy, h.Exits}) })
	}
}

// around lists who is near an agent, without itself, nearest first; agents at one distance by
// ordinal. It keeps at most n and counts all.
func (w *where) around(o uint32, n int) (list []Neighbour, all int) {
	cell, is := w.cellOf(o)
	if !is {
		return nil, 0
	}
	w.nearby(cell, func(other Neighbour) {
		if other.Agent == o {
			return
		}
		all++
		list = keepNearest(list, other, n)
	})
	return list, all
}

// keepNearest inserts into a sorted list of at most n.
func keepNearest(list []Neighbour, add Neighbour, n int) []Neighbour {
	if len(list) == n && !before(add, list[n-1]) {
		return list
	}
	i, _ := slices.BinarySearchFunc(list, add, func(a, b Neighbour) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	list = slices.Insert(list, i, add)
	return list[:min(len(list), n)]
}

func before(a, b Neighbour) bool {
	return a.Distance < b.Distance || a.Distance == b.Distance && a.Agent < b.Agent
}

// Neighbour is an agent that is near: so many steps, or exits, away.
type Neighbour struct {
	Agent          uint32
	X, Y, Distance int
}
