package world

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

const requestFields = 11

// AppendMsg writes the request as it travels to the world: a list of id, by,
// profile, reason, path, op, value, expected version or null, reads (a list of
// path and version), group, cause.
func (q *Request) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, requestFields)
	for _, s := range [...]string{q.ID, q.By, q.Profile, q.Reason} {
		b = msgp.AppendString(b, s)
	}
	b = q.Path.AppendMsg(b)
	b = msgp.AppendString(b, string(q.Op))
	b = protocol.AppendRaw(b, q.Value)
	if q.Expected == nil {
		b = msgp.AppendNil(b)
	} else {
		b = protocol.AppendInt(b, *q.Expected)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(q.Reads)))
	for i := range q.Reads {
		b = msgp.AppendArrayHeader(b, 2)
		b = q.Reads[i].Path.AppendMsg(b)
		b = protocol.AppendInt(b, q.Reads[i].Version)
	}
	b = msgp.AppendString(b, q.Group)
	return q.Cause.appendMsg(b)
}

// Read decodes what AppendMsg wrote, into an empty request that shares the bytes. Paths are remembered; nil = they are not.
func (q *Request) Read(raw protocol.Raw, paths *Paths) error {
	r := protocol.NewReader(raw, "request", requestFields)
	r.Share()
	q.ID, q.By, q.Profile, q.Reason = r.String(), r.String(), r.String(), r.String()
	q.Path, q.Op, q.Value = paths.read(r), Op(r.String()), r.Raw()
	if !r.Nil() {
		expected := r.Int()
		q.Expected = &expected
	}
	if n, _ := r.Count(3); n > 0 {
		q.Reads = make([]Read, n)
		for i := range q.Reads {
			r.Fields("read", 2)
			q.Reads[i] = Read{Path: ReadPath(r), Version: r.Int()}
		}
	}
	q.Group, q.Cause = r.String(), readCause(r)
	return r.End()
}
