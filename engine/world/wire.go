package world

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// AppendMsg writes the request as it travels to the world: a list of id, by,
// profile, reason, path, op, value, expected version or null, reads (a list of
// path and version), group, cause.
func (q *Request) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 11)
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

// ReadRequest decodes a request. What it holds shares the bytes.
func ReadRequest(raw protocol.Raw) (q Request, err error) {
	err = q.Read(raw, nil)
	return q, err
}

// Read is ReadRequest into an empty request, with paths that are remembered; nil = they are not.
func (q *Request) Read(raw protocol.Raw, paths *Paths) error {
	r := reader{b: raw, texts: protocol.ShareTexts(raw)}
	r.array("request", 11)
	q.ID, q.By, q.Profile, q.Reason = r.text(), r.text(), r.text(), r.text()
	q.Path, q.Op, q.Value = paths.read(&r), Op(r.text()), r.raw()
	if r.err == nil && msgp.IsNil(r.b) {
		r.b = r.b[1:]
	} else {
		expected := r.int()
		q.Expected = &expected
	}
	if n, ok := r.list(3); ok && n > 0 {
		q.Reads = make([]Read, n)
		for i := range q.Reads {
			r.array("read", 2)
			q.Reads[i] = Read{Path: r.path(), Version: r.int()}
		}
	}
	q.Group, q.Cause = r.text(), r.cause()
	return r.done("request")
}
