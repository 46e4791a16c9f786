package scenes

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/travel"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/links"
	"tavernsim/scenes/machines"
)

// comes puts an agent that came into the scene. It gets its actor with the first that it is told.
func (st *stage) comes(e *machines.Effect) error {
	m := st.Machine(e.Agent)
	var err error
	switch x := e.Fact.(type) {
	case *agenda.Spawned:
		err = st.Enter(m, x)
	case travel.Fact:
		err = st.Arrive(m, x, e.At)
	}
	if err != nil {
		return err
	}
	raw, err := agent.Snapshot(st.Codec, &m.State)
	st.seats.Lay(e.Agent, raw)
	st.doing.Become(e.Agent, metrics.AgentIdle)
	return err
}

// packs asks an agent for the state with which it goes to another scene. One that is passive gets
// its actor for it.
const packs = "pack"

func (a *agentShell) pack(wave uint64) error {
	in, err := machines.Pack(a.Codec, a.machine, wave)
	if err == nil {
		a.stage.Tell(carrying(protocol.KindDecided, machines.Input(in)))
	}
	return err
}

// doers are the profiles of the scene's agents, by class.
func (s *scene) doers() []string {
	profiles := make([]string, s.Class[s.OwnOrdinal()])
	for c := range profiles {
		profiles[c] = s.Definitions[c].Profile
	}
	return profiles
}

// doingOf is what agents do when a scene is started, as its journal left them.
func doingOf(a *agenda.State) func(uint32) metrics.AgentState {
	return func(o uint32) metrics.AgentState {
		switch {
		case a.Away(o):
			return metrics.AgentAway
		case a.GaveUp(o):
			return metrics.AgentGivenUp
		}
		return metrics.AgentIdle
	}
}

// joinLinks lets the scene wait for those to which it is linked.
func (s *scene) joinLinks(st *machines.Stage) {
	if s.options.Links == nil {
		return
	}
	start := protocol.TimeOf(s.Simulation().StartTime)
	end, _ := st.TimeLimit()
	s.options.Links.Join(&st.Travel, links.Port{
		Start: start, End: end, Now: max(start, st.Agenda.Now), Tell: s.orders.Letter,
		Ask: func() {
			s.stage.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: doAsk}, Kind: protocol.KindControl})
		},
		Who: s.Member,
	})
}
