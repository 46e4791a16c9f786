package turns

import (
	"slices"

	"tavernsim/protocol"
)

// phase is where the order stands.
type phase uint8

const (
	between phase = iota // no round runs
	running              // a round
	over                 // no round follows by itself
)

// State is the order of turns of one scene. Only its methods of fold change it.
type State struct {
	rules *Rules
	seed  uint64 // of the scene, in force

	phase   phase
	round   int64
	turn    int64    // of the round
	order   []uint32 // of the round
	next    int      // place in order of who is next
	grants  []grant  // of the round; those without turns left are over when their latency is
	place   map[uint32]int
	out     map[uint32]bool // who has no turn any more
	since   protocol.Time   // when the order last had nothing to wait for but its director
	stalled bool            // its director was waited for in vain since
	taken   int64           // turns of the round
	lost    int64           // of the round: agents that forfeited
}

// grant is what one agent was given in a round.
type grant struct {
	Agent uint32
	Left  int64 // turns
	Until protocol.Time
	Over  protocol.Time // simulated latency of its last turn; 0 = none
	Wave  uint64        // that holds the fact; the turns are of later ones
}

// NewState is an order that has not begun. The caller folds [State.Started].
func NewState(r *Rules) *State {
	return &State{rules: r, place: map[uint32]int{}, out: map[uint32]bool{}}
}

// Started begins the order at a time, with the seed of the scene.
func (s *State) Started(seed uint64, now protocol.Time) { s.seed, s.since = seed, now }

// Reseeded takes another seed: that of a fork.
func (s *State) Reseeded(seed uint64) { s.seed = seed }

// Swap puts other rules in the place of those in force, as a state of a script does: the
// order begins anew, with round 1. The caller folds who is gone.
func (s *State) Swap(r *Rules, now protocol.Time) {
	seed := s.seed
	*s = *NewState(r)
	s.Started(seed, now)
}

// Rules are those in force.
func (s *State) Rules() *Rules { return s.rules }

// Apply folds a fact of the wave with the given number and time.
func (s *State) Apply(f Fact, wave uint64, now protocol.Time) {
	switch x := f.(type) {
	case *Began:
		s.phase, s.round, s.turn, s.order, s.next = running, x.Round, 0, x.Order, 0
		s.stalled, s.taken, s.lost = false, 0, 0
		if x.By != "" { // who has a turn in it is given one by whoever began it
			s.next = len(x.Order)
		}
		s.forget()
	case *Granted:
		s.granted(x, wave)
	case *Forfeited:
		s.forfeited(x)
	case *Ended:
		s.phase, s.order, s.next, s.since, s.stalled = between, nil, 0, now, false
		if x.Over {
			s.phase = over
		}
		s.forget()
	case *Stalled:
		s.stalled = true
	}
}

func (s *State) forget() {
	s.grants = nil
	clear(s.place)
}

func (s *State) granted(x *Granted, wave uint64) {
	s.turn = x.Turn
	for _, o := range x.Agents {
		i, has := s.place[o]
		if !has {
			i = len(s.grants)
			s.place[o] = i
			s.grants = append(s.grants, grant{Agent: o})
		}
		g := &s.grants[i]
		g.Left, g.Until, g.Over, g.Wave = min(g.Left+x.Turns, MaxTurns), x.Until, 0, wave
	}
	if x.By == "" {
		s.next = 1 + slices.Index(s.order, x.Agents[len(x.Agents)-1])
	}
}

func (s *State) forfeited(x *Forfeited) {
	for _, o := range x.Agents {
		if g := s.grant(o); g != nil {
			g.Left, g.Over, g.Until = 0, 0, 0
			s.lost++
		}
		if x.Out {
			s.out[o] = true
		}
	}
}

// grant is that of an agent in the round that runs; nil = it has none.
func (s *State) grant(o uint32) *grant {
	i, has := s.place[o]
	if !has {
		return nil
	}
	return &s.grants[i]
}

// Ended folds the end of an agent's turn that began in a wave, and the end of its simulated
// latency (0 = it has none). It reports whether the agent has another turn at once.
func (s *State) Ended(o uint32, woken uint64, latency protocol.Time) (again bool) {
	g := s.grant(o)
	if g == nil || g.Left == 0 {
		return false
	}
	if woken <= g.Wave { // it began before the grant: out of turn
		return true
	}
	g.Left--
	g.Over = latency
	s.taken++
	return g.Left > 0
}

// Interrupted folds that the latency of an agent's last turn was interrupted: its requests
// are cancelled, and it has the turn again. It reports whether it has.
func (s *State) Interrupted(o uint32) bool {
	g := s.grant(o)
	if g == nil || g.Over == 0 {
		return false
	}
	g.Left++
	g.Over = 0
	s.taken--
	return true
}

// Gone folds that an agent was given up.
func (s *State) Gone(o uint32) { s.out[o] = true }

// Gated reports whether an agent may not be woken without a grant.
func (s *State) Gated(o uint32) bool {
	if !s.rules.Member(o) || s.Loose() {
		return false
	}
	g := s.grant(o)
	return g == nil || g.Left == 0
}

// Loose reports whether nobody is gated although there are participants.
func (s *State) Loose() bool { return s.stalled && s.rules.Fallback == string(Free) }

// MayInterrupt reports whether an event of a priority may interrupt the latency of an agent:
// that gives it another turn.
func (s *State) MayInterrupt(o uint32, p protocol.Priority) bool {
	if !s.rules.Member(o) || s.Loose() || s.rules.Interjects() && p == protocol.Critical {
		return true
	}
	g := s.grant(o)
	return g != nil && (g.Left > 0 || g.Over != 0)
}

// pending reports whether a grant is still waited for.
func (g *grant) pending(now protocol.Time) bool { return g.Left > 0 || g.Over > now }

// Next is when the order has something to decide although nobody does anything; 0 = never.
func (s *State) Next(now protocol.Time) (next protocol.Time) {
	soonest := func(t protocol.Time) {
		if t > now && (next == 0 || t < next) {
			next = t
		}
	}
	for i := range s.grants {
		if g := &s.grants[i]; g.pending(now) {
			if soonest(g.Until); g.Left == 0 {
				soonest(g.Over)
			}
		}
	}
	if s.waits() && !s.stalled {
		soonest(until(s.since, s.rules.TimeLimit.Std()))
	}
	return next
}

// waits reports whether the order waits for a director.
func (s *State) waits() bool { return s.phase == between && s.rules.Policy == Director }

// Over reports whether no round follows by itself.
func (s *State) Over() bool { return s.phase == over }
