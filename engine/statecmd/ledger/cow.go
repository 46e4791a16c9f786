package ledger

import "github.com/tidwall/btree"

// cow is a sorted map that is copied when it is shared: share freezes what both
// hold, and the next write copies a few nodes of the tree.
type cow[V any] struct {
	m     sorted[V] // a *btree.Map; nil while it is empty
	owned bool
}

// sorted hides the tree: a package compiles every method of each generic type in the fields of the types that it
// names, and states with keys and timers are named everywhere.
type sorted[V any] interface {
	Len() int
	Get(k string) (V, bool)
	Min() (string, V, bool)
	Set(k string, v V) (V, bool)
	Delete(k string) (V, bool)
}

func (c *cow[V]) len() int {
	if c.m == nil {
		return 0
	}
	return c.m.Len()
}

func (c *cow[V]) get(k string) (V, bool) {
	if c.m == nil {
		var zero V
		return zero, false
	}
	return c.m.Get(k)
}

// share returns a copy; from now on neither side writes what both hold.
func (c *cow[V]) share() cow[V] {
	c.owned = false
	return cow[V]{m: c.m}
}

// frozen is what share returns, for a map that nobody writes any more and that
// others may be reading.
func (c cow[V]) frozen() cow[V] { return cow[V]{m: c.m} }

// The functions below name the tree, so they are no methods: see sorted.

// ascend visits from a key on, in order, until yield returns false. A function passed to an interface would be moved to the heap.
func ascend[V any](c *cow[V], from string, yield func(string, V) bool) {
	if c.m != nil {
		c.m.(*btree.Map[string, V]).Ascend(from, yield)
	}
}

// writable gives the tree to its writer.
func writable[V any](c *cow[V]) sorted[V] {
	if c.owned {
		return c.m
	}
	if c.m == nil {
		c.m = new(btree.Map[string, V])
	} else {
		head := *c.m.(*btree.Map[string, V]) // Copy writes to its receiver, which others may be reading
		c.m = head.Copy()
	}
	c.owned = true
	return c.m
}
