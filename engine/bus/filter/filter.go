// Package filter holds the filters of subscriptions: expressions over an event and the agent
// that may hear it (docs/formats/events.md, seed 004 §5.2).
//
// [Compile] reads a filter; [Filter.Hears] asks it about an agent in an [Env].
//
// # Promises
//
//  1. A filter that does not read self has one answer for all agents ([Filter.Self]).
//  2. A filter that names its listener, or the place of its listeners, is false for
//     all other agents ([Filter.Named]).
//  3. A filter takes a bounded number of steps, and changes nothing.
//
// # Not here
//
// The subscriptions, and the agents that a filter is asked about (engine/bus). The language (engine/expr).
package filter

import (
	"slices"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Fields of self.
const (
	fieldID      = "instance_id"
	fieldProfile = "profile_id"
	fieldPlace   = "place" // null: the agent is in none; undefined: the scene has no space
)

// Fields lists what a filter may read of self.
func Fields() []string { return []string{fieldID, fieldProfile, fieldPlace} }

// Filter is one distinct text, shared by all subscriptions with it.
type Filter struct {
	Text string
	Self bool // reads self: receivers may differ

	// Names says which field of self the filter begins with, "X === self.field": "" = none.
	Names Name
	// Whole: it has no other condition.
	Whole bool

	place   bool          // reads self.place
	program *expr.Program // of all
	x       *expr.Program // of X
}

// Name is what a filter names of its listeners.
type Name int

const (
	NamesNobody Name = iota
	NamesAgent
	NamesPlace
)

// Compile reads a filter. steps is its budget; 0 = that of engine/expr.
func Compile(text string, steps int) (*Filter, error) {
	p, err := expr.Compile(text, "payload", "event", "self")
	if err != nil {
		return nil, err
	}
	if steps > 0 {
		p = p.WithSteps(steps)
	}
	f := &Filter{Text: text, program: p, Self: p.Uses("self")}
	f.place = slices.ContainsFunc(p.Reads("self"), func(keys []string) bool { return len(keys) == 0 || keys[0] == fieldPlace })
	for _, n := range []struct {
		name  Name
		field string
	}{{NamesAgent, fieldID}, {NamesPlace, fieldPlace}} {
		if x, whole, ok := p.Selects("self", n.field); ok {
			f.Names, f.x, f.Whole = n.name, x, whole
			break
		}
	}
	return f, nil
}

// Env is what the names in filters mean for one event.
type Env struct {
	Event *protocol.SharedEvent

	self map[string]any // reused for every agent; filters keep no reference
}

// Lookup implements expr.Env.
func (e *Env) Lookup(root string) (any, bool) {
	switch root {
	case "payload":
		v, err := e.Event.Body.Value()
		return v, err == nil
	case "event":
		return e.Event.Value(), true
	case "self":
		return e.self, true
	}
	return nil, false
}

// Self is an agent as filters see it, boxed once.
type Self struct{ ID, Profile any }

// Places tells where agents are.
type Places interface {
	// PlaceOf names the place that an agent is in; "" = it is in none.
	PlaceOf(ordinal uint32) string
}

// Hears reports whether an agent hears the event. who is nil if the filter does not read
// self, in is nil where nobody is in a place.
func (f *Filter) Hears(e *Env, who *Self, in Places, ordinal uint32) (bool, error) {
	if who == nil {
		return f.program.EvalBool(e)
	}
	if e.self == nil {
		e.self = map[string]any{}
	}
	e.self[fieldID], e.self[fieldProfile] = who.ID, who.Profile
	if f.place && in != nil {
		e.self[fieldPlace] = nil
		if name := in.PlaceOf(ordinal); name != "" {
			e.self[fieldPlace] = name
		}
	}
	return f.program.EvalBool(e)
}

// Named is what a filter with Names names for the event. False = it is no name, so the
// filter has to be asked about everybody.
func (f *Filter) Named(e *Env) (name string, is bool, err error) {
	v, err := f.x.Eval(e)
	if err != nil {
		return "", false, err
	}
	name, is = v.(string)
	return name, is, nil
}
