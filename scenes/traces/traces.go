// Package traces tells the journal's index which causal traces a fact belongs
// to, so that what followed from one event is found without reading all else.
//
// You give [Rule] to every store of scenes that you open (persistence.Options).
//
// # Promises
//
//  1. A fact that names a trace at one of the places of docs/formats/facts.md is
//     found by it: the event routed or refused, the change of the world, also by
//     state commands, the refusal of one.
//  2. Any bytes are taken: what is no such fact has no trace. Nothing is
//     decoded that lies behind the trace, and nothing is allocated.
//
// # Not here
//
// Facts of turns: a deliberation perceives events of many traces and names
// none. What it published or changed does.
package traces

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/persistence"
)

// rule changes whenever other traces are read than before.
const rule = 1

// Rule is how traces are read from the facts of scenes.
func Rule() persistence.Traces { return persistence.Traces{Rule: rule, Of: of} }

// Places of a trace in the array of a fact (docs/formats/facts.md).
const (
	routedTrace  = 6
	refusedTrace = 8
	worldCause   = 8
	worldChanges = 3
	changeCause  = 6
	stateParts   = 5
	partChanges  = 3
)

func of(kind string, data []byte, yield func(trace []byte)) {
	switch kind {
	case "event.routed":
		tell(field(data, routedTrace), yield)
	case "event.refused":
		tell(field(data, refusedTrace), yield)
	case "world.refused":
		tell(field(field(data, worldCause), 0), yield)
	case "world.committed":
		changes(field(data, worldChanges), yield)
	case "state.committed":
		each(field(data, stateParts), func(part []byte) { changes(field(part, partChanges), yield) })
	}
}

// field is what begins with the field of an array at a place; nil where there is
// none.
func field(b []byte, at uint32) []byte {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil || at >= n {
		return nil
	}
	for range at {
		if rest, err = msgp.Skip(rest); err != nil {
			return nil
		}
	}
	return rest
}

func changes(b []byte, yield func([]byte)) {
	each(b, func(change []byte) { tell(field(field(change, changeCause), 0), yield) })
}

// each hands over what begins with each element of an array.
func each(b []byte, yield func(element []byte)) {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	for i := uint32(0); i < n && err == nil; i++ {
		yield(rest)
		rest, err = msgp.Skip(rest)
	}
}

func tell(b []byte, yield func([]byte)) {
	if trace, _, err := msgp.ReadStringZC(b); err == nil && len(trace) > 0 {
		yield(trace)
	}
}
