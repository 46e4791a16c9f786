package worldstate

import (
	"strings"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Service is the addressee of requests to the world.
const Service = "world"

// Kind is the form of a request.
type Kind string

const (
	Change   Kind = ""         // a plain change
	Commands Kind = "commands" // a batch of state commands
	Lock     Kind = "lock"     // a lease
	Unlock   Kind = "unlock"   // the end of one
	Leave    Kind = "leave"    // the end of all that Change.By holds, which left the scene
)

// Request is one request of an agent or the scene.
type Request struct {
	Kind Kind
	// Change is the whole of a plain change; the other kinds use its ID, By,
	// Profile, Reason, Reads and Cause.
	Change world.Request
	Always bool // answer also when it is granted

	Turn  string         // of a batch, for the audit
	Batch *command.Batch // of Commands

	Lease string        // id; of Lock and Unlock
	Paths []world.Path  // of Lock
	For   time.Duration // of Lock
}

const requestFields = 8

// AppendMsg encodes the request. A plain change without options has the form of package
// world.
func (q *Request) AppendMsg(b []byte) []byte {
	if q.Kind == Change && !q.Always {
		return q.Change.AppendMsg(b)
	}
	b = msgp.AppendArrayHeader(b, requestFields)
	b = msgp.AppendBool(msgp.AppendString(b, string(q.Kind)), q.Always)
	b = msgp.AppendString(q.Change.AppendMsg(b), q.Turn)
	if q.Batch != nil {
		b = q.Batch.AppendMsg(b)
	} else {
		b = msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(msgp.AppendString(b, q.Lease), uint32(len(q.Paths)))
	for _, p := range q.Paths {
		b = p.AppendMsg(b)
	}
	return protocol.AppendInt(b, int64(q.For))
}

// ReadRequest decodes a request. It shares the bytes.
func ReadRequest(raw protocol.Raw) (q Request, err error) {
	err = q.Read(raw, nil)
	return q, err
}

// Read is ReadRequest into an empty request, with paths that are remembered; nil = they are not.
func (q *Request) Read(raw protocol.Raw, paths *world.Paths) error {
	if n, _, err := msgp.ReadArrayHeaderBytes(raw); err == nil && n != requestFields {
		return q.Change.Read(raw, paths)
	}
	r := protocol.NewReader(raw, "world request", requestFields)
	q.Kind, q.Always = Kind(r.Word()), r.Bool()
	if err := q.Change.Read(r.Raw(), paths); err != nil {
		return err
	}
	q.Turn = r.String()
	if batch := r.Raw(); batch != nil {
		b, err := command.ReadBatch(batch)
		if err != nil {
			return err
		}
		q.Batch = &b
	}
	q.Lease = r.String()
	for n, _ := r.Count(1); len(q.Paths) < n && r.Err() == nil; {
		q.Paths = append(q.Paths, world.ReadPath(r))
	}
	q.For = time.Duration(r.Int())
	return r.End()
}

// Foreign finds the first command of a batch whose key has one of the prefixes:
// a key of another document.
func Foreign(b *command.Batch, prefixes ...string) (key string, ok bool) {
	for i := range b.Entries {
		key := strings.TrimSpace(b.Entries[i].Key)
		for _, p := range prefixes {
			if strings.HasPrefix(key, p) {
				return key, true
			}
		}
	}
	return "", false
}
