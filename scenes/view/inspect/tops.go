package inspect

import (
	"slices"
	"strings"

	"tavernsim/scenes/run/rundir"
)

// Count is a name with how often.
type Count = rundir.Count

// top keeps the first n of what it is offered, in an order, and how many there
// were.
type top[T any] struct {
	n       int
	compare func(a, b T) int
	list    []T
	seen    int
}

func (t *top[T]) offer(x T) {
	t.seen++
	if t.n > 0 && len(t.list) == t.n && t.compare(x, t.list[t.n-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(t.list, x, func(e, x T) int {
		if c := t.compare(e, x); c != 0 {
			return c
		}
		return -1 // equal ones keep their order
	})
	t.list = slices.Insert(t.list, at, x)
	if t.n > 0 && len(t.list) > t.n {
		t.list = t.list[:t.n]
	}
}

// ring keeps the last n of what it is given.
type ring[T any] struct {
	n    int
	list []T
	next int
}

func (r *ring[T]) add(x T) {
	if len(r.list) < r.n {
		r.list = append(r.list, x)
		return
	}
	r.list[r.next] = x
	r.next = (r.next + 1) % r.n
}

// all lists what is kept, oldest first.
func (r *ring[T]) all() []T { return slices.Concat(r.list[r.next:], r.list[:r.next]) }

// turnOf reads the turn out of the id of a call (3.1) or of a request
// (mira/3.1); 0 when there is none.
func turnOf(id string) uint64 {
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	digits, _, ok := strings.Cut(id, ".")
	if !ok {
		return 0
	}
	var n uint64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
