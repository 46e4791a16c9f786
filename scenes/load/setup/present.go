package setup

import (
	"math"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/team"
	"tavernsim/engine/cast"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// Present are the agents of a scene of which some may be away. Who is, is kept by the agenda.
// Only the stage of the scene uses it.
type Present struct {
	*Scene
	agenda func() *agenda.State
	trips  func() *travel.State

	lowest map[string]uint32 // by profile: none below it is away, travelling or not; what it lacks is found again
	left   map[uint32]bool   // who left in the wave
	wave   uint64            // before which they left
}

// Present makes the view of who is there; nil = nobody comes or goes. state gives the agenda of the
// moment.
func (s *Scene) Present(state func() *agenda.State, trips func() *travel.State) *Present {
	if !s.Comes() {
		return nil
	}
	return &Present{Scene: s, agenda: state, trips: trips, lowest: map[string]uint32{}, left: map[uint32]bool{}}
}

// Load is how much waits for the members of groups: events, and tasks that they have taken.
func (s *Scene) Load(members bus.Ranges, a *agenda.State, taken map[string]int64, now protocol.Time) team.Load {
	load := team.Load{}
	for o := range members.All() {
		if n := a.Pending(o, now) + taken[s.Name(o)]; n > 0 {
			load[o] = n
		}
	}
	return load
}

// Away reports whether an agent is not in the scene.
func (c *Present) Away(o uint32) bool { return c.agenda().Away(o) }

// Members are the agents that some selector means, of those that are there.
func (c *Present) Members(of cast.Selectors) []uint32 {
	return c.MembersOf(of, func(o uint32) bool { return !c.Away(o) })
}

// Groups counts the agents of each role and of each profile, of those that are there.
func (c *Present) Groups() (roles, profiles map[string]any) {
	return c.GroupsOf(func(o uint32) bool { return !c.Away(o) })
}

// Comers implements order.Cast. Who left in the open wave can come back in the next.
func (c *Present) Comers(who *cast.Coming, taken map[uint32]bool) ([]uint32, error) {
	moment := c.agenda().Wave
	lowest := uint32(math.MaxUint32)
	list, err := c.ComersOf(who, c.lowest[who.Profile], func(o uint32) bool {
		if !c.Away(o) {
			return false
		}
		lowest = min(lowest, o) // its seat is free when its trip has ended, of which nobody tells
		return !taken[o] && !(c.wave == moment && c.left[o]) && !c.trips().Travels(o)
	})
	if err == nil && who.Profile != "" && len(taken) == 0 && c.wave != moment {
		c.lowest[who.Profile] = lowest
	}
	return list, err
}

// Left notes that an agent left in the open wave.
func (c *Present) Left(o uint32) {
	if moment := c.agenda().Wave; c.wave != moment {
		clear(c.left)
		c.wave = moment
	}
	c.left[o] = true
	if p := c.Profile(o); o < c.lowest[p] {
		c.lowest[p] = o
	}
}
