package bus

import (
	"slices"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// filter is one distinct filter text, shared by all subscriptions with it.
type filter struct {
	text    string
	program *expr.Program
	self    bool          // reads self: receivers may differ
	place   bool          // reads self.place
	selects *expr.Program // names the one receiver, or its place: see expr.Program.Selects
	byPlace bool          // selects names a place
	whole   bool          // the filter has no other condition
	uses    int           // groups with this filter; it is dropped with the last one
}

// selfPlace is the field of self that names the place of the receiver: null = it is in none,
// and undefined in a scene without space.
const selfPlace = "place"

func compileFilter(text string, steps int) (*filter, error) {
	p, err := expr.Compile(text, "payload", "event", "self")
	if err != nil {
		return nil, err
	}
	if steps > 0 {
		p = p.WithSteps(steps)
	}
	f := &filter{text: text, program: p, self: p.Uses("self")}
	f.place = slices.ContainsFunc(p.Reads("self"), func(keys []string) bool { return len(keys) == 0 || keys[0] == selfPlace })
	if f.selects, f.whole, _ = p.Selects("self", "instance_id"); f.selects == nil {
		f.selects, f.whole, f.byPlace = p.Selects("self", selfPlace)
	}
	return f, nil
}

// environment resolves the names in a filter for one event. It lives for one Decide.
type environment struct {
	event *protocol.SharedEvent
	self  map[string]any // reused for every receiver; filters keep no reference
}

// Lookup implements expr.Env.
func (e *environment) Lookup(root string) (any, bool) {
	switch root {
	case "payload":
		v, err := e.event.Body.Value()
		return v, err == nil
	case "event":
		return e.event.Value(), true
	case "self":
		return e.self, true
	}
	return nil, false
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
	f, members := g.filter, r.audience(g)
	switch {
	case !f.self:
		r.verdict.Asked++
		ok, err := f.program.EvalBool(&r.env)
		r.failed(f, err, members.Len())
		if ok {
			return members
		}
		return nil
	case f.selects != nil:
		return r.selected(g, members)
	}
	return r.scan(g, members)
}

// selected finds the one receiver that the event names, or those in the place that it names,
// and evaluates the rest of the filter for them alone.
func (r *routing) selected(g *group, members Ranges) Ranges {
	r.verdict.Asked++
	name, err := g.filter.selects.Eval(&r.env)
	if err != nil {
		r.failed(g.filter, err, members.Len())
		return nil
	}
	id, is := name.(string)
	if g.filter.byPlace {
		if !is || r.state.Space == nil {
			return r.scan(g, members) // undefined and null are true where there is no place
		}
		var there Ranges
		for _, o := range r.state.Space.InPlace(id) {
			if members.Contains(o) {
				there.Push(o)
			}
		}
		if g.filter.whole {
			return there
		}
		return r.scan(g, there)
	}
	o, known := r.state.subscribers.Ordinal(id)
	if !known || !members.Contains(o) || !g.filter.whole && !r.hears(g.filter, o) {
		return nil
	}
	return Ranges{{From: o, Count: 1}}
}

func (r *routing) scan(g *group, members Ranges) Ranges {
	var out Ranges
	for o := range members.All() {
		if r.hears(g.filter, o) {
			out.Push(o)
		}
	}
	return out
}

func (r *routing) hears(f *filter, o uint32) bool {
	r.verdict.Asked++
	who := r.state.self(o)
	if r.env.self == nil {
		r.env.self = map[string]any{}
	}
	r.env.self["instance_id"] = who.id
	r.env.self["profile_id"] = who.profile
	if f.place && r.state.Space != nil {
		r.env.self[selfPlace] = nil
		if name := r.state.Space.PlaceOf(o); name != "" {
			r.env.self[selfPlace] = name
		}
	}
	ok, err := f.program.EvalBool(&r.env)
	r.failed(f, err, 1)
	return ok
}

// failed counts failures of filters, with one entry for each filter and event.
func (r *routing) failed(f *filter, err error, receivers int) {
	if err == nil {
		return
	}
	r.failures += receivers
	for i := r.firstFailure; i < len(r.verdict.Failures); i++ {
		if r.verdict.Failures[i].Filter == f.text {
			r.verdict.Failures[i].Count += receivers
			return
		}
	}
	r.verdict.Failures = append(r.verdict.Failures,
		FilterFailure{EventID: r.event.ID, Filter: f.text, Error: err.Error(), Kind: protocol.KindOf(err), Count: receivers})
}
