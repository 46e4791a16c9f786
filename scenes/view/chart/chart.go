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
	Scale   int      `json:"scale"`
	Picture []string `json:"picture"`
	Places  []Place  `json:"places"`
	Agents  []Agent  `json:"agents"`
	Total   int      `json:"total"`
	Nowhere int      `json:"nowhere"`
}

// Place is a rectangle with a name.
type Place struct {
	Place    string `json:"place"`
	Cells    string `json:"cells"`
	Agents   int    `json:"agents"`
	Capacity int    `json:"capacity,omitempty"`
}

// Agent is one that is on the map.
type Agent struct {
	Agent     string `json:"agent"`
	Cell      string `json:"cell"`
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
	v := &View{Scene: s.ID, Wave: wave.Number, Time: wave.MaxTime.String(), Width: m.Width, Height: m.Height, Scale: max(1, (m.Width+MaxColumns-1)/MaxColumns), Places: make([]Place, len(m.Places)), Agents: []Agent{}}
	for i := range m.Places {
		a := &m.Places[i]
		v.Places[i] = Place{Place: a.Name, Cells: cell(a.X, a.Y) + ".." + cell(a.X+a.W-1, a.Y+a.H-1), Agents: seen.Inside(i), Capacity: a.Capacity}
	}
	v.Picture = draw(m, v.Scale, v.list(seen, all))
	return v, nil
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
		fields[[2]int{x / v.Scale, y / v.Scale}]++
		if v.Total++; !all && v.Total > MaxAgents {
			continue
		}
		a := Agent{Agent: seen.Cast().Name(o), Cell: cell(x, y), Place: seen.Map().NameAt(x, y)}
		if gx, gy, walks := seen.Goal(o); walks {
			a.WalkingTo = cell(gx, gy)
		}
		v.Agents = append(v.Agents, a)
	}
	return fields
}

func cell(x, y int) string { return fmt.Sprintf("%d,%d", x, y) }

// draw draws a field of scale by scale cells as how many agents stand there, + for ten and
// more; else as # where all cells are blocked, : where one belongs to a place, . elsewhere.
func draw(m *ground.Map, scale int, agents map[[2]int]int) (lines []string) {
	for y := 0; y < m.Height; y += scale {
		var b strings.Builder
		for x := 0; x < m.Width; x += scale {
			switch n := agents[[2]int{x / scale, y / scale}]; {
			case n > 9:
				b.WriteByte('+')
			case n > 0:
				b.WriteByte('0' + byte(n))
			default:
				b.WriteByte(field(m, x, y, scale))
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
