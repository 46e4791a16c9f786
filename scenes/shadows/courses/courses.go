// Package courses predicts the positions of the agents of a scene in space at moments that the committed
// run has not reached: each agent walks as it requested, and no other agent is in its way. A request of a walk
// begins a leg, which can be undone.
//
// [Courses] belongs to the driver of scenes/shadows. It folds the facts of each wave
// ([Courses.Committed]) and names the agents whose position was predicted wrongly. A scene without space
// has a nil Courses.
package courses

import (
	"slices"
	"sort"
	"time"

	"tavernsim/engine/schedule"
	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// Courses are where agents are behind the last wave and later.
type Courses struct {
	m     *ground.Map
	cast  space.Cast
	start protocol.Time // of tick 0
	tick  time.Duration
	state *space.State // behind the last wave
	at    schedule.Tick
	legs  [][]leg // by agent, by time; nil = it is nowhere
	tight bool    // cells or places may be full, where walks wait or end
}

// leg is the way of an agent from a moment to its next leg.
type leg struct {
	of    schedule.Tick // the time of the turn that asked for it
	from  schedule.Tick // the moment at which it was asked for
	start space.Course  // behind that moment
	cells []uint32      // behind it and each moment after it; then the agent stands
	told  []space.At    // what the agent observes, and did not in the committed run
}

// New begins with the state of the committed run behind a moment.
func New(m *ground.Map, cast space.Cast, state *space.State, at schedule.Tick, start protocol.Time, tick time.Duration) (*Courses, error) {
	c := &Courses{m: m, cast: cast, start: start, tick: tick, state: state.Fork(), at: at, legs: make([][]leg, cast.Size()+1)} // the scene itself is nowhere
	c.tight = m.Capacity > 0 || slices.ContainsFunc(m.Places, func(a ground.Area) bool { return a.Capacity > 0 })
	for o := range uint32(cast.Size()) {
		if err := c.restart(o); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Courses) time(at schedule.Tick) protocol.Time {
	return c.start + protocol.Time(at)*protocol.Time(c.tick)
}

func (c *Courses) of(at protocol.Time) schedule.Tick {
	return schedule.Tick((at - c.start) / protocol.Time(c.tick))
}

// Bounded reports whether events of a type reach only who is near.
func (c *Courses) Bounded(typ string) bool { return c != nil && c.m.Bounded(typ) }

// Knows reports whether an agent is somewhere.
func (c *Courses) Knows(o uint32) bool { return len(c.legs[o]) > 0 }

// restart lets the committed run say where an agent is and walks to.
func (c *Courses) restart(o uint32) error {
	c.legs[o] = nil
	start, is := c.state.Course(o)
	if !is {
		return nil
	}
	w, err := start.Way(c.cast, c.time(c.at+1), nil)
	l := leg{of: c.at, from: c.at, start: start, cells: append([]uint32{start.Standing().Cell}, w.Cells...)}
	l.tell(w.Facts)
	c.legs[o] = []leg{l}
	return err
}

func (l *leg) tell(facts []space.At) {
	for _, f := range facts {
		if x, ok := f.Fact.(protocol.Answering); ok {
			if _, told := x.Answers(); told {
				l.told = append(l.told, f)
			}
		}
	}
}

// leg finds the one that an agent is on behind a moment; nil = it is nowhere.
func (c *Courses) leg(o uint32, at schedule.Tick) *leg {
	list := c.legs[o]
	n := sort.Search(len(list), func(i int) bool { return i > 0 && list[i].from > at })
	if n == 0 {
		return nil
	}
	return &list[n-1]
}

// behind is the cell of an agent behind a moment; false = it is nowhere.
func (c *Courses) behind(o uint32, at schedule.Tick) (cell uint32, ok bool) {
	l := c.leg(o, at)
	if l == nil {
		return 0, false
	}
	return l.standing(at).Cell, true
}

// standing is where the agent is behind a moment, and where it walks to.
func (l *leg) standing(at schedule.Tick) space.Standing {
	now, last := l.start.Standing(), schedule.Tick(len(l.cells)-1)
	n := min(max(at, l.from)-l.from, last)
	if now.Cell = l.cells[n]; n == last {
		now.Goal, now.Walks = 0, false
	}
	return now
}

// Place is where the schedule has an agent at the time of its next turn.
func (c *Courses) Place(o uint32, next schedule.Tick) (p schedule.Cell) {
	if c == nil {
		return p
	}
	if cell, ok := c.behind(o, next-1); ok {
		x, y := c.m.At(cell)
		p = schedule.Cell{X: int32(x), Y: int32(y)}
	}
	return p
}

// Near reports whether two agents are near each other behind a moment. Who is nowhere is near
// everybody.
func (c *Courses) Near(a, b uint32, at schedule.Tick) bool {
	p, is := c.behind(a, at)
	q, too := c.behind(b, at)
	if !is || !too {
		return true
	}
	px, py := c.m.At(p)
	qx, qy := c.m.At(q)
	return ground.Distance(px, py, qx, qy) <= c.m.Radius
}

// Seen is what an agent perceives of space in a turn; beyond is called if it reads more.
func (c *Courses) Seen(o uint32, at schedule.Tick, beyond func()) *space.View {
	l := c.leg(o, at-1)
	if l == nil {
		return space.Glimpse(c.m, c.cast, nil, beyond) // it perceives nobody
	}
	own := l.standing(at - 1)
	list := []space.Standing{own}
	for _, b := range c.around(own.Cell, at) {
		if cell, is := c.behind(b, at-1); is && b != o && c.Near(o, b, at-1) {
			list = append(list, space.Standing{Agent: b, Cell: cell})
		}
	}
	return space.Glimpse(c.m, c.cast, list, beyond)
}

// around are the agents that may be near a cell at a moment.
func (c *Courses) around(cell uint32, at schedule.Tick) []uint32 {
	x, y := c.m.At(cell)
	// Nobody has come from farther away since the last wave.
	reach := c.m.Radius + c.m.Speed*int(max(at-1-c.at, c.at-at+1))
	return c.state.In(x-reach, y-reach, x+reach, y+reach)
}

// Unsure reports whether full cells or places may change, before a moment, where an agent is or whom it perceives: it walks until
// then, or another one that may be near.
func (c *Courses) Unsure(o uint32, at schedule.Tick) bool {
	if c == nil || !c.tight {
		return false
	}
	cell, is := c.behind(o, at-1)
	return is && slices.ContainsFunc(append(c.around(cell, at), o), func(b uint32) bool { return c.walks(b, at) })
}

// walks reports whether an agent walks behind the last wave and before a moment.
func (c *Courses) walks(o uint32, before schedule.Tick) bool {
	for i, l := range c.legs[o] {
		first, last := max(l.from, c.at+1), min(l.from+schedule.Tick(len(l.cells)), before)-1
		if i+1 < len(c.legs[o]) {
			last = min(last, c.legs[o][i+1].from)
		}
		if first <= last {
			return true
		}
	}
	return false
}

// Ask begins what a turn asked for at a moment, and gives the facts of the way.
func (c *Courses) Ask(o uint32, of, at schedule.Tick, requests []space.Request) ([]space.At, error) {
	if c == nil {
		return nil, nil
	}
	before := c.leg(o, at-1)
	if before == nil || at < c.at || len(requests) == 0 {
		return nil, nil
	}
	start, err := before.start.Until(c.cast, c.time(at-1))
	if err != nil {
		return nil, err
	}
	w, err := start.Way(c.cast, c.time(at), requests)
	if err != nil {
		return nil, err
	}
	l := leg{of: of, from: at, start: w.From, cells: w.Cells}
	l.tell(w.Facts)
	list := c.legs[o]
	i := sort.Search(len(list), func(i int) bool { return list[i].from > at })
	c.legs[o] = slices.Insert(list, i, l)
	return w.Facts, nil
}

// Forget takes back what turns of an agent asked for, from a time on.
func (c *Courses) Forget(o uint32, from schedule.Tick) {
	if c == nil || len(c.legs[o]) == 0 {
		return
	}
	list := c.legs[o]
	c.legs[o] = append(list[:1], slices.DeleteFunc(list[1:], func(l leg) bool { return l.of >= from })...)
}

// Told lists what an agent is told from one moment up to another one, and was not yet.
func (c *Courses) Told(o uint32, from, before schedule.Tick) (out []space.At) {
	if c == nil {
		return nil
	}
	list := c.legs[o]
	for i := range list {
		until := before
		if i+1 < len(list) {
			until = min(until, list[i+1].from)
		}
		for _, n := range list[i].told {
			if at := c.of(n.Time); at >= from && at < until {
				out = append(out, n)
			}
		}
	}
	return out
}

// Hear takes what the committed run told an agent off its course; false = it was not foretold.
func (c *Courses) Hear(o uint32, at schedule.Tick, fact protocol.Fact) bool {
	if c == nil {
		return false
	}
	l := c.leg(o, at)
	if l == nil {
		return false
	}
	i := slices.IndexFunc(l.told, func(n space.At) bool { return c.of(n.Time) == at && equal(n.Fact, fact) })
	if i >= 0 {
		l.told = slices.Delete(l.told, i, i+1)
	}
	return i >= 0
}

// equal compares what agents are told; requests have ids of their own.
func equal(a, b protocol.Fact) bool {
	switch a := a.(type) {
	case *space.Stopped:
		b, ok := b.(*space.Stopped)
		return ok && *a == *b
	case *space.Refused:
		b, ok := b.(*space.Refused)
		return ok && *a == *b
	}
	return false
}

// Committed folds what the wave of a moment did, and lists the agents that are elsewhere than they
// were taken to be, or walk elsewhere.
func (c *Courses) Committed(at schedule.Tick, facts []space.Fact) (moved map[uint32]bool, err error) {
	if c == nil {
		return nil, nil
	}
	for _, f := range facts {
		if err := c.state.Apply(f); err != nil {
			return nil, err
		}
	}
	moved, c.at = map[uint32]bool{}, at
	for o := range uint32(c.cast.Size()) {
		now, is := c.state.Course(o)
		l := c.leg(o, at)
		if is == (l != nil) {
			if !is {
				continue // it was nowhere when the scene began
			}
			if l.standing(at) == now.Standing() {
				c.trim(o, at)
				continue
			}
		}
		if !is {
			return nil, protocol.Errorf(protocol.KindInvalid, "%s left the map", c.cast.Name(o))
		}
		moved[o] = true
		if err := c.restart(o); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

// trim drops the legs before the one that an agent is on behind a moment.
func (c *Courses) trim(o uint32, at schedule.Tick) {
	for list := c.legs[o]; len(list) > 1 && list[1].from <= at; list = c.legs[o] {
		c.legs[o] = list[1:]
	}
}
