package scenes

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/internal/metrics"
	"tavernsim/scenes/machines"
)

// comes puts an agent that came into the scene. It gets its actor with the first that it is told.
func (st *stage) comes(e *machines.Effect) error {
	m := st.Machine(e.Agent)
	if err := st.Enter(m, e.Fact.(*agenda.Spawned)); err != nil {
		return err
	}
	raw, err := agent.Snapshot(st.Codec, &m.State)
	st.seats.Lay(e.Agent, string(raw))
	st.doing.become(e.Agent, metrics.AgentIdle)
	return err
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
