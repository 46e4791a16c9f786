package setup

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// NewCodec makes a codec for every kind of fact in the journal of a scene.
func NewCodec() *protocol.Codec {
	return protocol.NewCodec(agenda.Facts(), agent.Facts(), bus.Facts(), worldstate.Facts(), knowledge.Facts())
}
