package lease

import (
	"cmp"

	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

// entry is a lease with its number: leases are numbered in the order in which they began.
type entry struct {
	Lease
	number uint64
}

// tree is a sorted set of entries under keys, a value: with and without leave it as it
// is and copy the nodes on one path. nil is the empty tree.
//
// It is a treap: a search tree by key and number, and a heap by the hash of both, so it
// is balanced whatever the order of writes. Each node knows the first lease and the
// earliest end below it.
type tree = *node

type node struct {
	key         string
	entry       *entry
	left, right tree
	weight      uint64
	first       uint64        // the lowest number in this tree
	until       protocol.Time // the earliest end in this tree
}

func (n *node) compare(key string, number uint64) int {
	return cmp.Or(cmp.Compare(n.key, key), cmp.Compare(n.entry.number, number))
}

// joined is a copy of n with other children.
func joined(n *node, left, right tree) tree {
	out := &node{key: n.key, entry: n.entry, weight: n.weight, left: left, right: right, first: n.entry.number, until: n.entry.Until}
	for _, child := range [...]tree{left, right} {
		if child != nil {
			out.first, out.until = min(out.first, child.first), min(out.until, child.until)
		}
	}
	return out
}

// with is the tree with e under a key, in the place of an entry of that number.
func with(t tree, key string, e *entry) tree {
	return inserted(t, &node{key: key, entry: e, weight: xxh3.HashStringSeed(key, e.number)})
}

func inserted(t tree, n *node) tree {
	if t == nil || n.weight > t.weight {
		left, right := split(t, n.key, n.entry.number)
		return joined(n, left, right)
	}
	switch c := t.compare(n.key, n.entry.number); {
	case c < 0:
		return joined(t, t.left, inserted(t.right, n))
	case c > 0:
		return joined(t, inserted(t.left, n), t.right)
	}
	return joined(&node{key: n.key, entry: n.entry, weight: n.weight}, t.left, t.right)
}

// split divides a tree, without the entry at the place itself.
func split(t tree, key string, number uint64) (before, after tree) {
	if t == nil {
		return nil, nil
	}
	switch c := t.compare(key, number); {
	case c < 0:
		before, after = split(t.right, key, number)
		return joined(t, t.left, before), after
	case c > 0:
		before, after = split(t.left, key, number)
		return before, joined(t, after, t.right)
	}
	return t.left, t.right
}

// without is the tree without an entry; it need not have it.
func without(t tree, key string, number uint64) tree {
	if t == nil {
		return nil
	}
	switch c := t.compare(key, number); {
	case c < 0:
		return joined(t, t.left, without(t.right, key, number))
	case c > 0:
		return joined(t, without(t.left, key, number), t.right)
	}
	return merged(t.left, t.right)
}

// merged is one tree of two, of which the second comes after the first.
func merged(a, b tree) tree {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.weight > b.weight:
		return joined(a, a.left, merged(a.right, b))
	}
	return joined(b, merged(a, b.left), b.right)
}

// all visits the entries in their order until yield returns false.
func all(t tree, yield func(*entry) bool) bool {
	return t == nil || all(t.left, yield) && yield(t.entry) && all(t.right, yield)
}

// ended visits the entries that end by a moment, in their order. It costs those.
func ended(t tree, by protocol.Time, yield func(*entry)) {
	if t == nil || t.until > by {
		return
	}
	ended(t.left, by, yield)
	if t.entry.Until <= by {
		yield(t.entry)
	}
	ended(t.right, by, yield)
}

// search looks for the first lease, by number, that is wanted.
type search struct {
	wanted func(*entry) bool
	found  *entry
}

// in looks at the keys from one on and before another; before "" is no bound. It looks
// where the lowest numbers are and passes by what is later than what it found, so it
// costs the depth of the tree for each entry that is not wanted.
func (s *search) in(t tree, from, before string) {
	switch {
	case t == nil || s.found != nil && t.first >= s.found.number:
		return
	case t.key < from:
		s.in(t.right, from, before)
		return
	case before != "" && t.key >= before:
		s.in(t.left, from, before)
		return
	}
	if (s.found == nil || t.entry.number < s.found.number) && s.wanted(t.entry) {
		s.found = t.entry
	}
	near, far := t.left, t.right
	if near == nil || far != nil && far.first < near.first {
		near, far = far, near
	}
	s.in(near, from, before)
	s.in(far, from, before)
}

// at looks at one key.
func (s *search) at(t tree, key string) { s.in(t, key, key+"\x00") }
