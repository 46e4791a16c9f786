package scenes

import (
	"strconv"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// tell sends an agent an envelope. One that left misses it: what was for it is counted where
// it left.
func (s *scene) tell(o uint32, env *protocol.Envelope) {
	if ref := s.refs[o].Load(); ref != nil {
		ref.Tell(env)
	}
}

// lifeMark stands between an instance id and the number of the actor's life, so that an agent
// can come back before the actor that it had is gone. No instance id has it.
const lifeMark = "\x00"

// instanceOf is the instance id in the name of an actor.
func instanceOf(actor string) string {
	id, _, _ := strings.Cut(actor, lifeMark)
	return id
}

// comes starts the actor of an agent that came.
func (st *stage) comes(e *machines.Effect) error {
	m := st.Machine(e.Agent)
	if err := st.Enter(m, e.Fact.(*agenda.Spawned)); err != nil {
		return err
	}
	st.lives++
	st.doing.become(e.Agent, metrics.AgentIdle)
	return st.spawnAgent(e.Agent, m, lifeMark+strconv.FormatUint(st.lives, 10))
}

// leaves ends the actor of an agent, after the message that it handles.
func (s *scene) leaves(o uint32) {
	if ref := s.refs[o].Swap(nil); ref != nil {
		s.system.Stop(ref)
	}
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
