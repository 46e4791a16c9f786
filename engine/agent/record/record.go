// Package record makes the facts of the calls of a turn (agent architecture §2.1.4). Other facts
// hold the effects of the calls, so these may hide secrets.
//
// # Promises
//
//  1. Parameters, output and error in a fact of a call have no secret, and can be read again.
//  2. If a call was shown only to a round of its turn and that round fails, the next turn observes the call.
package record

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
)

// Calls are the facts of the calls of a turn.
type Calls struct {
	made  []agentfact.CallMade
	shown []*agentfact.CallMade // to this round alone: worth observing if it is refused
}

// Clear forgets the calls, and keeps the memory of the lists.
func (l *Calls) Clear() {
	clear(l.made[:cap(l.made)])
	clear(l.shown[:cap(l.shown)])
	l.made, l.shown = l.made[:0], l.shown[:0]
}

// Add adds the fact of a call, with its parameters or without. The agent's next turn observes the
// call from this fact if observe says so.
func (l *Calls) Add(c *protocol.Call, r *protocol.CallResult, observe, params bool, out *outbox.Box) {
	if !out.Spend(outbox.EntryBytes) {
		return
	}
	l.made = append(l.made, agentfact.CallMade{ID: c.ID, Tool: c.Tool, Origin: c.Origin, Status: r.Status, Observe: observe})
	f := &l.made[len(l.made)-1] // the place stays good when the list grows: the list before is left as it is
	if len(c.Params) > 0 && params {
		f.Params = Value(c.Params, out)
	}
	if r.Output != nil {
		f.Output = Value(r.Output, out)
	}
	if r.Error != nil {
		f.Error = secret.Text(r.Error.Message)
		out.Spend(len(f.Error))
	}
	out.Note(f)
}

// Value encodes a part of a call without secrets. In the place of a value that
// nests too deep to be read again stands why.
func Value(v any, out *outbox.Box) protocol.Raw {
	if id, ok := v.(tool.RequestID); ok {
		return out.Write(func(b []byte) []byte {
			return msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(b, 1), "request_id"), secret.Text(string(id)))
		})
	}
	v, _ = secret.Hide(tool.Readable(v))
	raw := out.Encode(v)
	if err := protocol.Check(raw); err != nil {
		return out.Encode(err.Error())
	}
	return raw
}

// Made are the facts so far, until Clear.
func (l *Calls) Made() []agentfact.CallMade { return l.made }

// Show notes the call that was added last, unless the agent observes it anyway.
func (l *Calls) Show(observed bool) {
	if n := len(l.made); !observed && n > 0 {
		l.shown = append(l.shown, &l.made[n-1])
	}
}

// Seen says that the round was carried out that was shown the calls.
func (l *Calls) Seen() { l.shown = l.shown[:0] }

// Observe lets the next deliberation observe what this round alone was shown.
func (l *Calls) Observe() {
	for _, f := range l.shown {
		f.Observe = true
	}
}
