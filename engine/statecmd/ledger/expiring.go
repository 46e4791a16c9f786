package ledger

import "tavernsim/engine/world"

// looks is how often each element of a list is looked at, on average, before the list is indexed.
const looks = 16

// Expiring finds the elements of lists that expire, and is told of each other change. The zero
// Expiring is of the lists as they are.
type Expiring struct{ lists map[string]*search }

// search is for the elements of one list.
type search struct {
	looked int // elements
	places *places
}

// Find gives the position of the element that a timer removes: the first that is equal to what the
// timer keeps, else the first object that has its fields; -1 = there is none. The caller removes it.
func (x *Expiring) Find(e *world.Editor, t *Timer) (at int) {
	if x.lists == nil {
		x.lists = map[string]*search{}
	}
	list := pathKey(t.Path)
	s := x.lists[list]
	if s == nil {
		s = &search{}
		x.lists[list] = s
	}
	if l, _ := e.Look(t.Path); s.places == nil && s.looked > looks*l.Len {
		values := make([]any, 0, l.Len)
		e.Items(t.Path, func(_ int, v any) bool { values = append(values, v); return true })
		s.places = newPlaces(values)
	}
	want, _ := t.Element.Value()
	if s.places != nil {
		return s.places.take(want)
	}
	at = -1
	e.Items(t.Path, func(i int, v any) bool {
		s.looked++
		fits, same := Matches(want, v)
		if same || fits && at < 0 {
			at = i
		}
		return !same
	})
	return at
}

// places are the elements of one list by what timers keep of them.
type places struct {
	values []any
	gone   []bool
	less   []int                       // elements that are gone, as a Fenwick tree
	whole  map[string][]int            // places by hash
	parts  map[string]map[string][]int // the same, of parts of objects, by shape of the part
}

// newPlaces indexes elements.
func newPlaces(values []any) *places {
	p := &places{values: values, gone: make([]bool, len(values)), less: make([]int, len(values)+1), whole: map[string][]int{}, parts: map[string]map[string][]int{}}
	for i, v := range values {
		h := hash(v)
		p.whole[h] = append(p.whole[h], i)
	}
	return p
}

// take gives the place of the first element that is equal to want, else of the first that has its
// fields; -1 = there is none. The element is gone then, and those behind it move up.
func (p *places) take(want any) int {
	at := p.first(p.whole, hash(want))
	if _, ok := want.(map[string]any); ok && at < 0 {
		at = p.first(p.having(want), hash(want))
	}
	if at < 0 {
		return -1
	}
	p.gone[at] = true
	now := at
	for i := at; i > 0; i -= i & -i {
		now -= p.less[i]
	}
	for i := at + 1; i < len(p.less); i += i & -i {
		p.less[i]++
	}
	return now
}

// first is the first place that is not gone; -1 = there is none.
func (p *places) first(index map[string][]int, hash string) int {
	list := index[hash]
	for len(list) > 0 && p.gone[list[0]] {
		list = list[1:]
	}
	index[hash] = list
	if len(list) == 0 {
		return -1
	}
	return list[0]
}

// having indexes the elements by the fields that want has.
func (p *places) having(want any) map[string][]int {
	s := shape(want)
	if p.parts[s] == nil {
		p.parts[s] = map[string][]int{}
		for i, v := range p.values {
			if part, ok := pick(v, want); ok && !p.gone[i] {
				h := hash(part)
				p.parts[s][h] = append(p.parts[s][h], i)
			}
		}
	}
	return p.parts[s]
}
