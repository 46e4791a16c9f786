package space

import (
	"slices"
	"strings"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// Decide decides the requests of a moment in their order, then lets everybody walk whose
// step is due. The state has folded the facts that it gives.
func (s *State) Decide(now protocol.Time, requests []Request) (facts []protocol.Fact, err error) {
	for i := range requests {
		f := s.request(now, &requests[i])
		if f == nil {
			continue
		}
		if err := s.Apply(f); err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	if due := s.Next(); due == 0 || due > now {
		return facts, nil
	}
	return append(facts, s.walk(now)...), nil
}

// request decides one request; nil = there is nothing to do.
func (s *State) request(now protocol.Time, q *Request) Fact {
	t, err := s.resolve(s.cast, s.find, q)
	o := t.agent
	switch {
	case err != nil:
		return &Refused{ID: q.ID, Agent: o, By: q.By, To: q.To, Kind: protocol.KindOf(err), Message: err.Error()}
	case q.Put:
		x, y := s.m.At(t.cell)
		f := &Put{ID: q.ID, Agent: o, By: q.By, Reason: q.Reason, To: q.To, X: int64(x), Y: int64(y), Gone: t.gone}
		if t.gone {
			f.X, f.Y = 0, 0
		}
		if c := s.jumped(o, t); c.Left != "" || c.Entered != "" {
			f.Crossed = []Crossed{c}
		}
		return f
	case q.To == ground.Stay:
		if s.walking(o) == nil {
			return nil
		}
		return s.stopped(o, q.To, ReasonAsked)
	case t.path == "":
		return s.stopped(o, q.To, ReasonArrived)
	}
	x, y := s.m.At(t.cell)
	from, _ := s.cellOf(o)
	return &SetOut{ID: q.ID, Agent: o, By: q.By, To: q.To, X: int64(x), Y: int64(y), Path: t.path, Due: now.Add(s.takes(&walk{path: t.path}, from))}
}

// target is what a request comes to.
type target struct {
	agent uint32
	cell  uint32
	path  string
	gone  bool
}

// resolve finds where a request leads, or says why it cannot be.
func (w *where) resolve(cast Cast, find *ground.Finder, q *Request) (t target, err error) {
	o, ok := cast.Ordinal(q.Agent)
	if !ok || int(o) >= cast.Size() {
		return t, protocol.Errorf(protocol.KindNotFound, "there is no agent %q", protocol.Short(q.Agent, 80))
	}
	t.agent = o
	if err := CheckTo(q.To); err != nil {
		return t, err
	}
	if q.Put && q.To == ground.Gone {
		t.gone = true
		return t, nil
	}
	from, is := w.cellOf(o)
	if !is && !q.Put {
		return t, protocol.Errorf(protocol.KindInvalid, "%s is nowhere on the map, so it cannot walk", q.Agent)
	}
	if q.To == ground.Stay && !q.Put {
		return t, nil
	}
	if first, _, both := strings.Cut(q.To, ".."); q.Put && both {
		if _, _, cells := ground.ParseCell(first); cells { // else it is the name of a place or an agent
			return t, w.field(&t, from, is, q.To)
		}
	}
	beside, err := w.aim(cast, &t, from, is, q.To)
	if err != nil {
		return t, err
	}
	if q.Put {
		return t, w.room(o, t.cell, q.To)
	}
	if t.path, ok = find.Find(w.m, from, t.cell); !ok {
		return t, protocol.Errorf(protocol.KindInvalid, "there is no way from %s to %s", w.m.Text(from), q.To)
	}
	if beside && t.path != "" && !w.m.Joined() {
		t.path = t.path[:len(t.path)-1]
		t.cell = w.m.Along(from, t.path)
	}
	return t, nil
}

// field finds room in a rectangle of cells.
func (w *where) field(t *target, from uint32, is bool, to string) error {
	a, err := w.m.Rectangle(to)
	if err != nil {
		return err
	}
	t.cell = w.spot(&a, t.agent, from, is)
	return w.room(t.agent, t.cell, to)
}

// room refuses to put an agent into a cell that is full.
func (w *where) room(o, cell uint32, to string) error {
	if w.full(o, cell) != "" {
		return protocol.Errorf(protocol.KindLimit, "%s: it is full", to)
	}
	return nil
}

// aim finds the cell that a text means; beside = the walk ends on the cell before it.
func (w *where) aim(cast Cast, t *target, from uint32, is bool, to string) (beside bool, err error) {
	m := w.m
	d := slices.Index(ground.Directions(), to)
	x, y, isCell := ground.ParseCell(to)
	switch {
	case (d >= 0 || isCell) && m.Joined():
		return false, protocol.Errorf(protocol.KindInvalid, "%s: there are no cells here; want a place, an agent, or stay", protocol.Short(to, 80))
	case d >= 0 && is:
		x, y := m.At(from)
		dx, dy := ground.Step(d)
		if !m.Open(x, y, d) {
			return false, protocol.Errorf(protocol.KindInvalid, "%s of %s is blocked", to, m.Text(from))
		}
		t.cell = m.Cell(x+dx, y+dy)
		return false, nil
	case isCell && !m.In(x, y):
		return false, protocol.Errorf(protocol.KindNotFound, "there is no cell %s: the grid has %d × %d cells, from 0,0", to, m.Width, m.Height)
	case isCell && !m.Free(x, y):
		return false, protocol.Errorf(protocol.KindInvalid, "the cell %s is blocked", to)
	case isCell:
		t.cell = m.Cell(x, y)
		return false, nil
	}
	if a, known := m.Place(to); known {
		t.cell = w.spot(a, t.agent, from, is)
		return false, nil
	}
	other, known := cast.Ordinal(to)
	if !known || int(other) >= cast.Size() {
		return false, protocol.Errorf(protocol.KindNotFound, "there is no %q to go to; want %s", protocol.Short(to, 80), Grammar)
	}
	cell, there := w.cellOf(other)
	if !there {
		return false, protocol.Errorf(protocol.KindNotFound, "%s is nowhere on the map", to)
	}
	t.cell = cell
	return true, nil
}

// spot is the cell of a place that an agent goes to: where it stands if it is there, else one
// that its ordinal chooses, so that not all go to the same. Full cells are passed over as
// long as there is another one.
func (w *where) spot(a *ground.Area, o, from uint32, is bool) (cell uint32) {
	if is && a.Has(w.m.At(from)) {
		return from
	}
	n := a.W * a.H
	first, found := int(uint64(o)*2654435761%uint64(n)), false
	for i := range n {
		k := (first + i) % n
		x, y := a.X+k%a.W, a.Y+k/a.W
		if !w.m.Free(x, y) {
			continue
		}
		c := w.m.Cell(x, y)
		if w.m.Capacity == 0 || w.crowd(c) < w.m.Capacity {
			return c
		}
		if !found {
			cell, found = c, true
		}
	}
	return cell
}

// stopped is the fact that a walk is over.
func (s *State) stopped(o uint32, to, reason string) *Stopped {
	cell, _ := s.cellOf(o)
	x, y := s.m.At(cell)
	f := &Stopped{Agent: o, Instance: s.cast.Name(o), To: to, Reason: reason, X: int64(x), Y: int64(y), Place: s.m.NameAt(x, y)}
	if s.m.Joined() {
		f.X, f.Y = -1, -1
	}
	return f
}

// walk lets everybody walk whose step is due, by ordinal.
func (s *State) walk(now protocol.Time) (facts []protocol.Fact) {
	s.compact()
	s.due, s.undue = 0, false
	var ended []Fact
	part, list, from := &Moved{At: now}, steps{}, uint32(0)
	give := func(through uint32) {
		part.From, part.Through, part.Steps = from, through, list.raw()
		facts = append(facts, part)
		part, list, from = &Moved{At: now}, steps{b: list.b[:0]}, through+1
	}
	last, any := uint32(0), false
	for i := range s.walks {
		w := &s.walks[i]
		if w.due > now {
			s.soon(w)
			continue
		}
		last, any = w.agent, true
		before, _ := s.cellOf(w.agent)
		cell, why := s.goes(w)
		w.due = now.Add(s.tick)
		if cell == before {
			w.waits++
		} else {
			w.waits, w.due = 0, now.Add(s.takes(w, cell))
			x, y := s.m.At(cell)
			list.add(w.agent, x, y)
			if c := s.crossed(w.agent, before, x, y); c.Left != "" || c.Entered != "" {
				part.Crossed = append(part.Crossed, c)
			}
		}
		switch {
		case int(w.done) == len(w.path):
			ended = append(ended, s.stopped(w.agent, w.to, ReasonArrived))
		case w.waits >= MaxWaits:
			ended = append(ended, s.stopped(w.agent, w.to, why))
		default:
			s.soon(w)
		}
		if list.n == maxSteps {
			give(w.agent)
			any = false
		}
	}
	if any {
		give(last)
	}
	for _, f := range ended {
		s.end(f.(*Stopped).Agent)
		facts = append(facts, f)
	}
	if len(ended) > 0 {
		s.undue = false // what ended was not counted
	}
	return facts
}

// goes takes the steps of one tick; why = it had to wait before the end of its path.
func (s *State) goes(w *walk) (cell uint32, why string) {
	cell, _ = s.cellOf(w.agent)
	for range s.m.Speed {
		if int(w.done) == len(w.path) {
			break
		}
		next := s.m.After(cell, w.path[w.done])
		if why = s.full(w.agent, next); why != "" {
			break
		}
		cell = next
		s.where.put(w.agent, cell)
		w.done++
	}
	return cell, why
}

// jumped says which place somebody leaves who is put elsewhere, and which one it enters.
func (s *State) jumped(o uint32, t target) Crossed {
	c := Crossed{Agent: o, Instance: s.cast.Name(o)}
	if cell, is := s.cellOf(o); is {
		c.Left = s.m.NameAt(s.m.At(cell))
	}
	if !t.gone {
		c.Entered = s.m.NameAt(s.m.At(t.cell))
	}
	if c.Left == c.Entered {
		c.Left, c.Entered = "", ""
	}
	return c
}

func (s *State) crossed(o, before uint32, x, y int) (c Crossed) {
	if len(s.m.Places) == 0 {
		return c
	}
	px, py := s.m.At(before)
	if left, entered := s.m.PlaceAt(px, py), s.m.PlaceAt(x, y); left != entered {
		c = Crossed{Agent: o, Instance: s.cast.Name(o), Left: s.m.NameAt(px, py), Entered: s.m.NameAt(x, y)}
	}
	return c
}
