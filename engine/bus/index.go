package bus

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// group is everyone who wrote the same subscription.
type group struct {
	filter  *filter // nil = all
	members Ranges
}

// index finds the groups of an event type. Both maps hold lists in the order of
// filter texts, so that filters are evaluated, and fail, in one order.
type index struct {
	exact  map[string][]*group
	prefix map[string][]*group // without ".*"; "" is "*"
}

// pattern splits a subscription's type.
func pattern(t string) (name string, wild bool, err error) {
	if t == "*" {
		return "", true, nil
	}
	name, wild = strings.CutSuffix(t, ".*")
	if fault := checkType(name); fault != "" {
		return "", false, protocol.Errorf(protocol.KindInvalid, "bus: subscription to %q: the type %s", t, fault)
	}
	return name, wild, nil
}

func (x *index) table(wild bool) map[string][]*group {
	if wild {
		return x.prefix
	}
	return x.exact
}

// group finds or makes the group of a subscription.
func (x *index) group(name string, wild bool, f *filter) *group {
	table := x.table(wild)
	i, found := slices.BinarySearchFunc(table[name], f, func(g *group, f *filter) int {
		return strings.Compare(g.filter.key(), f.key())
	})
	if !found {
		table[name] = slices.Insert(table[name], i, &group{filter: f})
	}
	return table[name][i]
}

func (f *filter) key() string {
	if f == nil {
		return ""
	}
	return f.text
}

// drop forgets a group that nobody is in.
func (x *index) drop(name string, wild bool, g *group) {
	table := x.table(wild)
	table[name] = slices.DeleteFunc(table[name], func(other *group) bool { return other == g })
	if len(table[name]) == 0 {
		delete(table, name)
	}
}

// match calls visit with the groups of a type: exact ones, then wildcards from
// the longest prefix to "*".
func (x *index) match(eventType string, visit func(*group)) {
	for _, g := range x.exact[eventType] {
		visit(g)
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
