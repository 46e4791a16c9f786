package bus

import (
	"tavernsim/engine/bus/filter"
	"tavernsim/protocol"
)

// Space tells where the agents of a scene are.
type Space interface {
	// Hearers are the agents that an event can reach, ascending; unless bounded it can reach all.
	Hearers(eventType, source, reach string) (list []uint32, bounded bool, err error)
	filter.Places
	// InPlace are the agents in a place, ascending.
	InPlace(place string) []uint32
}

// near finds the agents that the event can reach, in a scene in space.
func (r *routing) near(d *protocol.Draft) refusal {
	r.close, r.bounded = nil, false
	if r.state.Space == nil {
		if d.Reach != "" {
			return refusal{ReasonInvalid, "reach " + d.Reach + ": the scene has no space"}
		}
		return refusal{}
	}
	list, bounded, err := r.state.Space.Hearers(d.Type, d.Source, d.Reach)
	if err != nil {
		return refusal{ReasonInvalid, err.Error()}
	}
	r.bounded = bounded
	for _, o := range list {
		r.close.Push(o)
	}
	return refusal{}
}

// audience are the members of a group that the event can reach. Where events are bounded it
// costs the agents that are near, and not all that subscribed.
func (r *routing) audience(g *group) Ranges {
	if !r.bounded {
		g.lent = true
		return g.members
	}
	var out Ranges
	for o := range r.close.All() {
		if g.members.Contains(o) {
			out.Push(o)
		}
	}
	return out
}
