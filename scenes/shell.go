package scenes

import (
	"bytes"
	"sync"

	"tavernsim/protocol"
)

// buffers lends memory to encode into; what is sent is a copy of the right size.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any { return new([]byte) }}}
}

// handOver sends a decision to the scene: facts encoded once, requests for the
// other machines.
func (s *scene) handOver(kind protocol.Kind, actor string, d protocol.Decided, facts []protocol.Fact, requests []protocol.Sequenced) error {
	scratch := s.buffers.pool.Get().(*[]byte)
	defer s.buffers.pool.Put(scratch)
	b, err := protocol.AppendDecided((*scratch)[:0], s.codec, d, facts, requests)
	if err != nil {
		return err
	}
	*scratch = b
	s.stage.Tell(&protocol.Envelope{Kind: kind, Source: actor, Body: protocol.NewBody(bytes.Clone(b))})
	return nil
}
