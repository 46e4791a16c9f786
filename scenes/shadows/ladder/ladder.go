// Package ladder holds the versions of the world that turns ahead of the committed run see.
//
// # Promises
//
//  1. The world before a moment is the committed one with the requests of earlier turns, decided by the rules of
//     the world's service, in the order of the agents, and without values that have expired by then.
//  2. A decision is kept until an earlier request changes.
//
// # Not here
//
// Which turns run ahead (scenes/shadows), and the decisions of the committed run.
package ladder

import (
	"slices"
	"sort"

	"tavernsim/engine/schedule"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Ladder holds a world for each moment at which turns that have ended, here or ahead, asked for something.
type Ladder struct {
	rules *worldstate.Machine
	time  func(schedule.Tick) protocol.Time
	cast  Cast
	rungs []rung // the first is the committed world; by time
	dirty int    // the first rung whose world is to be decided again
	asked int    // requests on all rungs
}

// Cast is what a ladder must know of the agents of a scene.
type Cast struct {
	Ordinal func(instance string) (ordinal uint32, ok bool)
	Class   []uint16 // by ordinal
}

// rung is the world after the requests of one moment.
type rung struct {
	at    schedule.Tick
	asked []Wish
	after worldstate.State
	last  expired // that was asked for

	refused []uint32 // whose requests are, sorted
	some    []uint32 // of these, one of each class
}

// expired is a world at a moment behind its rung; the zero expired is none.
type expired struct {
	at    schedule.Tick
	state worldstate.State
	now   bool // something has expired at this moment
}

// Wish is a request of an agent's turn.
type Wish struct {
	Agent uint32
	Of    schedule.Tick // the time of its turn
	Raw   protocol.Raw
}

// maxWishes bounds the requests of a ladder: beyond it no turn runs ahead.
const maxWishes = 65536

// New makes a ladder on the committed world, to which the wave of a moment is still to come.
func New(rules *worldstate.Machine, s worldstate.State, open schedule.Tick, time func(schedule.Tick) protocol.Time, cast Cast) *Ladder {
	return &Ladder{rules: rules, time: time, cast: cast, rungs: []rung{{at: open - 1, after: s}}, dirty: 1}
}

// Full reports whether it has more requests than it may.
func (l *Ladder) Full() bool { return l.asked > maxWishes }

// Commit replaces the worlds up to a moment by the committed one. The moment may have another wave, whose requests
// come on top.
func (l *Ladder) Commit(at schedule.Tick, s worldstate.State) {
	n := sort.Search(len(l.rungs), func(i int) bool { return i > 0 && l.rungs[i].at > at })
	for i := range l.rungs[:n] {
		l.asked -= len(l.rungs[i].asked)
	}
	l.rungs = slices.Concat([]rung{{at: at - 1, after: s}}, l.rungs[n:])
	l.dirty = 1
}

// Ask puts what a turn asks for on the rung of the moment at which it takes effect.
func (l *Ladder) Ask(at schedule.Tick, w Wish) {
	i := sort.Search(len(l.rungs), func(i int) bool { return l.rungs[i].at >= at })
	if i == 0 {
		return // it is in the committed world
	}
	if i == len(l.rungs) || l.rungs[i].at != at {
		l.rungs = slices.Insert(l.rungs, i, rung{at: at})
	}
	r := &l.rungs[i]
	k := sort.Search(len(r.asked), func(k int) bool {
		return r.asked[k].Agent > w.Agent || r.asked[k].Agent == w.Agent && r.asked[k].Of > w.Of
	})
	r.asked = slices.Insert(r.asked, k, w)
	l.asked++
	l.dirty = min(l.dirty, i)
}

// Forget takes back what turns of an agent asked for, from a time on.
func (l *Ladder) Forget(agent uint32, from schedule.Tick) {
	for i := 1; i < len(l.rungs); i++ {
		r := &l.rungs[i]
		before := len(r.asked)
		r.asked = slices.DeleteFunc(r.asked, func(w Wish) bool { return w.Agent == agent && w.Of >= from })
		if len(r.asked) < before {
			l.asked -= before - len(r.asked)
			l.dirty = min(l.dirty, i)
		}
	}
}

// Before is the world that a turn of a moment sees: what expires at the moment is gone, and has taken along what
// takes effect then.
func (l *Ladder) Before(at schedule.Tick) (worldstate.State, error) {
	n := sort.Search(len(l.rungs), func(i int) bool { return i > 0 && l.rungs[i].at >= at })
	x, err := l.later(n-1, at)
	if err == nil && x.now && n < len(l.rungs) && l.rungs[n].at == at {
		x, err = l.later(n, at)
	}
	return x.state, err
}

// Expires reports whether something expires at a moment: that opens a wave before the turns of the moment.
func (l *Ladder) Expires(at schedule.Tick) (bool, error) {
	n := sort.Search(len(l.rungs), func(i int) bool { return i > 0 && l.rungs[i].at >= at })
	x, err := l.later(n-1, at)
	return x.now, err
}

// later is the world of a rung at a moment behind it.
func (l *Ladder) later(n int, at schedule.Tick) (expired, error) {
	for ; l.dirty <= n; l.dirty++ {
		if err := l.decide(l.rungs[l.dirty-1].after, &l.rungs[l.dirty]); err != nil {
			return expired{}, err
		}
	}
	r := &l.rungs[n]
	x := r.last
	if x.at == 0 || x.at > at {
		x = expired{state: r.after}
	}
	if x.at != at {
		l.expire(&x, at-1)
		l.expire(&x, at)
		r.last = x
	}
	return x, nil
}

// expire takes out of a world what has expired at a moment.
func (l *Ladder) expire(x *expired, at schedule.Tick) {
	until := x.state.NextExpiry()
	if x.at, x.now = at, until != 0 && until <= l.time(at); x.now {
		x.state = l.rules.Decide(x.state, l.time(at), nil).Next
	}
}

// Refuses reports whether it refuses before a moment what an agent asked for, or what others did whose class tells the
// agent. tells gets one agent of each class: what it costs does not grow with how many are refused.
func (l *Ladder) Refuses(at schedule.Tick, agent uint32, tells func(other uint32) bool) (bool, error) {
	n := sort.Search(len(l.rungs), func(i int) bool { return i > 0 && l.rungs[i].at >= at })
	if _, err := l.later(n-1, at); err != nil {
		return false, err
	}
	for i := range l.rungs[:n] {
		r := &l.rungs[i]
		if _, own := slices.BinarySearch(r.refused, agent); own || slices.ContainsFunc(r.some, tells) {
			return true, nil
		}
	}
	return false, nil
}

func (l *Ladder) decide(s worldstate.State, r *rung) error {
	list := make([]worldstate.Request, len(r.asked))
	for i := range r.asked {
		q, err := worldstate.ReadRequest(r.asked[i].Raw)
		if err != nil {
			return err
		}
		list[i] = q
	}
	made := l.rules.Decide(s, l.time(r.at), list)
	r.after, r.last, r.refused, r.some = made.Next, expired{}, nil, nil
	classes := map[uint16]bool{}
	for _, f := range made.Facts {
		x, refused := f.(*world.Refused)
		if !refused {
			continue
		}
		if o, ok := l.cast.Ordinal(x.By); ok {
			r.refused = append(r.refused, o)
			if class := l.cast.Class[o]; !classes[class] {
				classes[class] = true
				r.some = append(r.some, o)
			}
		}
	}
	slices.Sort(r.refused)
	return nil
}
