// Package outbox holds the results of a turn until it ends (agent architecture §2): its facts, its
// requests to other machines, and the memory of their encoded values.
//
// # Promises
//
//  1. An encoded value does not change until [Box.Clear], however many follow it.
//  2. A box that exceeds its budget records that, and removes nothing: its owner ends
//     the turn.
//  3. A cleared box keeps the memory of its lists, and that of values up to a bound.
//
// # Not here
//
// Undoing an interrupted turn: package engine/agent.
package outbox

import (
	"strconv"

	"tavernsim/engine/bus"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Box is what one turn of an agent will leave. It is reused: see [Box.Clear].
type Box struct {
	Agent    string // instance id
	Turn     uint64
	Cause    *protocol.Envelope // of what is added: the event whose workflow acts, else the most urgent that the turn perceived; nil = none
	Facts    []protocol.Fact
	Requests []protocol.Sequenced
	Changed  bool // the facts change the private state or the goals

	Budget workflow.Budget // of what the workflows of the turn make, and of what it leaves
	Over   error           // set when the budget was exceeded

	arena []byte // encoded values
}

// EntryBytes estimates the memory of a call or a fact without its values.
const EntryBytes = 256

// maxKept is how large a buffer may be that waits for the next turn.
const maxKept = 1 << 20

// Clear empties the box.
func (b *Box) Clear() {
	clear(b.Facts[:cap(b.Facts)])
	clear(b.Requests[:cap(b.Requests)])
	arena := b.arena[:0]
	if cap(arena) > maxKept {
		arena = nil
	}
	*b = Box{Facts: b.Facts[:0], Requests: b.Requests[:0], arena: arena}
}

// Note adds facts.
func (b *Box) Note(facts ...protocol.Fact) { b.Facts = append(b.Facts, facts...) }

// Request adds a request to another machine, which the scene passes on after the turn.
// write appends its encoded form.
func (b *Box) Request(to string, write func([]byte) []byte) {
	b.Requests = append(b.Requests, protocol.Sequenced{To: to, Data: b.Write(write)})
}

// Publish adds an event to the requests.
func (b *Box) Publish(d protocol.Draft) {
	d.Source, d.Turn = b.Agent, b.Turn
	if b.Cause != nil {
		d.CausedBy(b.Cause)
	}
	b.Request(bus.Service, d.AppendMsg)
}

// NextID is the id of the next request.
func (b *Box) NextID() string { return b.Name(".", strconv.Itoa(len(b.Requests)+1)) }

// Name is a name that no other turn of the scene gives.
func (b *Box) Name(kind, name string) string {
	return b.Agent + "/" + strconv.FormatUint(b.Turn, 10) + kind + name
}

// Encode encodes a value into the memory of the box.
func (b *Box) Encode(v any) protocol.Raw {
	return b.Write(func(to []byte) []byte { return protocol.AppendValue(to, v) })
}

// Write returns what write appends to the memory of the box.
func (b *Box) Write(write func([]byte) []byte) protocol.Raw {
	from := len(b.arena)
	b.arena = write(b.arena)
	b.Spend(len(b.arena) - from)
	return protocol.Raw(b.arena[from:len(b.arena):len(b.arena)])
}

// Spend charges bytes that the turn hands over to the budget and reports whether they fit.
func (b *Box) Spend(n int) bool {
	if err := b.Budget.Take(n); err != nil && b.Over == nil {
		b.Over = err
	}
	return b.Over == nil
}
