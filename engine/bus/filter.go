package bus

import (
	"tavernsim/engine/bus/filter"
	"tavernsim/protocol"
)

// shared is a filter with the number of its groups. It is dropped with the last one.
type shared struct {
	*filter.Filter
	uses int
}

// FilterFailure describes filters that failed on one event.
type FilterFailure struct {
	EventID string
	Filter  string             // its text
	Error   string             // the first one
	Kind    protocol.ErrorKind // of the first one: KindLimit when it used up its steps
	Count   int                // receivers for which it failed
}

// matching finds the members of a filtered group that hear the event.
func (r *routing) matching(g *group) Ranges {
	f, members := g.filter.Filter, r.audience(g)
	switch {
	case !f.Self:
		r.verdict.Asked++
		ok, err := f.Hears(&r.env, nil, nil, 0)
		r.failed(f, err, members.Len())
		if ok {
			return members
		}
		return nil
	case f.Names != filter.NamesNobody:
		return r.named(f, members)
	}
	return r.scan(f, members)
}

// named finds the agents that the event names, itself or by its place, and evaluates the rest of
// the filter for them alone.
func (r *routing) named(f *filter.Filter, members Ranges) Ranges {
	r.verdict.Asked++
	name, is, err := f.Named(&r.env)
	if r.failed(f, err, members.Len()); err != nil {
		return nil
	}
	var who Ranges
	switch {
	case f.Names == filter.NamesAgent:
		if o, known := r.state.subscribers.Ordinal(name); known && members.Contains(o) {
			who.Push(o)
		}
	case !is || r.state.Space == nil:
		return r.scan(f, members) // null and undefined equal the place of an agent that is in none
	default:
		for _, o := range r.state.Space.InPlace(name) {
			if members.Contains(o) {
				who.Push(o)
			}
		}
	}
	if f.Whole {
		return who
	}
	return r.scan(f, who)
}

func (r *routing) scan(f *filter.Filter, members Ranges) Ranges {
	var out Ranges
	for o := range members.All() {
		if r.hears(f, o) {
			out.Push(o)
		}
	}
	return out
}

func (r *routing) hears(f *filter.Filter, o uint32) bool {
	r.verdict.Asked++
	ok, err := f.Hears(&r.env, r.state.self(o), r.state.Space, o)
	r.failed(f, err, 1)
	return ok
}

// failed counts failures of filters, with one entry for each filter and event.
func (r *routing) failed(f *filter.Filter, err error, receivers int) {
	if err == nil {
		return
	}
	r.failures += receivers
	for i := r.firstFailure; i < len(r.verdict.Failures); i++ {
		if r.verdict.Failures[i].Filter == f.Text {
			r.verdict.Failures[i].Count += receivers
			return
		}
	}
	r.verdict.Failures = append(r.verdict.Failures,
		FilterFailure{EventID: r.event.ID, Filter: f.Text, Error: err.Error(), Kind: protocol.KindOf(err), Count: receivers})
}
