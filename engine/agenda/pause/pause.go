// Package pause keeps the rests of agents: the time until which a ceiling keeps an agent from being
// woken, and the types of events that wake a sleeping agent.
//
// # Promises
//
//  1. A rest is in force from the end of one turn to the end of the next.
//  2. Equal [Rests] have equal bytes; an empty one has none.
package pause

import (
	"maps"
	"slices"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/bus/eventtype"
	"tavernsim/protocol"
)

// Rest is how one agent rests.
type Rest struct {
	Until protocol.Time // nothing wakes it before; 0 = it may be woken at once
	Types []string      // of events that wake it while it sleeps, whatever their priority; a.b.* is every type below a.b
}

// Rests are those of the agents of a scene, by ordinal. The zero value has none.
type Rests struct {
	held map[uint32]Rest
	said map[uint32]Rest // of turns whose end follows
}

// Say notes how an agent rests from the end of its turn, which follows.
func (r *Rests) Say(o uint32, rest Rest) {
	if r.said == nil {
		r.said = map[uint32]Rest{}
	}
	r.said[o] = rest
}

// Begin is the end of a turn. Before until, nothing wakes the agent; 0 = it has no ceiling.
func (r *Rests) Begin(o uint32, until protocol.Time) {
	rest := r.said[o]
	delete(r.said, o)
	if rest.Until = max(rest.Until, until); rest.Until == 0 && len(rest.Types) == 0 {
		delete(r.held, o)
		return
	}
	if r.held == nil {
		r.held = map[uint32]Rest{}
	}
	r.held[o] = rest
}

// Forget drops the rest of an agent that left.
func (r *Rests) Forget(o uint32) { delete(r.held, o) }

// Until is the moment before which nothing wakes an agent; 0 = there is none.
func (r *Rests) Until(o uint32) protocol.Time { return r.held[o].Until }

// Wakes reports whether an event of this type wakes an agent that sleeps.
func (r *Rests) Wakes(o uint32, kind string) bool {
	return Matches(r.held[o].Types, kind)
}

// Matches reports whether an event of this type is of one of the types.
func Matches(types []string, kind string) bool {
	return slices.ContainsFunc(types, func(pattern string) bool { return eventtype.Matches(pattern, kind) })
}

// Append appends the stored form, by ordinal.
func (r *Rests) Append(b []byte) []byte {
	for _, o := range slices.Sorted(maps.Keys(r.held)) {
		rest := r.held[o]
		b = msgp.AppendInt64(msgp.AppendUint32(b, o), int64(rest.Until))
		b = msgp.AppendArrayHeader(b, uint32(len(rest.Types)))
		for _, t := range rest.Types {
			b = msgp.AppendString(b, t)
		}
	}
	return b
}

// Read reads the stored form for a scene with so many agents.
func Read(b []byte, agents int) (r Rests, err error) {
	for last := -1; len(b) > 0; {
		var o, n uint32
		var until int64
		if o, b, err = msgp.ReadUint32Bytes(b); err == nil {
			until, b, err = msgp.ReadInt64Bytes(b)
		}
		if err == nil {
			n, b, err = msgp.ReadArrayHeaderBytes(b)
		}
		rest := Rest{Until: protocol.Time(until)}
		for range n {
			t := ""
			if t, b, err = msgp.ReadStringBytes(b); err != nil {
				break
			}
			rest.Types = append(rest.Types, t)
		}
		if err != nil || int(o) <= last || int(o) >= agents {
			return r, protocol.Errorf(protocol.KindCorrupt, "who rests until when: agent %d of %d behind agent %d: want ascending ordinals, a time and types (%v)", o, agents, last, err)
		}
		last = int(o)
		if r.held == nil {
			r.held = map[uint32]Rest{}
		}
		r.held[o] = rest
	}
	return r, nil
}
