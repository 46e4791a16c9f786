package limit

import (
	"cmp"
	"container/list"
	"slices"
	"time"
)

// Class orders the calls that wait.
type Class int8

const (
	Interactive Class = iota - 2 // a person waits
	Urgent                       // a critical event is handled
	Normal
	Background // nobody waits: reflection, summaries
)

const classes = int(Background-Interactive) + 1

func (c Class) String() string {
	return [classes]string{"interactive", "urgent", "normal", "background"}[c-Interactive]
}

// Classes are all of them, the most urgent first.
func Classes() []Class { return []Class{Interactive, Urgent, Normal, Background} }

// share is how often a lower class that waits is served: once in so many releases.
const share = 16

// Rank orders the calls of a scene and class: the earlier moment first, whose turn others wait for, and
// at one moment the turn that will take longer. The zero Rank is that of scenes in which nobody waits
// for another's turn.
type Rank struct {
	At   int64         // of the scene's clock
	Rest time.Duration // that the turn is expected to take
}

func (r Rank) compare(x Rank) int {
	return cmp.Or(cmp.Compare(r.At, x.At), cmp.Compare(x.Rest, r.Rest))
}

// queues hold the calls that could leave, by class. Within a class the scenes take
// turns; the calls of a scene leave by rank, and those of one rank keep their order. A group with
// a share of the slots takes turns as a scene does, and is passed over while it has its share.
type queues struct {
	class [classes]struct {
		lanes  map[string]*lane
		turns  list.List // of *lane that are not empty, the next one first
		n      int
		passed int // releases of higher classes since this one was served
	}
	n int
}

// lane holds the calls of one class of a scene, or of a group.
type lane struct {
	whose string
	turn  *list.Element
	parts []*part // that are not empty, by rank
}

// part holds those of one rank.
type part struct {
	Rank
	calls list.List // of *Call
}

// of is the part of a rank, and its place among the others.
func (l *lane) of(r Rank) (at int, found bool) {
	return slices.BinarySearchFunc(l.parts, r, func(p *part, r Rank) int { return p.compare(r) })
}

// push adds a call at the end of those of its rank, or at the front if it has waited
// there before.
func (q *queues) push(c *Call, front bool) {
	of := &q.class[c.Class-Interactive]
	if of.lanes == nil {
		of.lanes = map[string]*lane{}
	}
	whose := c.Scene
	if c.Group != "" {
		whose += "\n" + c.Group
	}
	l := of.lanes[whose]
	if l == nil {
		l = &lane{whose: whose}
		l.turn = of.turns.PushBack(l)
		of.lanes[whose] = l
	}
	if of.n == 0 {
		of.passed = 0
	}
	i, found := l.of(c.Rank)
	if !found {
		l.parts = slices.Insert(l.parts, i, &part{Rank: c.Rank})
	}
	if c.lane, c.part = l, l.parts[i]; front {
		c.place = c.part.calls.PushFront(c)
	} else {
		c.place = c.part.calls.PushBack(c)
	}
	of.n++
	q.n++
}

func (q *queues) remove(c *Call) {
	of, l := &q.class[c.Class-Interactive], c.lane
	if c.part.calls.Remove(c.place); c.part.calls.Len() == 0 {
		i, _ := l.of(c.Rank)
		l.parts = slices.Delete(l.parts, i, i+1)
	}
	if c.lane, c.part, c.place = nil, nil, nil; len(l.parts) == 0 {
		of.turns.Remove(l.turn)
		delete(of.lanes, l.whose)
	}
	of.n--
	q.n--
}

// next is the call whose turn it is; nil = none may leave. It stays where it is. full says of a
// call that its group has its share.
func (q *queues) next(interactiveOnly bool, full func(*Call) bool) (next *Call) {
	best := -1
	for i := range q.class {
		of := &q.class[i]
		if of.n == 0 || interactiveOnly && i > 0 || best >= 0 && (of.passed < share-1 || of.passed <= q.class[best].passed) {
			continue
		}
		for e := of.turns.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*lane).parts[0].calls.Front().Value.(*Call); !full(c) {
				best, next = i, c
				break
			}
		}
	}
	return next
}

// serve takes a call out that leaves: its scene goes to the end of the turns.
func (q *queues) serve(c *Call) {
	i := int(c.Class - Interactive)
	q.class[i].turns.MoveToBack(c.lane.turn)
	q.class[i].passed = 0
	for lower := i + 1; lower < classes; lower++ {
		q.class[lower].passed++
	}
	q.remove(c)
}

// newest is, of the lowest class that waits, the last call to leave of the scene in which that
// arrived last, if the class is lower than another; nil = there is none.
func (q *queues) newest(below Class) (newest *Call) {
	for i := classes - 1; i > int(below-Interactive); i-- {
		for e := q.class[i].turns.Front(); e != nil; e = e.Next() {
			parts := e.Value.(*lane).parts
			if c := parts[len(parts)-1].calls.Back().Value.(*Call); newest == nil || c.number > newest.number {
				newest = c
			}
		}
		if newest != nil {
			return newest
		}
	}
	return nil
}

// timers order the calls that wait by the moment at which something happens to them.
type timers []*Call

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].number < t[j].number
}
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i, j
}

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	c := x.(*Call)
	c.timer = len(*t)
	*t = append(*t, c)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	last := len(*t) - 1
	c := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return c
}
