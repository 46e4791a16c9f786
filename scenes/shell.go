package scenes

import (
	"bytes"
	"slices"
	"sync"

	"tavernsim/protocol"
)

// buffers holds memory for encoding. Messages get a copy of the right size.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any { return new([]byte) }}}
}

// encode encodes the facts and requests of a decision, into memory of their own.
func (s *scene) encode(facts []protocol.Fact, requests []protocol.Sequenced) ([]protocol.KindData, []protocol.Sequenced, error) {
	scratch := s.buffers.pool.Get().(*[]byte)
	defer s.buffers.pool.Put(scratch)
	b, err := (*scratch)[:0], error(nil)
	kept, asked := make([]protocol.KindData, len(facts)), slices.Clone(requests)
	for i, f := range facts {
		from := len(b)
		if b, err = s.Codec.Append(b, f); err != nil {
			return nil, nil, err
		}
		kept[i] = protocol.KindData{Kind: f.FactKind(), Data: b[from:]}
	}
	for _, r := range requests {
		b = append(b, r.Data...)
	}
	if cap(b) <= 1<<20 {
		*scratch = b
	}
	own := protocol.Raw(bytes.Clone(b))
	cut := func(data *protocol.Raw) {
		n := len(*data)
		*data, own = own[:n:n], own[n:]
	}
	for i := range kept {
		cut(&kept[i].Data)
	}
	for i := range asked {
		cut(&asked[i].Data)
	}
	return kept, asked, nil
}

// carrying makes an envelope to the stage whose body is a value.
func carrying(kind protocol.Kind, v any) *protocol.Envelope {
	env := &protocol.Envelope{Kind: kind}
	env.Body.SetValue(v)
	return env
}

// carried is the value that an envelope carries beside its bytes, or in their place.
func carried[T any](env *protocol.Envelope) (T, error) {
	v, err := env.Body.Value()
	x, ok := v.(T)
	if err == nil && !ok {
		err = protocol.Errorf(protocol.KindInternal, "%s carries a %T", env.Kind, v)
	}
	return x, err
}
