package space

import (
	"cmp"
	"slices"
	"time"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// Cast names the agents of a scene.
type Cast interface {
	Ordinal(instance string) (uint32, bool)
	Name(ordinal uint32) string
	Size() int // ordinals of agents are below
}

// State is who stands where and walks where to. The zero value is of no use; see [NewState].
type State struct {
	where
	cast Cast
	tick time.Duration
	find *ground.Finder // whose memory is as large as the map; courses of this state share it

	walks  []walk   // by agent up to sorted, then as they began
	sorted int      // of walks
	over   int      // of walks: ended, and still among them
	slots  []uint32 // of an agent: one more than the place of its walk
	due    protocol.Time
	undue  bool // due is to be looked up
}

// walk is an agent on its way.
type walk struct {
	agent uint32
	done  uint32 // of path
	waits uint8  // in a row
	over  bool
	due   protocol.Time // of the next step
	goal  uint32        // cell
	to    string
	path  string
}

// MaxWaits is how many ticks an agent waits in a row for a full cell or place.
const MaxWaits = 8

// NewState places agents: starts are one more than their cells, by ordinal; 0 and what is
// missing are nowhere. tick is the time between two steps.
func NewState(m *ground.Map, starts []uint32, cast Cast, tick time.Duration) *State {
	s := &State{where: where{m: m}, cast: cast, tick: max(tick, 1), find: new(ground.Finder)}
	for o := range uint32(cast.Size()) {
		if int(o) < len(starts) && starts[o] != 0 {
			s.put(o, starts[o]-1)
		} else {
			s.outside = append(s.outside, o)
		}
	}
	return s
}

// Fork is a state of its own, which begins as this one.
func (s *State) Fork() *State {
	f := *s
	f.where, f.find = s.where.share(), new(ground.Finder)
	f.walks, f.slots = slices.Clone(s.walks), slices.Clone(s.slots)
	return &f
}

// Next is when somebody's step is due; 0 = nobody walks.
func (s *State) Next() protocol.Time {
	if s.undue {
		s.undue, s.due = false, 0
		for i := range s.walks {
			s.soon(&s.walks[i])
		}
	}
	return s.due
}

func (s *State) soon(w *walk) {
	if !w.over && (s.due == 0 || w.due < s.due) {
		s.due = w.due
	}
}

// walking is the walk of an agent; nil = it stands.
func (s *State) walking(o uint32) *walk {
	if int(o) >= len(s.slots) || s.slots[o] == 0 {
		return nil
	}
	return &s.walks[s.slots[o]-1]
}

// compact sorts the walks by agent and drops those that are over.
func (s *State) compact() {
	if s.over == 0 && s.sorted == len(s.walks) {
		return
	}
	fresh := s.walks[s.sorted:]
	slices.SortFunc(fresh, func(a, b walk) int { return cmp.Compare(a.agent, b.agent) })
	old := s.walks[:s.sorted]
	list := make([]walk, 0, len(s.walks)-s.over)
	for len(old)+len(fresh) > 0 {
		from := &old
		if len(old) == 0 || len(fresh) > 0 && fresh[0].agent < old[0].agent {
			from = &fresh
		}
		if w := &(*from)[0]; !w.over {
			list = append(list, *w)
			s.slots[w.agent] = uint32(len(list))
		}
		*from = (*from)[1:]
	}
	s.walks, s.sorted, s.over = list, len(list), 0
}

// begin lets an agent walk. A step that is due already stays due, unless it leads through
// another exit: then it begins now.
func (s *State) begin(w walk) {
	if at := s.walking(w.agent); at != nil {
		if !s.m.Joined() || w.path[w.done] == at.path[at.done] {
			w.due = min(w.due, at.due)
		} else {
			s.undue = true
		}
		*at = w
	} else {
		for int(w.agent) >= len(s.slots) {
			s.slots = append(s.slots, 0)
		}
		s.walks = append(s.walks, w)
		s.slots[w.agent] = uint32(len(s.walks))
	}
	s.dest.set(w.agent, w.goal+1)
	if !s.undue {
		s.soon(&w)
	}
}

// end ends a walk.
func (s *State) end(o uint32) {
	if w := s.walking(o); w != nil {
		w.over = true
		s.over++
		s.slots[o] = 0
		s.dest.set(o, 0)
		s.undue = true
	}
}

// Apply folds a fact.
func (s *State) Apply(f Fact) error {
	switch x := f.(type) {
	case *SetOut:
		return s.setOut(x)
	case *Moved:
		return s.moved(x)
	case *Stopped:
		s.end(x.Agent)
	case *Put:
		return s.putAt(x)
	case *Refused: // it changes nothing
	}
	return nil
}

func (s *State) setOut(f *SetOut) error {
	cell, is := s.cellOf(f.Agent)
	if !is || !s.m.In(int(f.X), int(f.Y)) || !s.m.Follows(cell, f.Path, int(f.X), int(f.Y)) {
		return protocol.Errorf(protocol.KindCorrupt, "%s of agent %d: the path does not lead from where it stands to %d,%d: the journal is of another project", FactSetOut, f.Agent, f.X, f.Y)
	}
	s.begin(walk{agent: f.Agent, due: f.Due, goal: s.m.Cell(int(f.X), int(f.Y)), to: f.To, path: f.Path})
	return nil
}

func (s *State) moved(f *Moved) error {
	s.compact()
	s.undue = true
	i, _ := slices.BinarySearchFunc(s.walks, f.From, func(w walk, o uint32) int { return cmp.Compare(w.agent, o) })
	waited := func(through uint64) {
		for ; i < len(s.walks) && uint64(s.walks[i].agent) < through; i++ {
			if w := &s.walks[i]; w.due <= f.At {
				w.waits++
				w.due = f.At.Add(s.tick)
			}
		}
	}
	err := f.All(func(o uint32, x, y int) error {
		waited(uint64(o))
		if i >= len(s.walks) || s.walks[i].agent != o || !s.m.In(x, y) || !s.advance(&s.walks[i], f.At, s.m.Cell(x, y)) {
			return protocol.Errorf(protocol.KindCorrupt, "%s: agent %d does not walk to %d,%d: the journal is of another project", FactMoved, o, x, y)
		}
		s.where.put(o, s.m.Cell(x, y))
		i++
		return nil
	})
	waited(uint64(f.Through) + 1)
	return err
}

// advance notes that a walk came to a cell of its path.
func (s *State) advance(w *walk, at protocol.Time, cell uint32) bool {
	from, _ := s.cellOf(w.agent)
	for range s.m.Speed {
		if int(w.done) >= len(w.path) {
			return false
		}
		from = s.m.After(from, w.path[w.done])
		w.done++
		if from == cell {
			w.waits, w.due = 0, at.Add(s.takes(w, cell))
			return true
		}
	}
	return false
}

// takes is the time until the next step of somebody who came to a cell.
func (s *State) takes(w *walk, cell uint32) time.Duration {
	if s.m.Joined() && int(w.done) < len(w.path) {
		return s.m.Takes(cell, w.path[w.done])
	}
	return s.tick
}

func (s *State) putAt(f *Put) error {
	if int(f.Agent) >= s.cast.Size() || !f.Gone && !s.m.Free(int(f.X), int(f.Y)) {
		return protocol.Errorf(protocol.KindCorrupt, "%s: agent %d cannot be at %d,%d: the journal is of another project", FactPut, f.Agent, f.X, f.Y)
	}
	s.end(f.Agent)
	if f.Gone {
		s.remove(f.Agent)
	} else {
		s.where.put(f.Agent, s.m.Cell(int(f.X), int(f.Y)))
	}
	return nil
}
