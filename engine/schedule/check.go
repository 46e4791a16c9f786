package schedule

import (
	"cmp"
	"slices"

	"tavernsim/protocol"
)

// Check asks whether a turn that ran ahead, of Agent at At, still perceives what it
// perceived of the agent By: By's turn at Of has ended, or was undone.
type Check struct {
	Agent uint32
	At    Tick
	By    uint32
	Of    Tick
}

type check struct {
	Check
	serial uint64 // of the turn that ran ahead
	root   uint32
}

// span is what one turn of an agent changed: where others see it after one time, up
// to its next turn.
type span struct {
	after, upTo Tick
	from, to    Cell
	wrote       Resource
}

// findChecks lists the turns ahead that may have seen what a turn changed.
func (s *State) findChecks(a uint32, c span) {
	if s.index.square[a] >= 0 {
		near, speed := s.seen[s.rows[a].class].near, s.seen[s.rows[a].class].speed
		var w search
		moved := apart(c.from, c.to)
		s.index.search(&w, c.to, func(_, last Tick) int64 {
			if last <= c.after {
				return -1
			}
			return near + moved + speed*int64(last-c.after)
		})
		for b, ok := w.agents(); ok; b, ok = w.agents() {
			s.findTurns(a, b, c, true)
		}
	}
	if c.wrote == 0 {
		return
	}
	for k := range s.touch {
		if s.touch[k][s.rows[a].class].through&c.wrote == 0 {
			continue
		}
		for _, b := range s.times[k].heap {
			s.findTurns(a, b, c, false)
		}
	}
}

// findTurns lists turns of b, which are within the span, that may have seen a.
func (s *State) findTurns(a, b uint32, c span, inSpace bool) {
	r := &s.rows[b]
	if b == a || s.index.late[b] <= c.after {
		return
	}
	t := &s.touch[r.class][s.rows[a].class]
	saw := func(u *turn) {
		if u.at <= c.after || u.at > c.upTo || u.serial == 0 {
			return
		}
		if inSpace && (!t.spatial || apart(u.place, c.from) > t.near+t.speed && apart(u.place, c.to) > t.near+t.speed) {
			return
		}
		s.checks = append(s.checks, check{Check{Agent: b, At: u.at, By: a, Of: c.after}, u.serial, s.root})
	}
	first, _ := slices.BinarySearchFunc(r.turns, c.after+1, func(u turn, at Tick) int { return cmp.Compare(u.at, at) })
	for i := first; i < len(r.turns) && r.turns[i].at <= c.upTo; i++ {
		saw(&r.turns[i])
	}
	if r.status != idle {
		saw(&r.run)
	}
}

// Check gives the next turn that the caller has to look at; it answers by Checked.
func (s *State) Check() (Check, bool) {
	for len(s.checks) > 0 {
		if c := &s.checks[0]; s.turnOf(c.Agent, c.At, c.serial) != nil {
			return c.Check, true
		}
		s.checks = s.checks[1:]
	}
	s.checks = s.checks[:0]
	s.settle()
	return Check{}, false
}

// turnOf finds a turn that has not been undone.
func (s *State) turnOf(a uint32, at Tick, serial uint64) *turn {
	r := &s.rows[a]
	if r.status != idle && r.run.serial == serial {
		return &r.run
	}
	i, ok := slices.BinarySearchFunc(r.turns, at, func(u turn, at Tick) int { return cmp.Compare(u.at, at) })
	if ok && r.turns[i].serial == serial {
		return &r.turns[i]
	}
	return nil
}

// Rollback is an agent that was set back: its turns from To on are undone, and what
// runs of them is to be cancelled.
type Rollback struct {
	Agent uint32
	To    Tick
	Place Cell
	Turns int  // that had ended
	Ran   bool // the turn that ran is one of those undone
}

// Checked answers the check that Check gave. If the turn perceived something else, it
// and all later ones of its agent are undone, which may lead to further checks.
func (s *State) Checked(c Check, same bool) (Rollback, bool, error) {
	if len(s.checks) == 0 || s.checks[0].Check != c {
		return Rollback{}, false, protocol.Errorf(protocol.KindInternal, "schedule: an answer about agent %d at tick %d, which was not asked for", c.Agent, c.At)
	}
	open := s.checks[0]
	s.checks = s.checks[1:]
	if same {
		return Rollback{}, false, nil
	}
	r := &s.rows[c.Agent]
	i, _ := slices.BinarySearchFunc(r.turns, c.At, func(u turn, at Tick) int { return cmp.Compare(u.at, at) })
	s.root = open.root
	back := s.rollback(c.Agent, i)
	return back, true, nil
}

// rollback undoes the turns ahead from the i-th on, and the one that runs.
func (s *State) rollback(a uint32, i int) Rollback {
	r := &s.rows[a]
	gone := slices.Clone(r.turns[i:])
	ran := r.status != idle
	at, place, late := s.index.at[a], s.index.place[a], s.index.late[a]
	back := Rollback{Agent: a, To: at, Place: place, Turns: len(gone), Ran: ran}
	s.tally.Rollbacks++
	if ran {
		s.undone(a, &r.run)
		s.drop(a)
	}
	if len(gone) > 0 {
		back.To, back.Place = gone[0].at, gone[0].place
		r.turns = r.turns[:i]
		r.from, r.reached = back.Place, max(r.reached, late)
		s.place(a, back.To, back.To, back.Place)
		for k := range gone {
			s.undone(a, &gone[k])
			next, to := late, place
			if k+1 < len(gone) {
				next, to = gone[k+1].at, gone[k+1].place
			} else if at == Never {
				next = Never
			}
			s.findChecks(a, span{after: gone[k].at, upTo: next, from: gone[k].place, to: to, wrote: gone[k].wrote})
		}
	}
	s.try(a)
	return back
}

// undone counts a turn that is undone, and what is learnt from it.
func (s *State) undone(a uint32, t *turn) {
	s.tally.Undone++
	s.tally.Wasted += int64(t.calls)
	s.spent.lose(t)
	s.lost(a, t)
}
