package tooltask

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"tavernsim/engine/treap"
	"tavernsim/protocol"
)

// tasks are the open ones, numbered in the order in which they were opened. What is asked of one
// agent, one task or one moment costs what is found.
type tasks struct {
	all     treap.Tree[*Task] // by number, and by when they are due
	undated treap.Tree[*Task] // those that are due when their answers come
	byID    treap.Tree[*Task]
	byAgent treap.Tree[*Task]
	bySole  treap.Tree[*Task] // those between agents that one alone may take
	last    uint64
	count   int
}

type item = treap.Item[*Task]

func (x *tasks) add(t *Task) {
	x.last++
	x.count++
	at := item{Number: x.last, Until: t.Due, Value: t}
	if t.Due == 0 {
		at.Until = math.MaxInt64
		x.undated = x.undated.With(at)
	}
	x.all = x.all.With(at)
	at.Key = t.ID
	x.byID = x.byID.With(at)
	at.Key = t.Agent
	x.byAgent = x.byAgent.With(at)
	if sole, ok := t.sole(); ok {
		at.Key = sole
		x.bySole = x.bySole.With(at)
	}
}

// sole is the only agent that may take a task.
func (t *Task) sole() (agent string, ok bool) {
	if t.Kind != KindAgent {
		return "", false
	}
	to := t.Assignment().To
	return strings.Join(to, ""), len(to) == 1
}

// remove drops the first task with an id.
func (x *tasks) remove(id string) {
	at := x.byID.Get(id)
	if at == nil {
		return
	}
	x.count--
	x.all, x.undated = x.all.Without("", at.Number), x.undated.Without("", at.Number)
	x.byID, x.byAgent = x.byID.Without(id, at.Number), x.byAgent.Without(at.Value.Agent, at.Number)
	if sole, ok := at.Value.sole(); ok {
		x.bySole = x.bySole.Without(sole, at.Number)
	}
}

// works are how far tasks are that agents have taken, numbered in the order in which they were
// taken.
type works struct {
	byTask  treap.Tree[*Work]
	byTaker treap.Tree[*Work]
	last    uint64
}

func (x *works) set(w *Work) {
	at := treap.Item[*Work]{Key: w.ID, Value: w}
	if old := x.byTask.Get(w.ID); old != nil {
		at.Number, x.byTaker = old.Number, x.byTaker.Without(old.Value.By, old.Number)
	} else {
		x.last++
		at.Number = x.last
	}
	x.byTask = x.byTask.With(at)
	at.Key = w.By
	x.byTaker = x.byTaker.With(at)
}

func (x *works) remove(id string) {
	if at := x.byTask.Get(id); at != nil {
		x.byTask, x.byTaker = x.byTask.Without(id, at.Number), x.byTaker.Without(at.Value.By, at.Number)
	}
}

// New makes a state: tasks in the order in which they were opened, those that ended, and how far
// those are that agents have taken, in the order in which they took them.
func New(open []*Task, past []Past, work []Work) State {
	s := State{Past: past}
	for _, t := range open {
		s.tasks.add(t)
	}
	for i := range work {
		s.works.set(&work[i])
	}
	return s
}

// Len is the number of open tasks.
func (s *State) Len() int { return s.tasks.count }

// Open lists the open tasks in the order in which they were opened.
func (s *State) Open() []*Task { return listed(s.tasks.all.All, s.tasks.count) }

func listed(seq iter.Seq[*item], room int) []*Task {
	if room == 0 {
		return nil
	}
	list := make([]*Task, 0, room)
	for x := range seq {
		list = append(list, x.Value)
	}
	return list
}

// Task finds an open task; nil = it is not open.
func (s *State) Task(id string) *Task {
	if at := s.tasks.byID.Get(id); at != nil {
		return at.Value
	}
	return nil
}

// Work lists how far the open tasks are that agents have taken, in the order in which they were
// taken.
func (s *State) Work() (list []Work) {
	var items []*treap.Item[*Work]
	for x := range s.works.byTask.All {
		items = append(items, x)
	}
	slices.SortFunc(items, func(a, b *treap.Item[*Work]) int { return cmp.Compare(a.Number, b.Number) })
	for _, x := range items {
		list = append(list, *x.Value)
	}
	return list
}

// WorkOn is how far an open task is; nil = nobody has taken it.
func (s *State) WorkOn(id string) *Work {
	if at := s.works.byTask.Get(id); at != nil {
		return at.Value
	}
	return nil
}

// Taken counts the open tasks that agents have taken, by agent.
func (s *State) Taken() map[string]int64 {
	counts := map[string]int64{}
	for x := range s.works.byTaker.All {
		counts[x.Value.By]++
	}
	return counts
}

// Asked are the open tasks of an agent, in the order in which they were opened.
func (s *State) Asked(agent string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for x := range s.tasks.byAgent.At(agent) {
			if !yield(x.Value) {
				return
			}
		}
	}
}

// Owed are the open tasks between agents that an agent has taken, and those that it heard of and
// nobody has taken, in the order in which they were opened.
func (s *State) Owed(agent string, heard iter.Seq[string]) []*Task {
	return sorted(s.owed(agent, heard))
}

// About are the open tasks of an agent and those that it owes, in the order in which they were
// opened.
func (s *State) About(agent string, heard iter.Seq[string]) []*Task {
	list := s.owed(agent, heard)
	for x := range s.tasks.byAgent.At(agent) {
		list = append(list, x)
	}
	return sorted(list)
}

// concerns lists the tasks that end with an agent that leaves the scene: of which it is the asker,
// or took it, or the only one who could.
func (s *State) concerns(agent string) []*Task {
	list := s.owed(agent, func(func(string) bool) {})
	for _, tree := range [...]treap.Tree[*Task]{s.tasks.byAgent, s.tasks.bySole} {
		for x := range tree.At(agent) {
			list = append(list, x)
		}
	}
	return sorted(list)
}

func (s *State) owed(agent string, heard iter.Seq[string]) (list []*item) {
	take := func(id string) {
		if at := s.tasks.byID.Get(id); at != nil && at.Value.Kind == KindAgent {
			list = append(list, at)
		}
	}
	for x := range s.works.byTaker.At(agent) {
		take(x.Value.ID)
	}
	for id := range heard {
		if s.WorkOn(id) == nil {
			take(id)
		}
	}
	return list
}

// sorted are tasks in the order in which they were opened, each once.
func sorted(list []*item) []*Task {
	slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.Number, b.Number) })
	list = slices.CompactFunc(list, func(a, b *item) bool { return a.Number == b.Number })
	return listed(slices.Values(list), len(list))
}

// ends are the tasks that end now if their answers are there: those that are due when their
// answers come, then the others by the moments at which they are due, and in the order in which
// they were opened.
func (s *State) ends(now protocol.Time, told map[string]Told) []*Task {
	var answered, due []*item
	for id := range told {
		if at := s.tasks.byID.Get(id); at != nil && at.Value.Due == 0 {
			answered = append(answered, at)
		}
	}
	for x := range s.tasks.all.Ended(now) {
		due = append(due, x)
	}
	slices.SortStableFunc(due, func(a, b *item) int { return cmp.Compare(a.Until, b.Until) })
	return append(sorted(answered), listed(slices.Values(due), len(due))...)
}

// Missing lists the tasks that are due and whose answers are not there; on the realtime
// clock none is due.
func (s *State) Missing(now protocol.Time, there func(id string) bool) (ids []string) {
	for x := range s.tasks.all.Ended(now) {
		if t := x.Value; t.outside() && !there(t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Next is when a task is due; 0 = none is.
func (s *State) Next() protocol.Time {
	if at, ok := s.tasks.all.Until(); ok && at != math.MaxInt64 {
		return at
	}
	return 0
}

// OpenOf is the number of open tasks of an agent, without questions to people.
func (s *State) OpenOf(agent string) (n int) {
	for t := range s.Asked(agent) {
		if t.Kind != KindPerson {
			n++
		}
	}
	return n
}

// AskedBy is the number of open questions of an agent.
func (s *State) AskedBy(agent string) (n int) {
	for t := range s.Asked(agent) {
		if t.Kind == KindPerson {
			n++
		}
	}
	return n
}

// Holds reports whether scene time stands until a question is answered.
func (s *State) Holds() bool {
	for x := range s.tasks.undated.All {
		if x.Value.Kind == KindPerson {
			return true
		}
	}
	return false
}
