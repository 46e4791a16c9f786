package scenes

import (
	"cmp"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/schedule"
	"tavernsim/engine/statecmd"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/tally"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/shadows"
)

// Schedule says which turns run ahead of the committed run.
type Schedule string

// The schedules.
const (
	Barrier     Schedule = "barrier"     // none; "" is the same
	Tracked     Schedule = "tracked"     // those whose questions are proved to be the same
	Speculative Schedule = "speculative" // also those whose questions are likely to be the same
)

// Check refuses an unknown one.
func (s Schedule) Check() error {
	switch s {
	case "", Barrier, Tracked, Speculative:
		return nil
	}
	return protocol.Errorf(protocol.KindInvalid, "schedule %q: want barrier, tracked or speculative", string(s))
}

// runAhead starts the driver of shadows. With executors that answer at once there is nothing to
// run ahead for. order is when the next one from outside is due; 0 = that is not known.
func (r *Run) runAhead(state *machines.State, order protocol.Time) (err error) {
	sc := r.scene
	if err := sc.options.Schedule.Check(); err != nil {
		return err
	}
	mode := schedule.Tracked
	switch sc.options.Schedule {
	case Speculative:
		mode = schedule.Speculative
	case Tracked:
	default:
		return nil
	}
	opt := shadows.Options{
		Mode: mode, Runner: sc.outside, From: outside.From{Scene: cmp.Or(sc.options.Name, sc.ID), Class: shadows.Class}, Codec: sc.Codec,
		Context: &sc.context, Log: sc.log, Count: sc.metrics.Ahead, Rest: sc.takes.Of, Order: order, Lie: sc.options.Lie,
	}
	if err := shadows.Check(sc.Scene, mode); err != nil || sc.outside.Log == nil {
		return err
	}
	sc.ahead, err = shadows.Start(sc.Scene, state, opt)
	return err
}

// Ahead is what came of running turns ahead; nil = none are.
func (r *Run) Ahead() *shadows.Counts { return r.scene.ahead.Counts() }

// keepAhead keeps a fact that is no turn's for the driver of shadows, which has the turns already.
func (st *stage) keepAhead(e *machines.Effect) error {
	fact := e.Fact
	switch x := e.Fact.(type) {
	case nil, *tally.CallSeen, *agenda.WaveClosed:
		return nil
	case *bus.Routed: // it has one owner: its reader makes its event and an index of its marks
		var err error
		if fact, err = st.Codec.ReadFact(e.Kind, e.Data); err != nil {
			return err
		}
	case *statecmd.Committed:
		if _, own := st.Ordinal(e.Actor); own {
			return nil
		}
	case agentfact.Fact:
		if len(agentfact.Publishers(x)) == 0 {
			return nil
		}
	}
	st.others = append(st.others, shadows.Kept{Actor: e.Actor, Fact: fact})
	return nil
}

// closeAhead tells the driver of shadows of a wave that has ended.
func (st *stage) closeAhead(e *machines.Effect) {
	next := make([]shadows.Next, st.Len())
	for o := range next {
		next[o] = shadows.NextOf(st.machine.Upcoming(uint32(o)))
	}
	st.ahead.Closed(&shadows.Wave{At: e.At, Number: e.Wave, View: st.machine.View, Facts: st.others, Next: next, Script: st.machine.ScriptDue(), Order: st.machine.OrderDue()})
	st.others = nil
}
