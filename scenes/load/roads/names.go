package roads

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/numbered"
)

// Unknown says what is wrong with a name in a field of a change that lets agents move, travel or come; "" = the scene has
// it. is: the field is no selector of agents. m is the map of a scene with sound space.
func Unknown(s *agenda.Scene, m *ground.Map, kind, field, name string) (fault string, is bool) {
	switch {
	case kind == cast.Move && field == "to":
		return noEnd(s, m, name), true
	case kind == cast.Travel && field == "to":
		var linked []string
		for _, l := range s.Links {
			linked = append(linked, l.To)
		}
		if slices.Contains(linked, name) {
			return "", true
		}
		return near(fmt.Sprintf("no link leads to the scene %q", protocol.Short(name, 200)), name, linked), true
	case kind == cast.Spawn && field == "agent":
		return noComer(s, "the scene has no spawnable agent %q", name, func(a *agenda.AgentInstance) string { return idIn(a, name) }), true
	case kind == cast.Spawn && field == "profile":
		return noComer(s, "the scene has no spawnable agents of the profile %q", name, func(a *agenda.AgentInstance) string { return a.ProfileID }), true
	}
	return "", kind == "transition" // which leads to a state
}

// near is a fault of a name, with one that was perhaps meant.
func near(fault, name string, names []string) string {
	if hint := source.Suggest(name, names); hint != "" {
		return fault + " (" + hint + ")"
	}
	return fault
}

// noEnd says what is wrong with where agents are to move; "" = nothing.
func noEnd(s *agenda.Scene, m *ground.Map, to string) string {
	switch {
	case s.Space == nil:
		return "the scene has no space"
	case m == nil, to == ground.Stay, to == ground.Gone, slices.Contains(ground.Directions(), to) && !m.Joined():
		return ""
	}
	names := protocol.SortedKeys(s.Space.Places)
	for i := range s.AgentInstances {
		id := idIn(&s.AgentInstances[i], to)
		if id == to {
			return ""
		}
		names = append(names, id)
	}
	_, err := m.Rectangle(to)
	first, _, _ := strings.Cut(to, "..")
	_, _, cell := ground.ParseCell(first)
	switch {
	case err == nil:
		return ""
	case cell:
		return err.Error()
	}
	return near(fmt.Sprintf("there is no %q to go to; want %s", protocol.Short(to, 80), space.Grammar), to, names)
}

// noComer says that nobody of the name can come; "" = somebody can.
func noComer(s *agenda.Scene, fault, name string, of func(*agenda.AgentInstance) string) string {
	var names []string
	for i := range s.AgentInstances {
		if a := &s.AgentInstances[i]; a.Spawnable {
			names = append(names, of(a))
		}
	}
	if slices.Contains(names, name) {
		return ""
	}
	return near(fmt.Sprintf(fault, protocol.Short(name, 200)), name, names)
}

// idIn is an id if an agent of the entry has it, else the id of its first agent.
func idIn(a *agenda.AgentInstance, id string) string {
	t := numbered.Parse(a.InstanceID)
	if _, is := t.Number(id, max(a.Count, 1)); is {
		return id
	}
	return t.Expand(1)
}
