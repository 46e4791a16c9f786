package machines

import (
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
	*Stage
	Services []Service        // in the order of [Services]
	Agents   []*agent.Machine // by ordinal, the scene's own last

	agents AgentFold
	owners map[string]int // of a kind of fact: the service that decides it
}

// New makes the state of a scene without facts.
func New(sc *setup.Scene) (*State, error) {
	s := &State{Stage: NewStage(sc), Agents: make([]*agent.Machine, len(sc.IDs)), owners: map[string]int{}}
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
		s.Agents[o] = sc.Machine(uint32(o))
	}
	s.agents = AgentFold{Scene: sc, Machine: func(o uint32) *agent.Machine { return s.Agents[o] }}
	return s, nil
}

// Apply folds one record of the journal.
func (s *State) Apply(r protocol.Record) error {
	fact, err := s.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return err
	}
	if err := s.foreign(fact); err != nil {
		return err
	}
	if err := s.Stage.Apply(r, fact); err != nil {
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
	return s.agents.Apply(r, fact)
}

// Shown is the current view of the services.
func (s *State) Shown() *View {
	v := &View{scene: s.sceneShown(), edition: s.edition}
	for _, service := range s.Services {
		v.parts = append(v.parts, service.Publish())
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
