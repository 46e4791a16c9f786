package world

import (
	"slices"
	"strings"
)

// Match is one answer of a query.
type Match struct {
	Path  Path
	Value any // shared, read-only
}

// Query lists what a pattern names, each place once, at most limit matches, in document order (keys in
// byte order), but with one `**` what it names above before what lies deeper; more reports whether
// there were others. A limit of 0 is 1,000.
func (d *Document) Query(p Pattern, limit int) (found []Match, more bool) {
	if limit <= 0 {
		limit = 1000
	}
	q := query{limit: limit}
	q.run(d.root, p)
	return q.found, q.more
}

type query struct {
	limit int
	at    Path
	found []Match
	more  bool
}

// run visits what a pattern names below a node.
func (q *query) run(node any, p Pattern) {
	if p.several() {
		p = p.compact() // of some `**` that follow each other one is left
	}
	if p.several() {
		q.several(node, p, p.from())
	} else {
		q.visit(node, Path(p))
	}
}

// visit reports whether to go on.
func (q *query) visit(node any, rest Path) bool {
	if len(rest) == 0 {
		return q.add(node)
	}
	switch rest[0].Kind {
	case AnyOne:
		return q.children(node, func(n any) bool { return q.visit(n, rest[1:]) })
	case AnyDeep:
		return q.visit(node, rest[1:]) && q.children(node, func(n any) bool { return q.visit(n, rest) })
	}
	return q.child(node, &rest[0], func(n any) bool { return q.visit(n, rest[1:]) })
}

// child visits the child that a segment names, if there is one.
func (q *query) child(node any, seg *Segment, visit func(any) bool) bool {
	s, ok := child(node, seg)
	if !ok {
		return true
	}
	q.at = append(q.at, *seg)
	if l, isList := node.(*list); isList {
		pos, _ := seg.position(l.n)
		q.at[len(q.at)-1] = Segment{Kind: Index, Pos: pos}
	}
	goOn := visit(s.val)
	q.at = q.at[:len(q.at)-1]
	return goOn
}

func (q *query) add(node any) bool {
	if len(q.found) == q.limit {
		q.more = true
		return false
	}
	q.found = append(q.found, Match{Path: slices.Clone(q.at), Value: valueOf(node)})
	return true
}

func (q *query) children(node any, visit func(any) bool) (goOn bool) {
	goOn = true
	one := func(seg Segment, s slot) bool {
		q.at = append(q.at, seg)
		goOn = visit(s.val)
		q.at = q.at[:len(q.at)-1]
		return goOn
	}
	switch x := node.(type) {
	case *object:
		x.each(func(k string, s slot) bool { return one(Segment{Key: k}, s) })
	case *list:
		for i := 0; i < x.n && goOn; i++ {
			one(Segment{Kind: Index, Pos: i}, x.at(i))
		}
	}
	return goOn
}

// Difference is one place at which two documents differ. A side that has
// nothing there has Present false.
type Difference struct {
	Path                        Path
	Before, After               any
	BeforePresent, AfterPresent bool
}

// Diff lists the smallest differences from a to b in document order: it goes
// down as long as both sides are objects, or lists of equal length. Parts that
// the two share are skipped without being looked at; an object with many
// children costs one pass over them.
func Diff(a, b *Document) []Difference {
	d := differ{}
	d.nodes(a.root, b.root)
	return d.out
}

type differ struct {
	at  Path
	out []Difference
}

func (d *differ) nodes(a, b any) {
	switch x := a.(type) {
	case *object:
		if y, ok := b.(*object); ok {
			if x != y {
				d.objects(x, y)
			}
			return
		}
	case *list:
		if y, ok := b.(*list); ok && x.n == y.n {
			if x != y {
				d.lists(x, y)
			}
			return
		}
	default:
		if a == b {
			return
		}
	}
	d.add(a, b, true, true)
}

func (d *differ) add(a, b any, inA, inB bool) {
	d.out = append(d.out, Difference{Path: slices.Clone(d.at), Before: valueOf(a), After: valueOf(b),
		BeforePresent: inA, AfterPresent: inB})
}

func (d *differ) lists(x, y *list) {
	for c := range x.chunks {
		if x.chunks[c] == y.chunks[c] {
			continue
		}
		for i := range x.chunks[c].slots {
			d.at = append(d.at, Segment{Kind: Index, Pos: c*chunkLen + i})
			d.nodes(x.chunks[c].slots[i].val, y.chunks[c].slots[i].val)
			d.at = d.at[:len(d.at)-1]
		}
	}
}

// objects walks two sorted lists of children side by side.
func (d *differ) objects(x, y *object) {
	left, right := x.entries(), y.entries()
	for len(left) > 0 || len(right) > 0 {
		switch order := compareHeads(left, right); {
		case order < 0:
			d.one(left[0].key, left[0].val, nil, true, false)
			left = left[1:]
		case order > 0:
			d.one(right[0].key, nil, right[0].val, false, true)
			right = right[1:]
		default:
			d.at = append(d.at, Segment{Key: left[0].key})
			d.nodes(left[0].val, right[0].val)
			d.at = d.at[:len(d.at)-1]
			left, right = left[1:], right[1:]
		}
	}
}

func (d *differ) one(key string, a, b any, inA, inB bool) {
	d.at = append(d.at, Segment{Key: key})
	d.add(a, b, inA, inB)
	d.at = d.at[:len(d.at)-1]
}

func compareHeads(left, right []entry) int {
	switch {
	case len(left) == 0:
		return 1
	case len(right) == 0:
		return -1
	}
	return strings.Compare(left[0].key, right[0].key)
}

// entries lists the children in key order; shared when the object is small.
func (o *object) entries() []entry {
	if o.wide == nil {
		return o.small
	}
	all := make([]entry, 0, o.wide.Len())
	o.each(func(k string, s slot) bool {
		all = append(all, entry{k, s})
		return true
	})
	return all
}
