package verify

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// views is how many waves of the realtime clock a turn may take: after that what the
// services showed when it was woken is forgotten.
const views = 1 << 14

// realtime is what the walk keeps on the realtime clock only.
type realtime struct {
	now   protocol.Time // of the wave
	views []*machines.View
}

// noteView keeps what the services show before the wave.
func (v *verifier) noteView() {
	if v.realtime.views == nil {
		v.realtime.views = make([]*machines.View, views)
	}
	v.realtime.views[v.state.Agenda.Wave%views] = v.state.View
}

// viewBefore is what the services showed before a wave; nil = that is forgotten.
func (v *verifier) viewBefore(wave uint64) *machines.View {
	if wave == 0 || wave > v.wave || v.wave-wave >= views {
		return nil
	}
	return v.realtime.views[(wave-1)%views]
}

// openArrivals has the stage open the next wave over what the history says arrived.
func (v *verifier) openArrivals() error {
	in := &machines.Arrivals{}
	world, tasks := false, false
	for i := 0; in.At == 0; i++ {
		r, ok := v.peek(i)
		if !ok {
			return v.differs("the journal ends within a wave", nil, nil)
		}
		switch r.Kind {
		case agenda.FactWaveClosed:
			if back, yes := v.state.GoesBack(r.Time); yes {
				return v.differs(back, &r, nil)
			}
			in.At = r.Time
		case agenda.FactAgentFailed, agentfact.FactTurnEnded:
			o, err := v.whose(r)
			if err != nil {
				return err
			}
			in.Order = append(in.Order, o)
		}
		world, tasks = world || r.Actor == machines.ActorWorld, tasks || r.Actor == machines.ActorTasks
	}
	v.realtime.now = in.At
	if !v.state.Agenda.Started {
		return v.begin()
	}
	if err := v.fromOutside(in); err != nil {
		return err
	}
	if tasks {
		if err := v.decide(&machines.Ready{Service: tooltask.Service}); err != nil {
			return err
		}
	}
	in.Expires = world // if nobody asked it
	return v.decide(in)
}

// whose is the agent of a turn that ended or failed.
func (v *verifier) whose(r protocol.Record) (uint32, error) {
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return 0, err
	}
	o := uint32(v.state.Size() + 1)
	switch x := f.(type) {
	case *agenda.AgentFailed:
		o = x.Agent
	case *agentfact.TurnEnded:
		o = x.Agent
	}
	if int(o) > v.state.Size() {
		return 0, v.differs("there is no such agent", &r, nil)
	}
	return o, nil
}

// fromOutside adds the facts of a wave that somebody outside asked for, and the
// crashes of earlier lives.
func (v *verifier) fromOutside(in *machines.Arrivals) error {
	crashes, err := v.failures(setup.ActorScene)
	if err != nil {
		return err
	}
	for _, f := range crashes {
		in.Crashes = append(in.Crashes, f)
	}
	for _, r := range v.given {
		switch r.Kind {
		case agenda.FactIntervened:
			if in.Given, err = v.order(r); err != nil {
				return err
			}
		case agenda.FactPaused, agenda.FactResumed, agenda.FactEnded:
			if in.Lifecycle, err = v.codec.ReadFact(r.Kind, r.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// asItBegan takes from the last fact of a turn when it was woken, and what had
// reached the agent by then.
func (v *verifier) asItBegan(t *turn) error {
	if len(t.records) == 0 {
		return nil
	}
	end, err := endOf(t.records[len(t.records)-1], v.codec)
	if err != nil || end == nil {
		return err
	}
	m := v.state.Agents[t.agent]
	t.wake.Wave, t.wake.At = end.Wave, t.records[0].Time
	if t.view = v.viewBefore(end.Wave); t.view != nil && t.wake.Kind == "" {
		t.wake.Kind = machines.WorkflowBeside(v.made, t.agent, t.view, t.wake.At)
	}
	t.before = &agent.Arrived{Through: end.Through, Seen: end.Seen}
	if t.full, err = v.overflowed(t); err != nil {
		return err
	}
	if t.full = t.full || m.Overflowed(); t.full {
		v.unsure[t.agent] = true
	}
	// An interrupted turn does not say how many observations it was shown.
	blind := end.Outcome == agentfact.OutcomeInterrupted && len(m.Observations()) > 0
	t.lost = t.view == nil || v.unsure[t.agent] || blind
	return nil
}

// overflowed: a turn tells that the inbox had no room. Such turns are taken, with what the services made of
// their wave, and so are those of the agent after it until its inbox was empty once (see settled).
//
// A full inbox drops one event for another, so what is left depends on what lay in it when each event came. A
// live agent frees the inbox when its turn ends; a fold when it reads the end of the turn, a wave or more
// later, and it reads in between the events that came after the end. It cannot put them behind it: that the
// turn was over then is in no fact that it has read, and one with the number of the last event before the end
// would tell it too late, when those that must come back are dropped. To keep all events for that takes as
// much memory as events can come in a turn, of every agent, in live scenes and snapshots too. (Without a
// full inbox nothing is dropped, and the order makes no difference: such turns are decided again.)
//
// What is still checked: that the turn's facts can be read and folded, what the stage decides about them and
// about those of the services, the turns of others in the wave, and whatever comes after it.
func (v *verifier) overflowed(t *turn) (bool, error) {
	for _, r := range t.records {
		if r.Kind != agentfact.FactDropped {
			continue
		}
		f, err := v.codec.ReadFact(r.Kind, r.Data)
		if x, ok := f.(*agentfact.Dropped); err != nil || ok && x.InboxFull+x.QueueFull > 0 {
			return true, err
		}
	}
	return false, nil
}
