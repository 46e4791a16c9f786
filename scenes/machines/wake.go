package machines

import (
	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Wake is the input that begins a deliberation against a view of the services.
func Wake(sc *setup.Scene, m *agent.Machine, v *View, wave uint64, at protocol.Time, seed uint64, workflow string) *agent.Wake {
	return &agent.Wake{
		Now: at, Wave: wave, View: v, Workflow: workflow,
		Draw: setup.DrawOf(seed, m.ID.Instance, at, m.State.Turn+1),
	}
}
