package space

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Request asks the service to move an agent.
type Request struct {
	ID     string
	By     string // instance id of who asked, or what a service calls it
	Agent  string // instance id
	To     string // a direction, Stay, a cell "x,y", a place or an instance id
	Reason string
	Put    bool // at once; only of somebody who directs the scene
}

// MaxTo bounds Request.To, in bytes.
const MaxTo = 256

// Grammar is what a request takes as its end, for messages and pages.
const Grammar = "a place, a cell \"x,y\", an instance id, a direction such as north or southwest, or stay"

// CheckTo says what is wrong with the end of a walk, whatever the map is like.
func CheckTo(to string) error {
	if to == "" || len(to) > MaxTo {
		return protocol.Errorf(protocol.KindInvalid, "to: %d bytes, want 1 to %d: %s", len(to), MaxTo, Grammar)
	}
	return nil
}

const requestFields = 6

// AppendMsg encodes a request.
func (q *Request) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, requestFields)
	for _, text := range [...]string{q.ID, q.By, q.Agent, q.To, q.Reason} {
		b = msgp.AppendString(b, text)
	}
	return msgp.AppendBool(b, q.Put)
}

// ReadRequest decodes a request.
func ReadRequest(raw protocol.Raw) (q Request, err error) {
	r := protocol.NewReader(raw, "a request to "+Service, requestFields)
	q = Request{r.String(), r.String(), r.String(), r.String(), r.String(), r.Bool()}
	return q, r.End()
}

// Value is the request for readers.
func (q *Request) Value() map[string]any {
	v := map[string]any{"id": q.ID, "by": q.By, "agent": q.Agent, "to": q.To, "at_once": q.Put}
	if q.Reason != "" {
		v["reason"] = q.Reason
	}
	return v
}
