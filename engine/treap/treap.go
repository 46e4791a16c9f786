// Package treap is a persistent sorted set: a copy costs nothing, and the owner of a copy
// may read it while others change theirs.
//
// Items are sorted by key and, under one key, by number. A change copies the nodes on
// one path, about twice the logarithm of the number of items.
//
// The tree is a treap: a search tree by key and number, and a heap by the hash of both.
// So it is balanced whatever the order of the changes, and its shape depends only on its
// items.
//
// # Not here
//
// Numbers: the caller gives each item a unique one, mostly in the order of insertion.
package treap

import (
	"cmp"
	"iter"

	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

// Tree is a set of items. The zero value is empty.
type Tree[V any] struct{ root *node[V] }

// Item is a value at its place. An item of a tree never changes.
type Item[V any] struct {
	Key    string
	Number uint64
	Until  protocol.Time // a moment that it is looked up by
	Value  V
}

type node[V any] struct {
	Item[V]
	left, right *node[V]
	weight      uint64
	first       uint64        // the lowest number in this tree
	until       protocol.Time // the earliest moment in this tree
}

func (n *node[V]) compare(key string, number uint64) int {
	return cmp.Or(cmp.Compare(n.Key, key), cmp.Compare(n.Number, number))
}

// joined is a copy of n with other children.
func (n *node[V]) joined(left, right *node[V]) *node[V] {
	out := &node[V]{Item: n.Item, weight: n.weight, left: left, right: right, first: n.Number, until: n.Until}
	for _, child := range [...]*node[V]{left, right} {
		if child != nil {
			out.first, out.until = min(out.first, child.first), min(out.until, child.until)
		}
	}
	return out
}

// With is the set with an item, in the place of one with this key and number.
func (t Tree[V]) With(x Item[V]) Tree[V] {
	n := &node[V]{Item: x, weight: xxh3.HashStringSeed(x.Key, x.Number)}
	return Tree[V]{t.root.with(n)}
}

func (t *node[V]) with(n *node[V]) *node[V] {
	if t == nil || n.weight > t.weight {
		return n.joined(t.split(n.Key, n.Number))
	}
	switch c := t.compare(n.Key, n.Number); {
	case c < 0:
		return t.joined(t.left, t.right.with(n))
	case c > 0:
		return t.joined(t.left.with(n), t.right)
	}
	return n.joined(t.left, t.right)
}

// split divides a tree, without the item at the place itself.
func (t *node[V]) split(key string, number uint64) (before, after *node[V]) {
	if t == nil {
		return nil, nil
	}
	switch c := t.compare(key, number); {
	case c < 0:
		before, after = t.right.split(key, number)
		return t.joined(t.left, before), after
	case c > 0:
		before, after = t.left.split(key, number)
		return before, t.joined(after, t.right)
	}
	return t.left, t.right
}

// Without is the set without an item. Without the item it is the same.
func (t Tree[V]) Without(key string, number uint64) Tree[V] {
	return Tree[V]{t.root.without(key, number)}
}

func (t *node[V]) without(key string, number uint64) *node[V] {
	if t == nil {
		return nil
	}
	switch c := t.compare(key, number); {
	case c < 0:
		return t.joined(t.left, t.right.without(key, number))
	case c > 0:
		return t.joined(t.left.without(key, number), t.right)
	}
	return merged(t.left, t.right)
}

// merged is one tree of two, of which the second comes after the first.
func merged[V any](a, b *node[V]) *node[V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.weight > b.weight:
		return a.joined(a.left, merged(a.right, b))
	}
	return b.joined(merged(a, b.left), b.right)
}

// All yields the items in order.
func (t Tree[V]) All(yield func(*Item[V]) bool) { t.root.between("", "", yield) }

// At yields the items under one key, in the order of their numbers.
func (t Tree[V]) At(key string) iter.Seq[*Item[V]] {
	return func(yield func(*Item[V]) bool) { t.root.between(key, key+"\x00", yield) }
}

// Get is the first item under a key; nil = there is none.
func (t Tree[V]) Get(key string) *Item[V] {
	for x := range t.At(key) {
		return x
	}
	return nil
}

// between visits the keys from one on and before another; before "" is no bound.
func (t *node[V]) between(from, before string, yield func(*Item[V]) bool) bool {
	switch {
	case t == nil:
		return true
	case t.Key < from:
		return t.right.between(from, before, yield)
	case before != "" && t.Key >= before:
		return t.left.between(from, before, yield)
	}
	return t.left.between(from, before, yield) && yield(&t.Item) && t.right.between(from, before, yield)
}

// Until is the earliest moment of the items; false = there are none.
func (t Tree[V]) Until() (at protocol.Time, ok bool) {
	if t.root == nil {
		return 0, false
	}
	return t.root.until, true
}

// Ended yields the items whose moment is not after one, in order. It costs those, and
// not the others.
func (t Tree[V]) Ended(by protocol.Time) iter.Seq[*Item[V]] {
	return func(yield func(*Item[V]) bool) { t.root.ended(by, yield) }
}

func (t *node[V]) ended(by protocol.Time, yield func(*Item[V]) bool) bool {
	if t == nil || t.until > by {
		return true
	}
	return t.left.ended(by, yield) && (t.Item.Until > by || yield(&t.Item)) && t.right.ended(by, yield)
}

// Search looks for the item with the lowest number that is wanted, in one or more
// places.
type Search[V any] struct {
	Wanted func(*Item[V]) bool
	Found  *Item[V] // nil = none so far
}

// In looks at the keys from one on and before another; before "" is no bound. It looks
// where the lowest numbers are and leaves out what is later than what it found, so it
// costs about the depth of the tree for each item that is not wanted.
func (s *Search[V]) In(t Tree[V], from, before string) { s.in(t.root, from, before) }

// At looks at one key.
func (s *Search[V]) At(t Tree[V], key string) { s.in(t.root, key, key+"\x00") }

func (s *Search[V]) in(t *node[V], from, before string) {
	switch {
	case t == nil || s.Found != nil && t.first >= s.Found.Number:
		return
	case t.Key < from:
		s.in(t.right, from, before)
		return
	case before != "" && t.Key >= before:
		s.in(t.left, from, before)
		return
	}
	if (s.Found == nil || t.Number < s.Found.Number) && s.Wanted(&t.Item) {
		s.Found = &t.Item
	}
	near, far := t.left, t.right
	if near == nil || far != nil && far.first < near.first {
		near, far = far, near
	}
	s.in(near, from, before)
	s.in(far, from, before)
}
