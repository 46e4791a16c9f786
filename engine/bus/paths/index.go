package paths

import (
	"maps"
	"slices"

	"tavernsim/engine/world"
)

// Index holds one value per distinct pattern. The zero value is empty.
type Index[T any] struct {
	root    node[T]
	entries map[string]*Entry[T]
}

// Entry is a pattern with its value.
type Entry[T any] struct {
	Text  string // of the pattern, in its normal form
	Value T
}

// node is a place of patterns. Segments that may name the same place share a child: a
// position of a list is "a.3" as well as "a[3]". A position that is counted from the
// end, or behind the last element, may be any position.
type node[T any] struct {
	names     map[string]*node[T]
	positions map[int]*node[T]
	anywhere  *node[T]    // a position that depends on the length of the list
	one       *node[T]    // *
	deep      *node[T]    // **
	inside    bool        // this is the child of **: it stays active for every segment
	entries   []*Entry[T] // several if patterns write one place in several ways
}

// Len counts the patterns.
func (x *Index[T]) Len() int { return len(x.entries) }

// Get finds the entry of a pattern; nil when there is none.
func (x *Index[T]) Get(p world.Pattern) *Entry[T] { return x.entries[p.String()] }

// Add finds or makes the entry of a pattern.
func (x *Index[T]) Add(p world.Pattern) *Entry[T] {
	if e := x.Get(p); e != nil {
		return e
	}
	n := &x.root
	for i := range p {
		n = n.child(p[i])
	}
	e := &Entry[T]{Text: p.String()}
	if x.entries == nil {
		x.entries = map[string]*Entry[T]{}
	}
	n.entries = append(n.entries, e)
	x.entries[e.Text] = e
	return e
}

func (n *node[T]) child(s world.Segment) *node[T] {
	switch s.Kind {
	case world.AnyOne:
		return grow(&n.one)
	case world.AnyDeep:
		c := grow(&n.deep)
		c.inside = true
		return c
	}
	if !listLike(s) {
		return childOf(&n.names, s.Key)
	}
	if pos, fixed := position(s); fixed {
		return childOf(&n.positions, pos)
	}
	return grow(&n.anywhere)
}

func grow[T any](at **node[T]) *node[T] {
	if *at == nil {
		*at = &node[T]{}
	}
	return *at
}

func childOf[K comparable, T any](m *map[K]*node[T], key K) *node[T] {
	if *m == nil {
		*m = map[K]*node[T]{}
	}
	n, ok := (*m)[key]
	if !ok {
		n = &node[T]{}
		(*m)[key] = n
	}
	return n
}

// Remove removes a pattern and the nodes that only it needs.
func (x *Index[T]) Remove(p world.Pattern) {
	e := x.entries[p.String()]
	if e == nil {
		return
	}
	delete(x.entries, e.Text)
	x.root.prune(p, e)
}

// prune removes an entry at the end of its pattern and reports whether the node is
// unused.
func (n *node[T]) prune(p world.Pattern, e *Entry[T]) bool {
	if len(p) == 0 {
		n.entries = slices.DeleteFunc(n.entries, func(other *Entry[T]) bool { return other == e })
		return n.empty()
	}
	s := p[0]
	if !n.child(s).prune(p[1:], e) {
		return false
	}
	switch pos, fixed := position(s); {
	case s.Kind == world.AnyOne:
		n.one = nil
	case s.Kind == world.AnyDeep:
		n.deep = nil
	case !listLike(s):
		delete(n.names, s.Key)
	case fixed:
		delete(n.positions, pos)
	default:
		n.anywhere = nil
	}
	return n.empty()
}

func (n *node[T]) empty() bool {
	return len(n.entries) == 0 && len(n.names) == 0 && len(n.positions) == 0 && n.anywhere == nil && n.one == nil && n.deep == nil
}

// Touched visits the entries that a change at the path concerns, each once, in no
// particular order.
func (x *Index[T]) Touched(path world.Path, visit func(*Entry[T])) {
	if len(x.entries) == 0 {
		return
	}
	w := walk[T]{seen: map[*Entry[T]]bool{}, visit: visit}
	active := w.enter(nil, &x.root)
	for i := range path {
		var next []*node[T]
		for _, n := range active {
			next = w.step(next, n, path[i])
		}
		active = next
	}
	for _, n := range active {
		w.below(n)
	}
}

// walk is one search.
type walk[T any] struct {
	seen  map[*Entry[T]]bool
	visit func(*Entry[T])
}

func (w *walk[T]) tell(entries []*Entry[T]) {
	for _, e := range entries {
		if !w.seen[e] {
			w.seen[e] = true
			w.visit(e)
		}
	}
}

// enter makes a node active. Patterns that end here are touched, and ** may match no
// segment.
func (w *walk[T]) enter(active []*node[T], n *node[T]) []*node[T] {
	if n == nil || slices.Contains(active, n) {
		return active
	}
	w.tell(n.entries)
	return w.enter(append(active, n), n.deep)
}

func (w *walk[T]) step(active []*node[T], n *node[T], s world.Segment) []*node[T] {
	if n.inside {
		active = w.enter(active, n)
	}
	active = w.enter(active, n.one)
	if !listLike(s) {
		return w.enter(active, n.names[s.Key])
	}
	active = w.enter(active, n.anywhere)
	if pos, fixed := position(s); fixed {
		return w.enter(active, n.positions[pos])
	}
	for _, pos := range slices.Sorted(maps.Keys(n.positions)) {
		active = w.enter(active, n.positions[pos])
	}
	return active
}

// below visits all entries below a node.
func (w *walk[T]) below(n *node[T]) {
	if n == nil {
		return
	}
	w.tell(n.entries)
	for _, child := range n.names {
		w.below(child)
	}
	for _, child := range n.positions {
		w.below(child)
	}
	w.below(n.anywhere)
	w.below(n.one)
	w.below(n.deep)
}

// listLike reports whether a segment may name an element of a list.
func listLike(s world.Segment) bool {
	if s.Kind != world.Name {
		return s.Kind == world.Index || s.Kind == world.Append
	}
	_, ok := world.Digits(s.Key)
	return ok
}

// position is the index that a segment names for lists of every length.
func position(s world.Segment) (int, bool) {
	switch s.Kind {
	case world.Index:
		return s.Pos, s.Pos >= 0
	case world.Name:
		return world.Digits(s.Key)
	}
	return 0, false
}
