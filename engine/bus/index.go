package bus

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/bus/paths"
)

// group is the set of agents with the same subscription.
type group struct {
	sub     Subscription // in its normal form
	filter  *shared      // nil = every event matches
	members Ranges
	lent    bool // others may have members: a change copies them first
}

// compare orders the groups of one type, or of one path, so that filters are evaluated,
// and fail, in a fixed order.
func (g *group) compare(sub *Subscription) int {
	return cmp.Or(strings.Compare(g.sub.FilterCondition, sub.FilterCondition), strings.Compare(string(g.sub.Debounce), string(sub.Debounce)),
		cmp.Compare(g.sub.Quiet, sub.Quiet), cmp.Compare(g.sub.Most, sub.Most), strings.Compare(g.sub.Type, sub.Type), strings.Compare(g.sub.Group, sub.Group))
}

// index finds the groups of an event type, or of a change of the world.
type index struct {
	exact  map[string][]*group
	prefix map[string][]*group // without ".*"; "" is "*"
	keys   map[string][]*group // of underscored types
	paths  paths.Index[[]*group]
}

// groups returns the groups with the type and path of a valid subscription.
func (x *index) groups(sub *Subscription) []*group {
	if sub.Path != "" {
		p, _ := sub.pattern()
		if e := x.paths.Get(p); e != nil {
			return e.Value
		}
		return nil
	}
	table, name := x.table(sub)
	return table[name]
}

// table is where the groups of a valid subscription without a path are, and under which name.
func (x *index) table(sub *Subscription) (table map[string][]*group, name string) {
	name, wild, _ := eventtype.Split(sub.Type)
	switch {
	case sub.Underscored:
		return x.keys, name
	case wild:
		return x.prefix, name
	}
	return x.exact, name
}

// put replaces these groups.
func (x *index) put(sub *Subscription, groups []*group) {
	p, _ := sub.pattern()
	switch {
	case sub.Path != "" && len(groups) == 0:
		x.paths.Remove(p)
	case sub.Path != "":
		x.paths.Add(p).Value = groups
	default:
		table, name := x.table(sub)
		set(table, name, groups)
	}
}

func set(table map[string][]*group, name string, groups []*group) {
	if len(groups) == 0 {
		delete(table, name)
		return
	}
	table[name] = groups
}

// find looks for the group of a subscription in its normal form.
func (x *index) find(sub *Subscription) (groups []*group, at int, found bool) {
	groups = x.groups(sub)
	at, found = slices.BinarySearchFunc(groups, sub, (*group).compare)
	return groups, at, found
}

// match calls visit with the groups of a type: exact ones, those of its underscored form, then wildcards
// from the longest prefix to "*".
func (x *index) match(eventType string, visit func(*group)) {
	for _, g := range x.exact[eventType] {
		visit(g)
	}
	if len(x.keys) > 0 {
		for _, g := range x.keys[eventtype.Underscored(eventType)] {
			visit(g)
		}
	}
	for name := eventType; len(x.prefix) > 0; {
		dot := strings.LastIndexByte(name, '.')
		name = name[:max(0, dot)]
		for _, g := range x.prefix[name] {
			visit(g)
		}
		if dot < 0 {
			return
		}
	}
}

// hearsWorld reports whether any subscription is to changes of the world.
func (x *index) hearsWorld() (any bool) {
	if x.paths.Len() > 0 {
		return true
	}
	x.match(TypeWorldUpdated, func(*group) { any = true })
	return any
}
