// Package roster keeps counts for each agent of a scene.
package roster

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/tally"
)

// Roster counts what each agent did, by ordinal, without the scene's own. Like the tally it
// is folded from the facts. It is nil if the fold began with a snapshot of a program that
// did not count: then nobody knows what came before.
type Roster []Worked

// Worked counts the turns of one agent. 32 bits are enough for turns, each of which takes
// a fact.
type Worked struct {
	Turns    uint32
	Failures uint32 // turns without a decision, also by a failed actor
	Calls    uint32
	Models   uint32
	Heard    uint32        // events that it perceived
	Last     protocol.Time // end of its last turn
}

// Bytes is about what an agent takes in a note, with its place on the agenda.
const Bytes = 40

// Count counts a fact.
func (r Roster) Count(record protocol.Record, fact protocol.Fact) {
	switch x := fact.(type) {
	case *agentfact.TurnEnded:
		if int(x.Agent) < len(r) {
			r[x.Agent].turn(x, record.Time)
		}
	case *agenda.AgentFailed:
		if int(x.Agent) < len(r) {
			r[x.Agent].Failures++
			r[x.Agent].Last = record.Time
		}
	}
}

func (w *Worked) turn(x *agentfact.TurnEnded, at protocol.Time) {
	w.Turns++
	if tally.TurnFailed(x) {
		w.Failures++
	}
	w.Calls += uint32(x.Calls)
	w.Models += uint32(x.ModelCalls)
	w.Heard += uint32(x.Perceived)
	w.Last = at
}

// Pack encodes a roster as integers, six for each agent.
func (r Roster) Pack() (b []byte) {
	for i := range r {
		w := &r[i]
		for _, n := range [...]uint32{w.Turns, w.Failures, w.Calls, w.Models, w.Heard} {
			b = msgp.AppendUint32(b, n)
		}
		b = msgp.AppendInt64(b, int64(w.Last))
	}
	return b
}

// Unpack reads the roster of so many agents; none was packed = nil.
func Unpack(b []byte, agents int) (Roster, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := make(Roster, agents)
	var err error
	for i := range r {
		w := &r[i]
		for _, n := range [...]*uint32{&w.Turns, &w.Failures, &w.Calls, &w.Models, &w.Heard} {
			if *n, b, err = msgp.ReadUint32Bytes(b); err != nil {
				return nil, protocol.Errorf(protocol.KindCorrupt, "a roster: agent %d of %d: %w", i, agents, err)
			}
		}
		var last int64
		if last, b, err = msgp.ReadInt64Bytes(b); err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "a roster: agent %d of %d: %w", i, agents, err)
		}
		w.Last = protocol.Time(last)
	}
	if len(b) > 0 {
		return nil, protocol.Errorf(protocol.KindCorrupt, "a roster: it is of more than %d agents", agents)
	}
	return r, nil
}
