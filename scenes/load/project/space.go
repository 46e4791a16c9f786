package project

import (
	"fmt"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// linkSpace makes the map of a scene and checks where its agents begin.
func (l *loader) linkSpace(s *Scene) {
	d := s.Definition.Space
	if d == nil {
		for i := range s.Definition.AgentInstances {
			if s.Definition.AgentInstances[i].Place != "" {
				l.fault(s.doc, at("agent_instances", i, "place"), "take it out, or add space", "the scene has no space, so nobody can be at a place")
			}
		}
		return
	}
	var text []byte
	if d.Grid != nil && d.Grid.Blocked != "" {
		clean, problem := l.tree.locate(d.Grid.Blocked)
		if problem != "" {
			l.fault(s.doc, at("space", "grid", "blocked"), "", "%s", problem)
			return
		}
		f := l.tree.load(clean)
		if f == nil {
			return
		}
		text = f.data
	}
	m, faults := ground.New(d, text)
	for _, f := range faults {
		l.fault(s.doc, at(append([]any{"space"}, f.Steps...)...), f.Hint, "%s", f.Message)
	}
	if s.Space = m; m != nil {
		l.linkPlaces(s)
	}
}

func (l *loader) linkPlaces(s *Scene) {
	sound := true
	for i := range s.Definition.AgentInstances {
		place := s.Definition.AgentInstances[i].Place
		if _, err := s.Space.Rectangle(place); place != "" && err != nil {
			l.fault(s.doc, at("agent_instances", i, "place"), "", "%v", err)
			sound = false
		}
	}
	if !sound {
		return
	}
	if agents, err := s.Agents(0); err == nil {
		if _, err := s.Starts(agents); err != nil {
			l.fault(s.doc, at("space"), "", "%v", err)
		}
	}
}

// Starts are the cells in which agents begin, one more than their numbers, by ordinal; 0 =
// nowhere, as are those who come later. Agents of one entry are spread over its rectangle.
func (s *Scene) Starts(a *Agents) ([]uint32, error) {
	list := make([]uint32, a.total)
	f := s.Space.Filling()
	for i, e := range a.entries {
		if e.place == "" || e.spawnable {
			continue
		}
		cells, err := f.Spread(e.place, a.counts[i])
		if err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "scene %s: %s: %w", s.Definition.ID, fmt.Sprintf("%d agents %s", a.counts[i], e.id.Text), err)
		}
		copy(list[a.starts[i]:], cells)
	}
	return list, nil
}
