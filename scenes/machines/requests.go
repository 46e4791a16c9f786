package machines

import (
	"tavernsim/protocol"

	"github.com/tinylib/msgp/msgp"
)

// Requests gathers encoded requests for one machine. They are copied, so that
// the messages they came in can go.
type Requests struct {
	buf   []byte
	Count uint32
}

// Add takes one more.
func (r *Requests) Add(data protocol.Raw) {
	r.buf = append(r.buf, data...)
	r.Count++
}

// Take makes the body of an envelope: the count, then the requests one after
// the other.
func (r *Requests) Take() protocol.Raw {
	body := msgp.AppendUint32(make([]byte, 0, len(r.buf)+5), r.Count)
	body = append(body, r.buf...)
	*r = Requests{}
	return body
}

// RequestReader takes such a body apart again; the parts share its memory.
type RequestReader struct {
	rest []byte
	Left uint32 // that follow
}

// ReadRequests begins to take one apart.
func ReadRequests(b protocol.Raw) (*RequestReader, error) {
	n, rest, err := msgp.ReadUint32Bytes(b)
	if err != nil || int(n) > len(rest) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "a list of %d requests in %d bytes", n, len(b))
	}
	return &RequestReader{rest: rest, Left: n}, nil
}

// Next gives up to n requests; none = the end.
func (r *RequestReader) Next(n int) ([]protocol.Raw, error) {
	list := make([]protocol.Raw, min(n, int(r.Left)))
	for i := range list {
		after, err := msgp.Skip(r.rest)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "a request: %w", err)
		}
		list[i], r.rest = protocol.Raw(r.rest[:len(r.rest)-len(after)]), after
	}
	r.Left -= uint32(len(list))
	return list, nil
}
