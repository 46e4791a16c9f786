package scenes

import (
	"math"

	"tavernsim/engine/agenda"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
)

// openEffects opens the log of effects, unless all executors are instant: those give
// the same answers again.
func (r *Run) openEffects(state *machines.State) error {
	sc := r.scene
	if !sc.outside.TakesTime() || sc.options.Effects == nil {
		return nil
	}
	journal, err := sc.options.Effects()
	if err != nil {
		return err
	}
	now := protocol.Time(0)
	switch {
	case sc.Clock != agenda.Virtual:
	case state.Agenda.Started:
		now = state.Agenda.Now
	default:
		now = sc.AgendaConfig().Start - 1
	}
	ended, err := lastTurn(sc.Scene, state)
	if err != nil {
		return err
	}
	sc.outside.Log, err = outside.Open(journal, outside.Options{
		Now: now, Ended: ended, Ahead: sc.options.Schedule == Tracked || sc.options.Schedule == Speculative, Failed: r.effectsFailed, Observe: sc.metrics.Effect,
	})
	return err
}

// lastTurn gives the last turn of an agent whose end is durable.
func lastTurn(sc *setup.Scene, s *machines.State) (of func(agent string) uint64, err error) {
	turns := make([]uint64, len(s.Agents))
	for o := range s.Agents {
		switch o := uint32(o); {
		case s.Agenda.GaveUp(o):
			turns[o] = math.MaxUint64
		case s.Agenda.Away(o) && s.Roster != nil:
			turns[o] = uint64(s.Roster[o].Turns) + s.Travel.Elsewhere(o)
		default:
			if turns[o], err = s.Turn(o); err != nil {
				return nil, err
			}
		}
	}
	return func(agent string) uint64 {
		if id, ok := loggedTask(agent); ok && s.Tasks().State.Task(id) != nil {
			return 0
		}
		if o, ok := sc.Ordinal(agent); ok {
			return turns[o]
		}
		return math.MaxUint64
	}, nil
}

// cutOff tells the log of effects which task a fact ends, or whose turns leave no facts any more.
func (st *stage) cutOff(e *machines.Effect) {
	switch x := e.Fact.(type) {
	case *tooltask.Ended:
		st.outside.Log.Ended(logged(x.ID), 1, e.Wave)
	case *tooltask.Cancelled:
		st.outside.Log.Ended(logged(x.ID), 1, e.Wave)
	case *agenda.Removed, *travel.Departed:
		if o := x.(protocol.Naming).LastAgent(); st.machine.Travel.Elsewhere(o) > 0 { // a turn of it may have been cut short
			st.outside.Log.GivenUp(st.Name(o), e.Wave)
		}
	case *agenda.TurnAbandoned: // it has charged what the log has of the turn
		st.outside.Log.GivenUp(st.Name(x.Agent), e.Wave)
	case *agenda.AgentFailed:
		if x.WakeAt == 0 {
			st.outside.Log.GivenUp(st.Name(x.Agent), e.Wave)
		}
	}
}

// effectsFailed stops the scene like a failing journal, because no request is answered
// any more.
func (r *Run) effectsFailed(err error) {
	r.scene.tellKept(keptWave{err: err})
}
