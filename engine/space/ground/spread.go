package ground

import (
	"fmt"
	"strings"

	"tavernsim/protocol"
)

// Rectangle reads where agents begin: a place, a cell "x,y", or a rectangle "x,y..x,y" with
// both its corners.
func (m *Map) Rectangle(text string) (a Area, err error) {
	if p, ok := m.Place(text); ok {
		return *p, nil
	}
	if m.Joined() {
		return a, protocol.Errorf(protocol.KindInvalid, "there is no place %q; want the name of a place: there is no grid", protocol.Short(text, 80))
	}
	first, last, both := strings.Cut(text, "..")
	if !both {
		last = first
	}
	x0, y0, ok := ParseCell(first)
	x1, y1, also := ParseCell(last)
	switch {
	case !ok || !also:
		return a, protocol.Errorf(protocol.KindInvalid, "there is no place %q; want the name of a place, a cell \"x,y\" or a rectangle \"x,y..x,y\"", protocol.Short(text, 80))
	case !m.In(x0, y0) || !m.In(x1, y1) || x1 < x0 || y1 < y0:
		return a, protocol.Errorf(protocol.KindInvalid, "%s is no rectangle of the grid of %d × %d cells, from north-west to south-east", text, m.Width, m.Height)
	}
	a = Area{Name: text, X: x0, Y: y0, W: x1 - x0 + 1, H: y1 - y0 + 1}
	if m.room(&a) == 0 {
		return a, protocol.Errorf(protocol.KindInvalid, "every cell of %s is blocked", text)
	}
	return a, nil
}

// Filling places agents before a scene begins.
type Filling struct {
	m      *Map
	cells  map[uint32]int // agents by cell, where cells have a capacity
	inside map[int]int    // agents by place, where places have one
}

// Filling is an empty map.
func (m *Map) Filling() *Filling { return &Filling{m, map[uint32]int{}, map[int]int{}} }

// Spread gives n agents cells of a rectangle, one more than their numbers: evenly, row by
// row. Full cells are passed over.
func (f *Filling) Spread(text string, n int) ([]uint32, error) {
	a, err := f.m.Rectangle(text)
	if err != nil {
		return nil, err
	}
	var free []uint32
	for y := a.Y; y < a.Y+a.H; y++ {
		for x := a.X; x < a.X+a.W; x++ {
			if f.m.Free(x, y) {
				free = append(free, f.m.Cell(x, y))
			}
		}
	}
	list := make([]uint32, n)
	for i := range list {
		at := i % len(free)
		if n <= len(free) {
			at = i * len(free) / n
		}
		cell, err := f.take(free, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		list[i] = cell + 1
	}
	return list, nil
}

// take takes room in a cell, or in the next one that has some.
func (f *Filling) take(free []uint32, at int) (uint32, error) {
	for i := range free {
		c := free[(at+i)%len(free)]
		if f.m.Capacity > 0 {
			if f.cells[c] >= f.m.Capacity {
				continue
			}
			f.cells[c]++
		}
		p := f.m.PlaceAt(f.m.At(c))
		if p >= 0 && f.m.Places[p].Capacity > 0 {
			if f.inside[p]++; f.inside[p] > f.m.Places[p].Capacity {
				return 0, protocol.Errorf(protocol.KindInvalid, "the place %s takes %d agents (capacity)", f.m.Places[p].Name, f.m.Places[p].Capacity)
			}
		}
		return c, nil
	}
	return 0, protocol.Errorf(protocol.KindInvalid, "%d free cells take %d agents each (grid.capacity)", len(free), f.m.Capacity)
}
