// Package roads holds the rules of the fields about space and travel: the map of a scene, and the links
// between scenes.
package roads

import (
	"fmt"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// MaxLinks bounds the links of one scene.
const MaxLinks = 100

// Rules are those of links.
func Rules() source.Rules {
	return source.Rules{
		"agenda.Scene.links": {Section: "§2.3", MaxItems: MaxLinks, Doc: "Scenes of the same run to which agents can [travel](#travel)."},
		"travel.Link.to":     {Required: true, Section: "§2.3", Doc: "Id of the other scene. A link leads one way; the other scene has one of its own that leads back."},
		"travel.Link.travel": {Required: true, Section: "§2.3", Doc: "Scene time from departure to arrival: a whole number of ticks, at least one."},
	}
}

// Check finds what is wrong with the links of a scene, of all those of a project. Their defaults
// are filled in.
func Check(s *agenda.Scene, all []*agenda.Scene, fault func(steps []any, hint, format string, args ...any)) {
	seen := map[string]bool{}
	for i, l := range s.Links {
		at := []any{"links", i, "to"}
		to := named(l.To, all)
		switch tick := s.Simulation.Tick; {
		case l.To == "" || l.Travel == 0: // the decoder has said so
		case l.To == s.ID:
			fault(at, "", "a link to the scene itself leads nowhere")
		case to == nil:
			fault(at, "", "there is no scene %q", l.To)
		case seen[l.To]:
			fault(at, "", "there is a link to %s before it", l.To)
		case l.Travel < 0 || l.Travel%tick != 0:
			fault([]any{"links", i, "travel"}, "", "%s is no whole number of ticks (simulation.tick is %s), at least one", l.Travel.Std(), tick.Std())
		case to.Simulation.Tick != tick || !to.Simulation.StartTime.Equal(s.Simulation.StartTime):
			fault(at, "give both the same simulation.tick and simulation.start_time", "linked scenes have one time, and %s", differs(s, to))
		case to.Simulation.Clock == agenda.Realtime || s.Simulation.Clock == agenda.Realtime:
			fault(at, "take simulation.clock out of both", "linked scenes need the virtual clock")
		case !welcomes(to):
			fault(at, "add agent_instances with the ids and profiles of those who travel, and spawnable: true", "nobody can come to the scene %s: none of its agent_instances is spawnable", l.To)
		}
		seen[l.To] = true
	}
}

// named is the scene with an id; nil = there is none.
func named(id string, all []*agenda.Scene) *agenda.Scene {
	if n := slices.IndexFunc(all, func(x *agenda.Scene) bool { return x.ID == id }); n >= 0 {
		return all[n]
	}
	return nil
}

func differs(s, to *agenda.Scene) string {
	if s.Simulation.Tick != to.Simulation.Tick {
		return fmt.Sprintf("%s has ticks of %s, %s of %s", s.ID, s.Simulation.Tick.Std(), to.ID, to.Simulation.Tick.Std())
	}
	return fmt.Sprintf("%s begins at %s, %s at %s", s.ID, protocol.TimeOf(s.Simulation.StartTime), to.ID, protocol.TimeOf(to.Simulation.StartTime))
}

func welcomes(s *agenda.Scene) bool {
	for i := range s.AgentInstances {
		if s.AgentInstances[i].Spawnable {
			return true
		}
	}
	return len(s.Links) > 0 // who left over one of them can come back
}

// MaxShared bounds the travel of links over which scenes share a knowledge base, in ticks. So it bounds
// what is on its way: a parcel a wave, until its answer.
const MaxShared = 1000

// Sharing finds what is wrong with scenes that share a knowledge base, of all those of a project:
// the first one keeps it, and is linked with each of the others both ways. fault names the scene by
// its index.
func Sharing(scenes []string, all []*agenda.Scene, fault func(i int, hint, format string, args ...any)) {
	var keeper *agenda.Scene
	for i, id := range scenes {
		s := named(id, all)
		if i == 0 {
			keeper = s
		}
		switch {
		case s == nil:
			fault(i, "", "there is no scene %q", id)
		case i > 0 && keeper != nil:
			reaches(keeper, s, i, fault)
			reaches(s, keeper, i, fault)
		}
	}
}

func reaches(from, to *agenda.Scene, i int, fault func(i int, hint, format string, args ...any)) {
	n := slices.IndexFunc(from.Links, func(l travel.Link) bool { return l.To == to.ID })
	switch {
	case n < 0:
		fault(i, fmt.Sprintf("add links: [{to: %s, travel: TIME}] to the scene %s", to.ID, from.ID), "scenes tell each other of the base over their links, and no link leads from %s to %s", from.ID, to.ID)
	case from.Links[n].Travel > MaxShared*from.Simulation.Tick:
		fault(i, "", "the link from %s to %s takes %s; scenes share a base over at most %d ticks", from.ID, to.ID, from.Links[n].Travel.Std(), MaxShared)
	}
}

// Of are the links of the scenes of a run, by id. A link to a scene that does not run is an
// error.
func Of(scenes []*agenda.Scene) (map[string][]travel.Link, error) {
	all, runs := map[string][]travel.Link{}, map[string]bool{}
	for _, s := range scenes {
		runs[s.ID] = true
	}
	for _, s := range scenes {
		if len(s.Links) > 0 {
			all[s.ID] = s.Links
		}
		for _, l := range s.Links {
			if !runs[l.To] {
				return nil, protocol.Errorf(protocol.KindInvalid, "the scene %s has a link to the scene %s, which does not run: name both (--scene %s --scene %s)", s.ID, l.To, s.ID, l.To)
			}
		}
	}
	return all, nil
}
