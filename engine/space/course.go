package space

import (
	"slices"
	"time"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// Course is one agent alone on the map: its cell, and its walk as long as nobody is in its way. Turns
// that run ahead of the committed run see other agents by their courses. Whoever has the state uses
// its courses, on the same goroutine.
type Course struct {
	m     *ground.Map
	find  *ground.Finder
	tick  time.Duration
	agent uint32
	cell  uint32
	walk  walk // without a path it stands
}

// Course is that of an agent as it is now; false = the agent is nowhere.
func (s *State) Course(o uint32) (c Course, ok bool) {
	if c.cell, ok = s.cellOf(o); !ok {
		return c, false
	}
	c.m, c.find, c.tick, c.agent = s.m, s.find, s.tick, o
	if w := s.walking(o); w != nil {
		c.walk = *w
	}
	return c, true
}

// Standing is where the agent is, and where its walk leads.
func (c *Course) Standing() Standing {
	s := Standing{Agent: c.agent, Cell: c.cell}
	if c.walk.path != "" {
		s.Goal, s.Walks = c.walk.goal, true
	}
	return s
}

// alone is a state with this agent and nobody else.
func (c *Course) alone(cast Cast) *State {
	s := &State{where: where{m: c.m}, cast: cast, tick: c.tick, find: c.find}
	s.put(c.agent, c.cell)
	if c.walk.path != "" {
		s.slots = make([]uint32, c.agent+1)
		s.begin(c.walk)
	}
	return s
}

// Until is the course behind a moment, if the agent asks for nothing until then.
func (c *Course) Until(cast Cast, end protocol.Time) (Course, error) {
	s := c.alone(cast)
	for next := s.Next(); next != 0 && next <= end; next = s.Next() {
		if _, err := s.Decide(next, nil); err != nil {
			return *c, err
		}
	}
	after, _ := s.Course(c.agent)
	return after, nil
}

// Way is what comes of requests of the agent at a moment: its cell behind that moment and behind each
// tick after it, until it stands; and what it is told, or others hear, on its way.
type Way struct {
	From  Course // behind the moment
	Cells []uint32
	Facts []At
}

// At is a fact of a moment.
type At struct {
	Time protocol.Time
	Fact protocol.Fact
}

// Way decides requests of the agent, then walks to the end.
func (c *Course) Way(cast Cast, now protocol.Time, requests []Request) (w Way, err error) {
	s := c.alone(cast)
	for at := now; ; at = at.Add(c.tick) {
		facts, err := s.Decide(at, requests)
		if err != nil {
			return w, err
		}
		for _, f := range facts {
			w.Facts = append(w.Facts, At{at, f})
		}
		if at == now {
			w.From, _ = s.Course(c.agent)
		}
		cell, _ := s.cellOf(c.agent)
		if w.Cells, requests = append(w.Cells, cell), nil; s.Next() == 0 {
			return w, nil
		}
	}
}

// Standing is an agent on the map.
type Standing struct {
	Agent, Cell uint32
	Goal        uint32 // the cell that it walks to
	Walks       bool
}

// Glimpse is a view of some agents alone. beyond is called when somebody reads what others would be a
// part of.
func Glimpse(m *ground.Map, cast Cast, list []Standing, beyond func()) *View {
	v := &View{where: where{m: m}, cast: cast, beyond: beyond}
	slices.SortFunc(list, func(a, b Standing) int { return int(a.Agent) - int(b.Agent) })
	for _, s := range list {
		v.put(s.Agent, s.Cell)
		if s.Walks {
			v.dest.set(s.Agent, s.Goal+1)
		}
	}
	return v
}
