// Package chart shows where the agents of a scene are.
//
// The caller opens the run (scenes/view/inspect). The view folds the scene up to a moment.
// Nothing on a map is secret: places and agents are names of the definition.
package chart

import (
	"fmt"
	"strings"

	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
)

// Bounds of a view.
const (
	MaxColumns = 96   // of the picture
	MaxAgents  = 1000 // that are listed without all
)

// View is the space of a scene at a moment.
type View struct {
	Scene   string   `json:"scene"`
	Wave    uint64   `json:"wave"`
	Time    string   `json:"time"`
	Width   int      `json:"width"`
	Height  int      `json:"height"`
	Joined  bool     `json:"joined,omitempty"`
	Scale   int      `json:"scale"`
	Picture []string `json:"picture"`
	Places  []Place  `json:"places"`
	Agents  []Agent  `json:"agents"`
	Total   int      `json:"total"`
	Nowhere int      `json:"nowhere"`
}

// Place is a rectangle with a name, or a place that exits join to others.
type Place struct {
	Place    string `json:"place"`
	Cells    string `json:"cells,omitempty"`
	Agents   int    `json:"agents"`
	Capacity int    `json:"capacity,omitempty"`
	Exits    []Exit `json:"exits,omitempty"`
}

// Exit is a way to another place.
type Exit struct {
	To    string `json:"to"`
	Takes string `json:"takes"`
}

// Agent is one that is on the map.
type Agent struct {
	Agent     string `json:"agent"`
	Cell      string `json:"cell,omitempty"`
	Place     string `json:"place,omitempty"`
	WalkingTo string `json:"walking_to,omitempty"`
}

// Of looks at a scene: at is a moment as in the other views, "" = the end of the journal.
// Without all it lists MaxAgents agents.
func Of(s *inspect.Scene, at string, all bool) (*View, error) {
	wave, err := s.Cut(at)
	if err != nil {
		return nil, err
	}
	state, err := s.Fold(wave.Number)
	if err != nil {
		return nil, err
	}
	look := state.Shown().Space
	if look == nil || look() == nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "the scene %s has no space", s.ID)
	}
	seen := look()
	m := seen.Map()
	v := &View{Scene: s.ID, Wave: wave.Number, Time: wave.MaxTime.String(), Width: m.Width, Height: m.Height, Places: make([]Place, len(m.Places)), Agents: []Agent{}}
	if v.Joined = m.Joined(); v.Joined {
		v.Width, v.Height = drawn(m)
	}
	v.Scale = max(1, (v.Width+MaxColumns-1)/MaxColumns)
	for i := range m.Places {
		v.Places[i] = place(m, i)
		v.Places[i].Agents = seen.Inside(i)
	}
	v.Picture = v.draw(m, v.list(seen, all))
	return v, nil
}

func place(m *ground.Map, i int) Place {
	a := &m.Places[i]
	p := Place{Place: a.Name, Capacity: a.Capacity}
	if !m.Joined() {
		p.Cells = cell(a.X, a.Y) + ".." + cell(a.X+a.W-1, a.Y+a.H-1)
		return p
	}
	if a.At != nil {
		p.Cells = cell(a.At[0], a.At[1])
	}
	for j, to := range m.Exits(uint32(i)) {
		p.Exits = append(p.Exits, Exit{to, m.Takes(uint32(i), '0'+byte(j)).String()})
	}
	return p
}

// drawn is the size of the picture of a map without a grid: that of the places which say where they are drawn.
func drawn(m *ground.Map) (width, height int) {
	for i := range m.Places {
		if at := m.Places[i].At; at != nil {
			width, height = max(width, at[0]+1), max(height, at[1]+1)
		}
	}
	return width, height
}

// at is where a cell is in the picture.
func at(m *ground.Map, x, y int) (px, py int, ok bool) {
	if !m.Joined() {
		return x, y, true
	}
	p := m.Places[x].At
	if p == nil {
		return 0, 0, false
	}
	return p[0], p[1], true
}

// list lists the agents, and counts them by field of the picture.
func (v *View) list(seen *space.View, all bool) map[[2]int]int {
	fields := map[[2]int]int{}
	for o := range uint32(seen.Cast().Size()) {
		x, y, there := seen.Where(o)
		if !there {
			v.Nowhere++
			continue
		}
		if px, py, is := at(seen.Map(), x, y); is {
			fields[[2]int{px / v.Scale, py / v.Scale}]++
		}
		if v.Total++; !all && v.Total > MaxAgents {
			continue
		}
		m := seen.Map()
		a := Agent{Agent: seen.Cast().Name(o), Place: m.NameAt(x, y)}
		if !m.Joined() {
			a.Cell = cell(x, y)
		}
		if gx, gy, walks := seen.Goal(o); walks {
			a.WalkingTo = m.Text(m.Cell(gx, gy))
		}
		v.Agents = append(v.Agents, a)
	}
	return fields
}

func cell(x, y int) string { return fmt.Sprintf("%d,%d", x, y) }

// draw draws a field of scale by scale cells as how many agents stand there, + for ten and
// more; else as # where all cells are blocked, : where one belongs to a place, . elsewhere.
func (v *View) draw(m *ground.Map, agents map[[2]int]int) []string {
	fields := map[[2]int]byte{}
	for f, n := range agents {
		fields[f] = "0123456789+"[min(n, 10)]
	}
	if m.Joined() {
		for i := range m.Places {
			if p := m.Places[i].At; p != nil && fields[[2]int{p[0] / v.Scale, p[1] / v.Scale}] == 0 {
				fields[[2]int{p[0] / v.Scale, p[1] / v.Scale}] = ':'
			}
		}
	}
	lines := []string{}
	for y := 0; y < v.Height; y += v.Scale {
		var b strings.Builder
		for x := 0; x < v.Width; x += v.Scale {
			switch f := fields[[2]int{x / v.Scale, y / v.Scale}]; {
			case f != 0:
				b.WriteByte(f)
			case m.Joined():
				b.WriteByte('.')
			default:
				b.WriteByte(field(m, x, y, v.Scale))
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

func field(m *ground.Map, x0, y0, scale int) byte {
	drawn := byte('#')
	for y := y0; y < min(y0+scale, m.Height); y++ {
		for x := x0; x < min(x0+scale, m.Width); x++ {
			switch {
			case !m.Free(x, y):
			case m.PlaceAt(x, y) >= 0:
				return ':'
			default:
				drawn = '.'
			}
		}
	}
	return drawn
}
