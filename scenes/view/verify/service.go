package verify

import (
	"slices"
	"sync"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
)

// service has a service decide about the requests of the wave, or takes its facts
// where they cannot be decided again.
func (v *verifier) service(e machines.Effect) error {
	v.asked = nil
	kind, service := machines.Services()[e.Service], v.state.Services[e.Service]
	actor := kind.Actor()
	failed, err := v.failures(actor)
	if err != nil {
		return err
	}
	if n := v.failed[actor]; n < len(failed) {
		v.failed[actor]++
		return v.decide(&machines.ActorFailed{Actor: actor, Error: failed[n].Error, Stack: failed[n].Stack})
	}
	in := &machines.ServiceAnswered{}
	switch {
	case v.lost:
		err = v.takeService(in, actor, TakenLost)
	case kind.Middleware && v.opt.NoMiddleware:
		err = v.takeService(in, actor, TakenMiddleware)
	default:
		if t, ok := service.(*machines.Tasks); ok {
			err = v.tellTasks(t, e.At)
		}
		if err == nil {
			err = v.decideService(in, service, e)
		}
	}
	if err != nil {
		return err
	}
	in.View = v.state.Shown()
	err = v.decide(in)
	v.taken = ""
	return err
}

// tellTasks tells the service of tasks what came from outside of it, as the history says:
// answers, and how long tasks take.
func (v *verifier) tellTasks(t *machines.Tasks, at protocol.Time) error {
	unsaid := sync.OnceValue(v.unsaid) // it looks at every agent
	for i := 0; ; i++ {
		r, ok := v.peek(i)
		if !ok || r.Actor != machines.ActorTasks {
			return nil
		}
		f, err := v.codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		switch x := f.(type) {
		case *tooltask.Opened:
			t.Tell(x.Task.ID, tooltask.Told{After: x.Task.Due.Sub(at), Timed: true})
		case *tooltask.Ended:
			next, _ := v.peek(i + 1)
			a := &tooltask.Answer{Output: x.Output, Artifacts: x.Artifacts, Latency: x.Latency, ErrorKind: x.ErrorKind, Error: x.Error, Carried: next.Kind != tooltask.FactUncharged, Hooks: x.Hooks}
			t.Tell(x.ID, tooltask.Told{Answer: a, NoRoom: budget.RefusedTool(x.ErrorKind, x.Error) && unsaid()})
		}
	}
}

// unsaid reports whether calls may count in budgets that no fact says yet: of turns under way on the realtime clock; on the virtual
// clock of those that have failed, and, where somebody outside opened the wave, of those that a kill cut off. An agent that has no tool but
// those within the program makes none.
func (v *verifier) unsaid() bool {
	may := v.made.Clock == agenda.Realtime || v.isGiven(agenda.FactPaused) || v.isGiven(agenda.FactResumed) || v.isGiven(agenda.FactEnded) || v.isGiven(agenda.FactIntervened)
	for o := uint32(0); !may && int(o) < v.made.Len(); o++ {
		may = v.state.Agenda.Failing(o) && slices.ContainsFunc(v.made.AgentDefinition(o).Tools, v.made.IsExternal)
	}
	return may
}

// decideService fails if the host's middleware panics, which is no code of the program.
func (v *verifier) decideService(in *machines.ServiceAnswered, service machines.Service, e machines.Effect) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *delivery.Panic:
			err = protocol.Errorf(protocol.KindInvalid, "scene %s, wave %d: %w; repair it, or leave the chain out: the channel's facts are taken as they are then", v.made.ID, v.wave, p)
		default:
			panic(p)
		}
	}()
	if o, ok := service.(machines.Observer); ok && v.made.Space != nil {
		o.Look(v.state.Shown())
	}
	requests, err := packed.Read(e.Data)
	if err != nil {
		return err
	}
	return service.Decide(requests, e.At, func(facts []protocol.Fact, _ bool) error {
		for _, f := range facts {
			raw, err := v.codec.Marshal(f)
			if err != nil {
				return err
			}
			in.Facts = append(in.Facts, protocol.KindData{Kind: f.FactKind(), Data: raw})
		}
		return nil
	})
}

// takeService takes the recorded facts of a service. What the stage makes of them
// comes in between.
func (v *verifier) takeService(in *machines.ServiceAnswered, actor, reason string) error {
	v.taken = reason
	for i := 0; ; i++ {
		r, ok := v.peek(i)
		if !ok || r.Actor != actor && r.Kind != agenda.FactBlocked {
			return nil
		}
		if r.Actor != actor {
			continue
		}
		f, err := v.codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		if err := v.state.ApplyServices(f); err != nil {
			return err
		}
		in.Facts = append(in.Facts, protocol.KindData{Kind: r.Kind, Data: r.Data})
	}
}
