package setup

import (
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// An agent that may come and go has a seat: an ordinal, an instance id and all that follows
// from the definition, made when the scene is loaded like those of every other agent. So
// the actors, which know an agent by its ordinal, need to hear of nothing while the scene runs,
// and how many agents can be there at once is known from the start.

// seat adds an ordinal above all that have one.
func (b *builder) seat(o uint32) {
	if b.seats == nil {
		b.seats = map[string]bus.Ranges{}
	}
	profile := b.Profile(o)
	b.seats[profile] = b.seats[profile].And(bus.Ranges{{From: o, Count: 1}})
}

// Comes reports whether agents may come and go.
func (s *Scene) Comes() bool { return s.seats != nil }

// Spawnable reports whether an agent has a seat.
func (s *Scene) Spawnable(o uint32) bool { return s.seats[s.Profile(o)].Contains(o) }

// away tells who is not there when the scene begins; nil = everybody is.
func (s *Scene) away() func(uint32) bool {
	if !s.Comes() {
		return nil
	}
	return s.Spawnable
}

// LinkTo implements order.Cast.
func (s *Scene) LinkTo(scene string) (*travel.Link, error) {
	links := s.Def.Definition.Links
	if i := slices.IndexFunc(links, func(l travel.Link) bool { return l.To == scene }); i >= 0 {
		return &links[i], nil
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "no link leads from the scene %s to the scene %q (links)", s.ID, protocol.Short(scene, 200))
}

// checkSeats refuses what cannot be together with agents that come and go.
func (s *Scene) checkSeats() error {
	switch {
	case !s.Comes():
		return nil
	case s.Clock == agenda.Realtime && len(s.Def.Definition.Links) > 0:
		return s.Errorf("links: agents travel on the virtual clock alone (simulation.clock): on the realtime clock linked scenes have no common time, and a turn of an agent that departs may be under way")
	case s.Blocks:
		return s.Errorf("agent_instances, links: spawnable agents or those that travel, and lanes of inboxes with the policy block: a publisher would wait for receivers that have left; use another policy of the lanes")
	}
	return nil
}

// MayLeave implements order.Cast.
func (s *Scene) MayLeave() error {
	if s.Comes() {
		return nil
	}
	return protocol.Errorf(protocol.KindInvalid, "nobody comes to the scene %s or leaves it: none of its agent_instances is spawnable, and it has no links", s.ID)
}

// Comers implements order.Cast: as far as the definition tells.
func (s *Scene) Comers(who *cast.Coming, taken map[uint32]bool) ([]uint32, error) {
	return s.ComersOf(who, 0, func(o uint32) bool { return !taken[o] })
}

// ComersOf finds who would come, of those that are free; none of the profile below lowest
// is.
func (s *Scene) ComersOf(who *cast.Coming, lowest uint32, free func(uint32) bool) (list []uint32, err error) {
	if err := s.MayLeave(); err != nil {
		return nil, err
	}
	if who.Agent != "" {
		o, ok := s.find(who.Agent)
		switch {
		case !ok:
			return nil, protocol.Errorf(protocol.KindNotFound, "the scene has no agent %q", protocol.Short(who.Agent, 200))
		case !s.Spawnable(uint32(o)):
			return nil, protocol.Errorf(protocol.KindInvalid, "%s is not spawnable (agent_instances)", who.Agent)
		case !free(uint32(o)):
			return nil, protocol.Errorf(protocol.KindConflict, "%s is there, or comes or leaves at this moment", who.Agent)
		}
		list = []uint32{uint32(o)}
	} else if list, err = s.ofProfile(who, lowest, free); err != nil {
		return nil, err
	}
	if len(who.State) > 0 {
		_, err = s.Entering(list[0], who.State)
	}
	return list, err
}

// ofProfile are the first agents of a profile that are free.
func (s *Scene) ofProfile(who *cast.Coming, lowest uint32, free func(uint32) bool) (list []uint32, err error) {
	seats, ok := s.seats[who.Profile]
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "the scene has no spawnable agents of the profile %q; it has some of %s", protocol.Short(who.Profile, 200), strings.Join(slices.Sorted(maps.Keys(s.seats)), ", "))
	}
	for _, r := range seats {
		for o := max(r.From, lowest); o < r.From+r.Count; o++ {
			if !free(o) {
				continue
			}
			if list = append(list, o); int64(len(list)) == who.Count {
				return list, nil
			}
		}
	}
	return nil, protocol.Errorf(protocol.KindLimit, "%d of the profile %s cannot come: %d of its %d spawnable agents are away (agent_instances[].count)", who.Count, who.Profile, len(list), seats.Len())
}

// Entering is the private state of an agent that comes, with fields in the place of those of
// its initial one.
func (s *Scene) Entering(o uint32, override map[string]any) (map[string]any, error) {
	state := s.initial(o)
	if len(override) > 0 {
		state = maps.Clone(state)
		if state == nil {
			state = map[string]any{}
		}
		maps.Copy(state, override)
	}
	def := s.AgentDefinition(o)
	if size := len(protocol.Encode(state)); size > def.Limits.MaxStateBytes {
		return nil, protocol.Errorf(protocol.KindLimit, "the private state of %s would have %d bytes, more than %d (custom_runtime_config.max_state_bytes)", s.Name(o), size, def.Limits.MaxStateBytes)
	}
	if def.Check != nil {
		if err := def.Check(state); err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "the private state of %s does not fit: %w", s.Name(o), err)
		}
	}
	return state, nil
}

// Enter puts a machine into the state of an agent that comes.
func (s *Scene) Enter(m *agent.Machine, f *agenda.Spawned) error {
	v, err := f.State.Value()
	override, ok := v.(map[string]any) // null = it is the initial one
	if err != nil || v != nil && !ok {
		return protocol.Errorf(protocol.KindCorrupt, "%s: the state is no object: %v", agenda.FactSpawned, err)
	}
	s.Leave(m)
	if m.State.Private, err = s.Entering(f.Agent, override); err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "%s: %w", agenda.FactSpawned, err)
	}
	m.State.Goals, m.State.Turn = s.aims(f.Agent, m.State.Private), f.Turns
	return nil
}

// Admit finds the seat of an agent that comes from another scene, or says why it has none.
func (s *Scene) Admit(l *travel.Letter, free func(uint32) bool) (uint32, error) {
	o, ok := s.find(l.Agent)
	switch {
	case !ok:
		return 0, protocol.Errorf(protocol.KindNotFound, "the scene %s has no place for %s: no entry of its agent_instances has this id", s.ID, l.Agent)
	case s.Profile(uint32(o)) != l.Profile:
		return 0, protocol.Errorf(protocol.KindInvalid, "%s is of the profile %s in the scene %s, and of %s in the scene %s", l.Agent, s.Profile(uint32(o)), s.ID, l.Profile, l.Scene)
	case !free(uint32(o)):
		return 0, protocol.Errorf(protocol.KindConflict, "the scene %s has an agent %s already", s.ID, l.Agent)
	}
	m := s.Machine(uint32(o))
	if err := s.load(m, l.State, 0); err != nil {
		return 0, err
	}
	def := s.AgentDefinition(uint32(o))
	if size := len(protocol.Encode(m.State.Private)); size > def.Limits.MaxStateBytes {
		return 0, protocol.Errorf(protocol.KindLimit, "the private state of %s has %d bytes, more than %d (custom_runtime_config.max_state_bytes)", l.Agent, size, def.Limits.MaxStateBytes)
	}
	return uint32(o), nil
}

// Arrive puts a machine into the state of an agent that comes from another scene, or back.
func (s *Scene) Arrive(m *agent.Machine, f travel.Fact, at protocol.Time) error {
	var err error
	told := map[string]any{}
	switch x := f.(type) {
	case *travel.Arrived:
		told["from"], err = x.From, s.load(m, x.State, x.Turns)
	case *travel.Returned:
		told["refused_by"], told["error"], err = x.To, x.Error, s.load(m, x.State, x.Turns)
	default: // the others bring no agent
	}
	m.Observe(agent.Observation{Time: at, Kind: "arrived", Value: told})
	return err
}

func (s *Scene) load(m *agent.Machine, state protocol.Raw, turns uint64) error {
	restored, err := agent.Restore(protocol.NewCodec(), state)
	if err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "the state of %s on its way cannot be read: %w", m.ID.Instance, err)
	}
	s.Leave(m)
	m.State = restored
	m.State.Turn = max(m.State.Turn, turns)
	return nil
}

// Leave empties the machine of an agent that is away.
func (s *Scene) Leave(m *agent.Machine) {
	m.Release()
	s.Begin(m, m.ID.Ordinal)
}
