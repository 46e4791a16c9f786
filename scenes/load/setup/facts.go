package setup

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// NewCodec reads every kind of fact that the journal of a scene may hold.
func NewCodec() *protocol.Codec {
	return protocol.NewCodec(agenda.Facts(), agent.Facts(), bus.Facts(), worldstate.Facts(), knowledge.Facts())
}
