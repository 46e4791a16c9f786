package ledger

import (
	"bytes"
	"strings"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// elementsOf begins the keys of the timers of elements of a list: in the index of elements these are
// list, shape, hash and what is behind the list in the timer's id.
func elementsOf(list world.Path) string { return pathKey(list) + "\x01" }

// elementKey is the key of a timer in the index of elements; false = it is of no element.
func elementKey(id string, x *Timer) (key string, ok bool) {
	if x.Element == nil {
		return "", false
	}
	prefix := elementsOf(x.Path)
	v, _ := x.Element.Value()
	return prefix + shape(v) + hash(v) + strings.TrimPrefix(id, prefix), true
}

// Any reports whether elements of a list have timers.
func (t *Timers) Any(list world.Path) bool {
	if t.byElement.len() == 0 {
		return false
	}
	_, ok := t.firstElement(elementsOf(list))
	return ok
}

// firstElement is the first timer in the index of elements whose key begins so.
func (t *Timers) firstElement(prefix string) (id string, ok bool) {
	ascend(&t.byElement, prefix, func(key, x string) bool {
		id, ok = x, strings.HasPrefix(key, prefix)
		return false
	})
	return id, ok
}

// exactly is the first timer of these bytes in the index of elements whose key begins so, else the first of all;
// "" = there is none.
func (t *Timers) exactly(prefix string, encoded protocol.Raw) (id string) {
	ascend(&t.byElement, prefix, func(key, at string) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		x, _ := t.byPath.get(at)
		same := bytes.Equal(x.Element, encoded)
		if same || id == "" {
			id = at
		}
		return !same
	})
	return id
}

// countElements counts those whose keys begin so.
func (t *Timers) countElements(prefix string) (n int) {
	ascend(&t.byElement, prefix, func(key, _ string) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		n++
		return true
	})
	return n
}

// shapes visits one of the timers of each shape that those of objects in a list have.
func (t *Timers) shapes(list string, yield func(shape string, want any)) {
	for at := list + "o"; ; {
		shape := ""
		var want any
		ascend(&t.byElement, at, func(key, id string) bool {
			if strings.HasPrefix(key, list+"o") {
				shape = key[len(list) : len(list)+shapeLen]
				x, _ := t.byPath.get(id)
				want, _ = x.Element.Value()
			}
			return false
		})
		if shape == "" {
			return
		}
		yield(shape, want)
		at = list + shape + strings.Repeat("\xff", hashLen+1)
	}
}

// Leaving finds the timers of elements that leave one list. The caller gives the list as it is
// before the first leaves, and clears what Take gives. The zero Leaving is of no list.
type Leaving struct {
	List   world.Path
	timers *Timers
	items  func(yield func(i int, v any) bool)
	taken  map[string]int            // timers that elements have taken which are exactly theirs, by hash
	spare  map[string]int            // timers beyond the elements that are exactly theirs, by hash
	held   map[string]map[string]int // elements by hash, of the shapes that were asked for
}

// Leave begins to take elements out of a list.
func (t *Timers) Leave(list world.Path, items func(yield func(i int, v any) bool)) Leaving {
	return Leaving{List: list, timers: t, items: items, taken: map[string]int{}, spare: map[string]int{}, held: map[string]map[string]int{}}
}

// Take gives the timer of an element, which is encoded without its counters: the first of exactly these bytes,
// else the first of an equal element, else the first that keeps fields of it and is not another's; "" = there is
// none. It is another's while there are no more such timers than elements that are exactly what they keep.
func (l *Leaving) Take(v any, encoded protocol.Raw) (id string) {
	list, whole := elementsOf(l.List), hash(v)
	if id := l.timers.exactly(list+shape(v)+whole, encoded); id != "" {
		l.taken[whole]++
		return id
	}
	of := ""
	l.timers.shapes(list, func(shape string, want any) {
		part, ok := pick(v, want)
		if !ok {
			return
		}
		h := hash(part)
		if x, ok := l.timers.firstElement(list + shape + h); ok && (id == "" || x < id) && l.spares(list, shape, part, h) > 0 {
			id, of = x, h
		}
	})
	if id != "" {
		l.spare[of]--
	}
	return id
}

// spares counts the timers that are no element's that is exactly what they keep. One that took its
// timer counts on both sides.
func (l *Leaving) spares(list, shape string, part map[string]any, hash string) int {
	if _, known := l.spare[hash]; !known {
		l.spare[hash] = l.timers.countElements(list+shape+hash) + l.taken[hash] - l.shaped(shape, part)[hash]
	}
	return l.spare[hash]
}

// shaped counts equal elements, of the list as it was, that have exactly the fields of want.
func (l *Leaving) shaped(shape string, want map[string]any) map[string]int {
	if l.held[shape] == nil {
		l.held[shape] = map[string]int{}
		l.items(func(_ int, v any) bool {
			if fields(v) != len(want) {
				return true
			}
			if part, ok := pick(v, want); ok {
				l.held[shape][hash(part)]++
			}
			return true
		})
	}
	return l.held[shape]
}

// fields counts those of an object, without its counter.
func fields(v any) int {
	m, _ := v.(map[string]any)
	if _, counted := m[world.CounterKey]; counted {
		return len(m) - 1
	}
	return len(m)
}
