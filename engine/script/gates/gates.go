// Package gates joins an order of turns (engine/script/turns) with the agenda of its scene
// (engine/agenda): it gates agents without a turn there, and calls agents that get one.
//
// An [Order] is the state of the order; every method that folds takes the current
// agenda. A running scene and a fold call the same methods for the same facts, so they reach
// the same gates.
package gates

import (
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
)

// Order is the order of turns of one scene.
type Order struct {
	*turns.State
	step time.Duration // between the end of a wave and the wake of those for whom it has something
}

// New is the order of rules that has not begun; nil = there are none.
func New(r *turns.Rules, step time.Duration) *Order {
	if r == nil {
		return nil
	}
	return &Order{turns.NewState(r), step}
}

// Step is the time between a decision and the wakes that follow from it.
func (s *Order) Step() time.Duration { return s.step }

// Begin folds the start of the scene.
func (s *Order) Begin(a *agenda.State, seed uint64, now protocol.Time) {
	if s != nil {
		s.Started(seed, now)
		s.all(a, s.Rules().Members, now)
	}
}

// Enter folds that the script has come to a state in which rules hold, those of its own or the
// scene's, which go on from state to state. Rules of a state begin anew.
func (s *Order) Enter(a *agenda.State, r, scene *turns.Rules, now protocol.Time) {
	if s != nil && (r != scene || r != s.Rules()) {
		s.Swap(a, r, now)
	}
}

// Swap folds a fact by which other rules hold from now on. Rules of the policy free let
// everybody go.
func (s *Order) Swap(a *agenda.State, r *turns.Rules, now protocol.Time) {
	before := s.Rules().Members
	s.State.Swap(r, now)
	for _, o := range r.Members {
		if a.GaveUp(o) {
			s.Gone(o)
		}
	}
	s.all(a, before, now)
	s.all(a, r.Members, now)
}

func (s *Order) all(a *agenda.State, agents []uint32, now protocol.Time) {
	for _, o := range agents {
		s.gate(a, o, now)
	}
}

func (s *Order) gate(a *agenda.State, o uint32, now protocol.Time) {
	if s.Gated(o) {
		a.HoldBack(o, s.Rules().Interjects())
	} else {
		a.LetGo(o, now)
	}
}

// Apply folds a fact of the order.
func (s *Order) Apply(a *agenda.State, f turns.Fact, now protocol.Time) error {
	if s == nil {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q in the history of a scene without turns", f.FactKind())
	}
	loose := s.Loose()
	s.State.Apply(f, a.Wave+1, now)
	if loose != s.Loose() {
		s.all(a, s.Rules().Members, now)
	}
	switch x := f.(type) {
	case *turns.Granted:
		for _, o := range x.Agents {
			a.Call(o, x.Due)
		}
	case *turns.Forfeited:
		s.all(a, x.Agents, now)
	case *turns.Began, *turns.Ended, *turns.Stalled:
	}
	return nil
}

// Took folds the end of an agent's deliberation, which the agenda has folded.
func (s *Order) Took(a *agenda.State, o uint32, t agenda.Turn, now protocol.Time) {
	switch {
	case s == nil || !s.Rules().Member(o):
	case s.Ended(o, t.Wave, a.Grid(t.BusyUntil)):
		a.Call(o, now.Add(s.step))
	default:
		s.gate(a, o, now)
	}
}

// Interrupted folds that the latency of an agent's turn was interrupted.
func (s *Order) Interrupted(a *agenda.State, o uint32, now protocol.Time) {
	if s != nil && s.State.Interrupted(o) {
		s.gate(a, o, now)
	}
}

// Failed folds the failure of an agent. One that is given up has no turn any more.
func (s *Order) Failed(f *agenda.AgentFailed) {
	if s != nil && f.WakeAt == 0 {
		s.Gone(f.Agent)
	}
}

// Forked folds the seed of a fork.
func (s *Order) Forked(seed uint64) {
	if s != nil {
		s.Reseeded(seed)
	}
}

// MayInterrupt reports whether an event of a priority may interrupt the latency of an agent.
func (s *Order) MayInterrupt(o uint32, p protocol.Priority) bool {
	return s == nil || s.State.MayInterrupt(o, p)
}

// Due is when the order decides although nobody does anything; 0 = never.
func (s *Order) Due(now protocol.Time) protocol.Time {
	if s == nil {
		return 0
	}
	return s.Next(now)
}

// View is the order as agents see it; nil = there is none.
func (s *Order) View(name func(uint32) string) *turns.Shown {
	if s == nil {
		return nil
	}
	return s.Shown(name)
}

// Snapshot encodes the order; nil = there is none.
func (s *Order) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	if s == nil {
		return nil, nil
	}
	return s.State.Snapshot(codec)
}

// Load restores the order from a snapshot, under the rules that hold.
func (s *Order) Load(r *turns.Rules, codec *protocol.Codec, raw protocol.Raw) (err error) {
	if s != nil && len(raw) > 0 {
		s.State, err = turns.Restore(r, codec, raw)
	}
	return err
}

// maxTold bounds the agents that an event names.
const maxTold = 1000

// Told is the payload of the event of the scene about a fact of the order; nil = there is
// none. Who is given a turn is woken and needs no event.
func Told(f turns.Fact, name func(uint32) string) map[string]any {
	names := func(list []uint32) []any {
		out := make([]any, min(len(list), maxTold))
		for i := range out {
			out[i] = name(list[i])
		}
		return out
	}
	switch x := f.(type) {
	case *turns.Began:
		return map[string]any{"round": x.Round, "policy": x.Policy, "participants": int64(len(x.Order)), "order": names(x.Order)}
	case *turns.Forfeited:
		return map[string]any{"round": x.Round, "agents": names(x.Agents), "reason": x.Reason, "out": x.Out}
	case *turns.Ended:
		return map[string]any{"round": x.Round, "turns": x.Turns, "forfeited": x.Forfeited, "over": x.Over}
	case *turns.Stalled:
		return map[string]any{"round": x.Round, "fallback": x.Fallback}
	case *turns.Granted:
	}
	return nil
}
