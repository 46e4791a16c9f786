package machines

import (
	"cmp"
	"errors"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// State holds every machine of a scene, folded from a journal. A live scene gives each
// machine to an actor; both apply the same facts in the same order.
type State struct {
	*StageState
	Services []Service        // in the order of [Services]
	Agents   []*agent.Machine // by ordinal, the scene's own last; with a Rest nil for those that it has: see Agent

	services []ServiceKind

	agents AgentFold
	rest   Rest
	most   int            // machines at once, beside those of one fact, before all go to rest
	awake  []uint32       // whose machines were made since the last time that all went to rest
	unread error          // a state at rest that could not be read
	owners map[string]int // of a kind of fact: the service that decides it
}

// Rest keeps the packed states of agents that a fold does not have in its hands.
type Rest interface {
	Put(o uint32, state []byte)
	State(o uint32) ([]byte, error) // nil = as declared
	Takes(state []byte) bool        // false = the agent keeps its machine
}

// New makes the state of a scene without facts.
func New(sc *setup.Scene) (*State, error) { return NewAt(sc, nil, 0) }

// NewAt is New with agents that rest while no fact concerns them, of which most at a time have
// machines; without a Rest all have.
func NewAt(sc *setup.Scene, rest Rest, most int) (*State, error) {
	s := &State{StageState: NewStageState(sc), services: Services(), Agents: make([]*agent.Machine, sc.Len()), owners: map[string]int{}, rest: rest, most: most}
	if err := checkServices(s.services); err != nil {
		return nil, err
	}
	for i, k := range s.services {
		service, err := k.New(sc)
		if err != nil {
			return nil, err
		}
		s.Services = append(s.Services, service)
		for _, typ := range k.Facts() {
			s.owners[typ.Kind] = i
		}
	}
	for o := range s.Agents {
		if rest == nil {
			s.Agents[o] = sc.Machine(uint32(o))
		}
	}
	s.agents = AgentFold{Scene: sc, Machine: s.Agent}
	return s, nil
}

// Agent is the machine of an agent, which no longer rests.
func (s *State) Agent(o uint32) *agent.Machine {
	if m := s.Agents[o]; m != nil {
		return m
	}
	m := s.scene.Machine(o)
	if err := s.load(m); err != nil {
		s.unread = errors.Join(s.unread, protocol.Errorf(protocol.KindOf(err), "agent %s: its state at rest: %w", m.ID.Instance, err))
	}
	s.Agents[o] = m
	s.awake = append(s.awake, o)
	return m
}

func (s *State) load(m *agent.Machine) error {
	raw, err := s.rest.State(m.ID.Ordinal)
	if err == nil && raw != nil {
		m.State, err = agent.Restore(s.codec, raw)
	}
	return err
}

// Turn is how many turns of an agent have ended. It makes nobody's machine for longer.
func (s *State) Turn(o uint32) (uint64, error) {
	if m := s.Agents[o]; m != nil {
		return m.State.Turn, nil
	}
	m := s.scene.Machine(o)
	err := s.load(m)
	return m.State.Turn, err
}

// LayDown lets the agents rest whose machines were made, but one, since in the middle of a turn nobody rests; and
// those whose states no rest takes.
func (s *State) LayDown(but uint32) error {
	if s.rest == nil || s.unread != nil {
		return s.unread
	}
	up := s.awake[:0]
	for _, o := range s.awake {
		if o == but {
			up = append(up, o)
			continue
		}
		raw, err := agent.Snapshot(s.codec, &s.Agents[o].State)
		if err != nil {
			return err
		}
		if !s.rest.Takes(raw) {
			up = append(up, o)
			continue
		}
		s.rest.Put(o, raw)
		s.Agents[o] = nil
	}
	s.awake = up
	return nil
}

// Nobody is no agent's ordinal.
const Nobody = ^uint32(0)

// Apply folds one record of the journal.
func (s *State) Apply(r protocol.Record) error {
	fact, err := s.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return err
	}
	if err := s.foreign(fact); err != nil {
		return err
	}
	if err := s.StageState.Apply(r, fact); err != nil {
		return err
	}
	if err := s.ApplyServices(fact); err != nil {
		return err
	}
	return s.ApplyAgents(r, fact)
}

// ApplyServices folds a fact into the service that decided it.
func (s *State) ApplyServices(fact protocol.Fact) error {
	if i, owned := s.owners[fact.FactKind()]; owned {
		return s.Services[i].Apply(fact)
	}
	return nil
}

// ApplyAgents folds a fact of a wave into the agents that it concerns.
func (s *State) ApplyAgents(r protocol.Record, fact protocol.Fact) error {
	err := s.agents.Apply(r, fact)
	if err == nil && s.rest != nil && len(s.awake) > s.most {
		of, known := s.scene.Ordinal(r.Actor)
		if !known {
			of = Nobody
		}
		err = s.LayDown(of)
	}
	return cmp.Or(err, s.unread)
}

// Shown is the current view of the services.
func (s *State) Shown() *View {
	v := &View{edition: s.edition}
	v.scene, _ = s.script.shown() // what fails is empty; a live stage warns
	for i, service := range s.Services {
		v.parts = append(v.parts, service.Publish())
		v.parts[i].service = s.services[i].Name
	}
	v.Turns = s.Turns.View(s.scene.Name)
	return v
}

// World is the world document.
func (s *State) World() *world.Document { return part[*World](s).State.World() }

// WorldState is the world with its leases, keys and timers.
func (s *State) WorldState() worldstate.State { return part[*World](s).State }

// Knowledge are the knowledge bases.
func (s *State) Knowledge() knowledge.State { return part[*Knowledge](s).State }

// Bus is the event channel.
func (s *State) Bus() *bus.State { return part[*Events](s).State }

func part[S Service](s *State) (found S) {
	for _, service := range s.Services {
		if x, ok := service.(S); ok {
			return x
		}
	}
	return found
}

// PriorityFor is the priority of an event for one receiver.
func PriorityFor(f *bus.Routed, sc *setup.Scene, o uint32) protocol.Priority {
	if len(f.Marks) == 0 {
		return f.Priority
	}
	return f.PriorityFor(sc.Name(o))
}
