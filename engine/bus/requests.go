package bus

import (
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/bus/team"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// Service is the addressee of requests to the channel.
const Service = "events"

// Request is a request to the channel: a *protocol.Draft, *Change, *Force, *WorldUpdated,
// *Presence or team.Load. The encoding of a draft is its own; that of the others is an array
// that begins with their number.
type Request any

// Numbers of requests other than drafts.
const (
	numberChange = 1
	numberForce  = 2
	numberWorld  = 3
	numberHere   = 4
)

// Change adds and removes subscriptions of one agent. An entry of Remove removes every
// subscription of its type, or only those with the filter and path that it names.
type Change struct {
	Agent  string // instance id
	Add    []Subscription
	Remove []Subscription
}

// Force sets or removes a throttle rule at run time. Only the scene's own agent may.
type Force struct {
	By     string // instance id
	Rule   throttle.Rule
	Remove bool // the rule of this type, source and per
}

// AppendMsg writes the request.
func (c *Change) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 4)
	b = msgp.AppendInt(b, numberChange)
	b = msgp.AppendString(b, c.Agent)
	b = appendSubscriptions(b, c.Add)
	return appendSubscriptions(b, c.Remove)
}

func appendSubscriptions(b []byte, list []Subscription) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for i := range list {
		b = list[i].appendMsg(b)
	}
	return b
}

// AppendMsg writes the request.
func (f *Force) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 10)
	b = msgp.AppendInt(b, numberForce)
	b = msgp.AppendString(b, f.By)
	b = msgp.AppendBool(b, f.Remove)
	b = msgp.AppendString(b, f.Rule.Type)
	b = msgp.AppendString(b, f.Rule.Source)
	b = msgp.AppendString(b, string(f.Rule.Per))
	b = protocol.AppendInt(b, f.Rule.Max)
	b = protocol.AppendInt(b, int64(f.Rule.Window))
	b = msgp.AppendString(b, string(f.Rule.Action))
	return protocol.AppendInt(b, int64(f.Rule.Until))
}

// AppendMsg writes the request.
func (w *WorldUpdated) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 4)
	b = msgp.AppendInt(b, numberWorld)
	b = protocol.AppendInt(b, w.Before)
	b = protocol.AppendInt(b, w.After)
	b = msgp.AppendArrayHeader(b, uint32(len(w.Changes)))
	for i := range w.Changes {
		c := &w.Changes[i]
		b = msgp.AppendArrayHeader(b, 5)
		for _, s := range [...]string{c.Path, c.Op, c.By, c.Reason, c.Request} {
			b = msgp.AppendString(b, s)
		}
	}
	return b
}

// ReadRequest decodes a request. It may share the memory of b, which must not change.
func ReadRequest(b protocol.Raw) (Request, error) {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil || len(rest) == 0 || msgp.NextType(rest) == msgp.StrType {
		return protocol.ReadDraft(b)
	}
	r := protocol.NewReader(b, "request", n)
	switch number := r.Int(); {
	case number == numberChange && n == 4:
		return read(r, &Change{Agent: r.String(), Add: readSubscriptions(r), Remove: readSubscriptions(r)})
	case number == numberForce && n == 10:
		return read(r, readForce(r))
	case number == numberWorld && n == 4:
		return read(r, readWorld(r))
	case number == team.Number && n == 2:
		return read(r, team.Read(r))
	case number == numberHere && n == 3:
		return read(r, &Presence{Agent: r.Uint32(), Here: r.Bool()})
	default:
		return nil, protocol.Errorf(protocol.KindCorrupt, "bus: a request of number %d with %d fields is unknown", number, n)
	}
}

// read ends a request.
func read(r *protocol.Reader, req Request) (Request, error) {
	if err := r.End(); err != nil {
		return nil, err
	}
	return req, nil
}

func readSubscriptions(r *protocol.Reader) []Subscription {
	n, _ := r.Count(7)
	list := make([]Subscription, n)
	for i := range list {
		list[i] = readSubscription(r)
	}
	return list
}

func readForce(r *protocol.Reader) *Force {
	return &Force{By: r.String(), Remove: r.Bool(), Rule: throttle.Rule{Type: r.String(), Source: r.String(), Per: throttle.Per(r.String()),
		Max: r.Int(), Window: time.Duration(r.Int()), Action: throttle.Action(r.String()), Until: protocol.Time(r.Int())}}
}

func readWorld(r *protocol.Reader) *WorldUpdated {
	w := &WorldUpdated{Before: r.Int(), After: r.Int()}
	n, _ := r.Count(6)
	w.Changes = make([]WorldChange, n)
	for i := range w.Changes {
		r.Fields("change", 5)
		w.Changes[i] = WorldChange{Path: r.String(), Op: r.String(), By: r.String(), Reason: r.String(), Request: r.String()}
	}
	return w
}
