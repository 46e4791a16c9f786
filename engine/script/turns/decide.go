package turns

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Input is what a decision depends on beside the state.
type Input struct {
	Now   protocol.Time
	Step  time.Duration    // between a decision and the wake of whom it names
	World func() any       // the document
	Agent func(uint32) any // what by reads of an agent
	Name  func(uint32) string
	Rests func(uint32) bool // somebody lets the agent rest, so nobody waits for it
	Warn  func(error)       // an expression cannot be evaluated, so its agent comes last
}

// Decide gives the next fact that is due; nil = there is none.
func (s *State) Decide(in *Input) Fact {
	if !s.rules.Gates() {
		return nil
	}
	if f := s.forfeits(in); f != nil {
		return f
	}
	switch {
	case s.phase == running:
		return s.goOn(in)
	case s.phase == over:
		return nil
	case s.waits() && !s.stalled:
		return s.stalls(in.Now)
	case s.waits() && s.rules.Fallback != string(RoundRobin):
		return nil
	}
	if order := s.ordered(in); len(order) > 0 {
		return &Began{Round: s.round + 1, Policy: string(s.policy()), Order: order}
	}
	return nil
}

// policy is that of the next round.
func (s *State) policy() Policy {
	if s.rules.Policy == Director {
		return RoundRobin
	}
	return s.rules.Policy
}

// forfeits takes the turns of agents that are gone, and those whose time is up.
func (s *State) forfeits(in *Input) *Forfeited {
	now := in.Now
	for _, reason := range []string{ReasonGone, ReasonRests, ReasonTime} {
		f := &Forfeited{Round: s.round, Reason: reason, Out: reason == ReasonGone || reason == ReasonTime && s.rules.OnTimeout == Forfeit}
		for i := range s.grants {
			g := &s.grants[i]
			up := g.Until != 0 && g.Until <= now
			switch reason {
			case ReasonGone:
				up = g.Left > 0 && s.out[g.Agent]
			case ReasonRests:
				up = g.Left > 0 && in.Rests(g.Agent)
			}
			if up && g.pending(now) {
				f.Agents = append(f.Agents, g.Agent)
			}
		}
		if len(f.Agents) > 0 {
			return f
		}
	}
	return nil
}

// goOn gives the next turn of the round, or ends it.
func (s *State) goOn(in *Input) Fact {
	if slices.ContainsFunc(s.grants, func(g grant) bool { return g.pending(in.Now) }) {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(s.order[s.next:]), func(o uint32) bool { return s.out[o] || in.Rests(o) })
	if len(left) > 0 && s.rules.Policy != Simultaneous {
		left = left[:1]
	}
	if len(left) > 0 {
		return s.grantOf(in, left, s.rules.PerTurn, "")
	}
	f := &Ended{Round: s.round, Turns: s.taken, Forfeited: s.lost}
	f.Over = s.rules.Rounds > 0 && s.round >= s.rules.Rounds || len(s.left()) == 0
	return f
}

// left are the participants that may have turns, in their order.
func (s *State) left() []uint32 {
	return slices.DeleteFunc(slices.Clone(s.rules.Members), func(o uint32) bool { return s.out[o] })
}

func (s *State) grantOf(in *Input, agents []uint32, turns int64, by string) *Granted {
	due := in.Now.Add(in.Step)
	return &Granted{Round: s.round, Turn: s.turn + 1, Agents: agents, Turns: turns, Due: due, Until: until(due, s.rules.TimeLimit.Std()), By: by}
}

func (s *State) stalls(now protocol.Time) Fact {
	if at := until(s.since, s.rules.TimeLimit.Std()); at == 0 || at > now {
		return nil
	}
	return &Stalled{Round: s.round, Since: s.since, Fallback: s.rules.Fallback}
}

// ErrNone is why turns cannot be given where nobody waits for one.
func ErrNone() error {
	return protocol.Errorf(protocol.KindConflict, "the scene has no order of turns now: whoever is due has one (turns.policy)")
}

// Give decides a grant from outside of the order: of a director, an order, a script. One that
// comes between two rounds makes a round of its own: then began is not nil, and is folded
// first. Agents that are gone are left out; with nobody left it is refused.
func (s *State) Give(in *Input, by string, agents []uint32, turns int64) (began *Began, granted *Granted, err error) {
	if !s.rules.Gates() {
		return nil, nil, ErrNone()
	}
	list := slices.DeleteFunc(slices.Clone(agents), func(o uint32) bool { return s.out[o] })
	slices.Sort(list)
	list = slices.Compact(list)
	for _, o := range list {
		if !s.rules.Member(o) {
			return nil, nil, protocol.Errorf(protocol.KindConflict, "%s is no participant of the turns: it is woken when it is due", in.Name(o))
		}
	}
	if len(list) == 0 {
		return nil, nil, protocol.Errorf(protocol.KindConflict, "everybody whom it names has no turn any more: given up, or out by turns.on_timeout")
	}
	if s.phase == running {
		return nil, s.grantOf(in, list, turns, by), nil
	}
	began = &Began{Round: s.round + 1, Policy: string(Director), Order: list, By: by}
	granted = s.grantOf(in, list, turns, by)
	granted.Round, granted.Turn = began.Round, 1
	return began, granted, nil
}

// ordered are the participants of the next round in their order.
func (s *State) ordered(in *Input) []uint32 {
	list := slices.DeleteFunc(s.left(), in.Rests)
	if s.rules.Policy != Initiative {
		return list
	}
	round := uint64(s.round + 1)
	if s.rules.Reroll == OneScene {
		round = 0
	}
	rank := make(map[uint32]float64, len(list))
	roots := expr.Map{"world": in.World()}
	for _, o := range list {
		draw := protocol.NewDraw(s.seed, protocol.HashString(in.Name(o)), round).Sub(draws)
		roots["roll"], roots["agent"] = draw.Float64(), in.Agent(o)
		v, err := s.rules.by.Eval(roots)
		if err != nil {
			in.Warn(protocol.Errorf(protocol.KindInvalid, "turns.by cannot be evaluated for %s, who comes last: %w", in.Name(o), err))
		}
		rank[o] = number(v)
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(a, b)) })
	return list
}

// draws keys the chance of turns.
const draws = 0x7475726e73

// number is the rank that a value of by gives: what is no number comes last.
func number(v any) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		if !math.IsNaN(n) {
			return n
		}
	case bool:
		if n {
			return 1
		}
		return 0
	}
	return math.Inf(-1)
}
