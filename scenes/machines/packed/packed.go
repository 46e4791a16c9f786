// Package packed encodes the requests of a wave to one machine into one piece of memory, which the
// stage sends to the actor of that machine.
//
// [Requests] collects them, [Read] decodes them.
package packed

import (
	"encoding/binary"
	"slices"

	"tavernsim/protocol"

	"github.com/tinylib/msgp/msgp"
)

// Requests gathers encoded requests for one machine. It copies them, so that the
// memory of their messages can be released.
type Requests struct {
	buf   []byte // room for the count, then the requests, each behind its length
	Count uint32
	last  int // size of the previous list, as an estimate
	first int // bytes of those that were put before the others
}

const countBytes, lengthBytes = 5, 4

// Add appends a request.
func (r *Requests) Add(data protocol.Raw) {
	if r.Count == 0 {
		r.buf = make([]byte, countBytes, max(r.last+r.last/8, countBytes+lengthBytes+len(data)))
	}
	r.buf = append(binary.BigEndian.AppendUint32(r.buf, uint32(len(data))), data...)
	r.Count++
}

// AddFirst puts a request before those that were added with Add, behind those before it.
func (r *Requests) AddFirst(data protocol.Raw) {
	if r.Count == 0 {
		r.buf = make([]byte, countBytes, countBytes+lengthBytes+len(data))
	}
	at := countBytes + r.first
	r.buf = slices.Insert(r.buf, at, append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)...)
	r.first += lengthBytes + len(data)
	r.Count++
}

// Take makes the body of an envelope, the count and then the requests, and empties
// the list.
func (r *Requests) Take() protocol.Raw {
	if r.Count == 0 {
		return msgp.AppendUint32(nil, 0)
	}
	body := r.buf
	n := r.Count
	copy(body, []byte{0xce, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) // msgpack's uint32
	*r = Requests{last: len(body)}
	return body
}

// Reader reads such a body; the requests share its memory.
type Reader struct {
	rest []byte
	Left uint32 // requests that follow
	Open bool   // others of the wave follow in another body
	list []protocol.Raw
}

// Read begins to read a body.
func Read(b protocol.Raw) (*Reader, error) {
	n, rest, err := msgp.ReadUint32Bytes(b)
	if err != nil || int(n) > len(rest) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "a list of %d requests in %d bytes", n, len(b))
	}
	return &Reader{rest: rest, Left: n}, nil
}

// Next gives up to n requests; none = the end. They are valid until the next call.
func (r *Reader) Next(n int) ([]protocol.Raw, error) {
	n = min(n, int(r.Left))
	r.list = slices.Grow(r.list[:0], n)
	list := r.list[:n]
	for i := range list {
		if len(r.rest) < lengthBytes || int(binary.BigEndian.Uint32(r.rest)) > len(r.rest)-lengthBytes {
			return nil, protocol.Errorf(protocol.KindCorrupt, "a request does not fit into the %d bytes that are left", len(r.rest))
		}
		end := lengthBytes + int(binary.BigEndian.Uint32(r.rest))
		list[i], r.rest = protocol.Raw(r.rest[lengthBytes:end:end]), r.rest[end:]
	}
	r.Left -= uint32(len(list))
	return list, nil
}

// All reads the requests of a body at once.
func All(b protocol.Raw) ([]protocol.Raw, error) {
	r, err := Read(b)
	if err != nil {
		return nil, err
	}
	return r.Next(int(r.Left))
}
