package scenes

import (
	"bytes"
	"sync"

	"tavernsim/protocol"
)

// buffers holds memory for encoding. Messages get a copy of the right size.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any { return new([]byte) }}}
}

// parcel encodes a decision with its facts and the requests to other machines.
func (s *scene) parcel(kind protocol.Kind, actor string, d protocol.Decided, facts []protocol.Fact, requests []protocol.Sequenced) (*protocol.Envelope, error) {
	scratch := s.buffers.pool.Get().(*[]byte)
	defer s.buffers.pool.Put(scratch)
	b, err := protocol.AppendDecided((*scratch)[:0], s.Codec, d, facts, requests)
	if err != nil {
		return nil, err
	}
	if cap(b) <= 1<<20 {
		*scratch = b
	}
	return &protocol.Envelope{EventHeader: protocol.EventHeader{Source: actor}, Kind: kind, Body: protocol.NewBody(bytes.Clone(b))}, nil
}
