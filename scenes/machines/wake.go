package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Wake is the input that begins a deliberation against a view of the services.
func Wake(sc *setup.Scene, m *agent.Machine, v *View, wave uint64, at protocol.Time, seed uint64, workflow string) agent.Wake {
	if v.edition != nil { // it is of the deliberation from its beginning to its end
		m.Def = v.edition.scene.AgentDefinition(m.ID.Ordinal)
	}
	return agent.Wake{
		Now: at, Wave: wave, View: v, Workflow: workflow,
		Draw: setup.DrawOf(seed, m.ID.Instance, at, m.State.Turn+1),
	}
}

// Due is when an agent is woken after a turn, if nothing is heard until then; 0 = never.
func Due(cfg *agenda.Config, end *agentfact.TurnEnded, at protocol.Time) protocol.Time {
	return cfg.Due(end.Agent, turnOf(end, at), at)
}

// Upcoming is where an agent stands, with its next turn in the open wave or later.
func (s *Stage) Upcoming(o uint32) agenda.Standing {
	st, p := s.Agenda.Standing(o), int(s.places[o])
	if w := s.wave; w != nil && s.phase == phaseTurns && p < len(w.order) && w.order[p] == o && p >= w.merged {
		st.Next = w.time
	}
	return st
}

// WithWorld is the view with another world.
func (v *View) WithWorld(s worldstate.State) *View {
	return v.With(worldstate.Service, Part{Shown: s})
}
