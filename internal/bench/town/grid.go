package town

import "tavernsim/engine/schedule"

// gridSide is the side of a square of a grid, in cells.
const gridSide = 8

// grid finds agents by where they are.
type grid struct {
	w, h  int32
	at    []schedule.Cell
	in    []int32 // square of an agent; -1 = none yet
	lists [][]int32
}

func newGrid(t *Trace) grid {
	g := grid{w: t.Width/gridSide + 1, h: t.Height/gridSide + 1, at: make([]schedule.Cell, t.Agents), in: make([]int32, t.Agents)}
	g.lists = make([][]int32, g.w*g.h)
	for i := range g.in {
		g.in[i] = -1
	}
	return g
}

func (g *grid) square(p schedule.Cell) (x, y int32) {
	return min(max(p.X/gridSide, 0), g.w-1), min(max(p.Y/gridSide, 0), g.h-1)
}

func (g *grid) put(a int, p schedule.Cell) {
	x, y := g.square(p)
	sq := y*g.w + x
	g.at[a] = p
	if g.in[a] == sq {
		return
	}
	if was := g.in[a]; was >= 0 {
		list := g.lists[was]
		for i, b := range list {
			if int(b) == a {
				list[i] = list[len(list)-1]
				g.lists[was] = list[:len(list)-1]
				break
			}
		}
	}
	g.in[a] = sq
	g.lists[sq] = append(g.lists[sq], int32(a))
}

// around calls f for the agents within so many cells, until it has had enough.
func (g *grid) around(p schedule.Cell, far int32, f func(b int) bool) {
	x0, y0 := g.square(schedule.Cell{X: p.X - far, Y: p.Y - far})
	x1, y1 := g.square(schedule.Cell{X: p.X + far, Y: p.Y + far})
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			for _, b := range g.lists[y*g.w+x] {
				if apart(p, g.at[b]) <= far && !f(int(b)) {
					return
				}
			}
		}
	}
}
