package limit

import "container/list"

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

// queues hold the calls that could leave, by class. Within a class the scenes take
// turns, and the calls of a scene keep their order.
type queues struct {
	class [classes]struct {
		scenes map[string]*lane
		turns  list.List // of *lane that are not empty, the next one first
		n      int
		passed int // releases of higher classes since this one was served
	}
	n int
}

// lane holds the calls of one scene and class.
type lane struct {
	scene string
	turn  *list.Element
	calls list.List // of *Call
}

// push adds a call at the end of its scene's lane, or at the front if it has waited
// there before.
func (q *queues) push(c *Call, front bool) {
	of := &q.class[c.Class-Interactive]
	if of.scenes == nil {
		of.scenes = map[string]*lane{}
	}
	l := of.scenes[c.Scene]
	if l == nil {
		l = &lane{scene: c.Scene}
		l.turn = of.turns.PushBack(l)
		of.scenes[c.Scene] = l
	}
	if of.n == 0 {
		of.passed = 0
	}
	if c.lane = l; front {
		c.place = l.calls.PushFront(c)
	} else {
		c.place = l.calls.PushBack(c)
	}
	of.n++
	q.n++
}

func (q *queues) remove(c *Call) {
	of, l := &q.class[c.Class-Interactive], c.lane
	l.calls.Remove(c.place)
	if c.lane, c.place = nil, nil; l.calls.Len() == 0 {
		of.turns.Remove(l.turn)
		delete(of.scenes, l.scene)
	}
	of.n--
	q.n--
}

// next is the call whose turn it is; nil = none waits. It stays where it is.
func (q *queues) next(interactiveOnly bool) *Call {
	best := -1
	for i := range q.class {
		switch of := &q.class[i]; {
		case of.n == 0 || interactiveOnly && i > 0:
		case best < 0 || of.passed >= share-1 && of.passed > q.class[best].passed:
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return q.class[best].turns.Front().Value.(*lane).calls.Front().Value.(*Call)
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

// newest is the last call that arrived in the lowest class that waits, if that is
// lower than a class; nil = there is none.
func (q *queues) newest(below Class) (newest *Call) {
	for i := classes - 1; i > int(below-Interactive); i-- {
		for e := q.class[i].turns.Front(); e != nil; e = e.Next() {
			for x := e.Value.(*lane).calls.Back(); x != nil; x = x.Prev() {
				if c := x.Value.(*Call); newest == nil || c.number > newest.number {
					newest = c
				}
				break
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
