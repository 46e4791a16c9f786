package scenes

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/bus"
	"tavernsim/internal/metrics"
	"tavernsim/internal/until"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/seats"
	"tavernsim/scenes/shadows"
	"tavernsim/scenes/timing"
)

// agentShell is the actor of one agent, the AgentRuntime of the specification
// (§3.2). It decides nothing: the agent's machine does.
type agentShell struct {
	*scene
	machine       *agent.Machine
	passive       passiveState // the state that the machine has yet to take
	through       uint64       // wave up to which it was restored after a failure; 0 = it was not
	*deliberation              // nil = none is in flight
}

// deliberation is what a shell knows of the one in flight. Agents are many, and few
// deliberate at a time: the scene lends it, with the working memory of the machine.
type deliberation struct {
	space   *agent.Space
	pending *until.Context   // of the requests in flight; nil when there are none
	urgency *outside.Urgency // of the same requests
	urgent  bool             // it began with a critical event
	wave    uint64
	input   agent.Wake     // with which it began
	woken   protocol.Time  // scene time at which it began
	began   time.Time      // the same on the wall clock
	budget  *underBudget   // nil = there is none
	sample  *timing.Sample // nil = its stages are not measured
	to      *gatherer      // that visits the agent; nil = its turn is handed over alone
}

// borrow takes what the deliberation needs that a wake begins.
func (a *agentShell) borrow(wake *protocol.Envelope) {
	d := a.lent.Get().(*deliberation) // empty but for the space
	d.wave, d.woken, d.urgent = wake.Wave, wake.Time, wake.Priority == protocol.Critical
	a.deliberation = d
	a.machine.Lend(d.space)
}

// giveBack returns it when the deliberation has ended.
func (a *agentShell) giveBack() {
	d, space := a.deliberation, a.space
	a.machine.Release()
	*d = deliberation{} // a literal with fields would be made elsewhere and copied
	d.space, a.deliberation = space, nil
	a.lent.Put(d)
}

// Receive implements actors.Behavior.
func (a *agentShell) Receive(env *protocol.Envelope) error {
	if a.through > 0 && a.knows(env) {
		return nil
	}
	if a.passive.state != nil {
		if err := a.unpack(); err != nil { // a defect: nothing of it may become a fact
			a.stage.Tell(carrying(protocol.KindState, err))
			return nil
		}
	}
	switch env.Kind {
	case protocol.KindEvent:
		return a.hear(env)
	case protocol.KindObserve:
		return a.observe(env)
	case protocol.KindWake:
		return a.wake(env)
	case protocol.KindAnswer:
		return a.answered(env)
	case protocol.KindGrant:
		return a.granted(env)
	case protocol.KindSnapshot:
		if env.Type == seats.MayLeave {
			return a.offer(env.Wave)
		}
		if env.Type == packs {
			return a.pack(env.Wave)
		}
		if l := glance.Asks(env); l != nil {
			l.Fill(func(s *glance.Seen) (err error) {
				s.Raw, err = agent.Snapshot(a.Codec, &a.machine.State)
				return err
			})
			return nil
		}
		raw, err := agent.Snapshot(a.Codec, &a.machine.State)
		if err != nil {
			return err
		}
		return a.giveState(env.Wave, a.machine.ID.Instance, raw)
	}
	return nil
}

// hear puts an event into the inbox. In realtime an urgent event may interrupt the
// deliberation in flight, between two of its nodes. On the virtual clock no event
// arrives during a deliberation; the scene interrupts its simulated latency instead.
func (a *agentShell) hear(env *protocol.Envelope) error {
	a.machine.Hear(env)
	if env.Priority == protocol.Critical && a.deliberation != nil && a.pending != nil {
		a.outside.MakeUrgent(a.urgency)
	}
	if a.Clock == agenda.Realtime && a.machine.Interrupts(env) {
		return a.step(&agent.Cancel{Reason: "interrupted by event " + env.ID, Interrupt: true})
	}
	return nil
}

func (a *agentShell) observe(env *protocol.Envelope) error {
	switch env.Type {
	case agenda.FactInterrupted:
		a.machine.Interrupted()
		return nil
	case agenda.FactDeadLettered:
		a.machine.Missed(env)
		return nil
	}
	fact, err := a.Codec.ReadFact(env.Type, env.Body.Raw)
	if err != nil {
		return err
	}
	if told := agentfact.Undelivered(fact, a.machine.ID.Instance, a.Name); len(told) > 0 {
		for _, v := range told {
			a.machine.Observe(agent.Observation{Time: env.Time, Kind: agentfact.ObservedUndelivered, Value: v})
		}
		return nil
	}
	a.machine.Observe(machines.ObservationOf(fact, env.Time))
	return nil
}

func (a *agentShell) wake(env *protocol.Envelope) error {
	a.borrow(env)
	x, err := env.Body.Value()
	if v, ok := x.(*visit); ok {
		x, a.to, a.began = v.view, v.to, v.to.at
	} else {
		a.began = time.Now()
	}
	a.sample = a.newSample(env.Wave)
	view, ok := x.(*machines.View)
	if err != nil || !ok {
		return errors.Join(err, protocol.Errorf(protocol.KindInternal, "a wake carries a %T", x))
	}
	a.wokenUnder(view.Budget)
	a.input = machines.Wake(a.Scene, a.machine, view, env.Wave, env.Time, a.Seed, env.Type)
	a.owes(&a.input)
	err = a.step(&a.input)
	if a.deliberation != nil { // it waits
		a.to = nil
	}
	return err
}

// step gives the machine an input and carries out the effects of its decision. When
// the deliberation has ended, it sends the decision to the stage. Answers of instant
// executors do not go through the mailbox.
func (a *agentShell) step(in any) error {
	for in != nil {
		d, err := a.machine.Decide(in)
		a.sample.Lap(metrics.StageDecide)
		if err != nil {
			return err
		}
		in = nil
		for _, e := range d.Effects {
			q, ok := e.(*effect.Ask)
			if !ok {
				return protocol.Errorf(protocol.KindInternal, "agent %s: effect %s", a.machine.ID.Instance, e.EffectKind())
			}
			next := a.ask(q)
			a.sample.Lap(metrics.StageModel)
			switch {
			case next == nil:
			case in != nil: // a second instant answer goes through the mailbox
				if a.budget != nil {
					a.budget.step.Free++
				}
				later := *next // which lies in the request
				later.Settle()
				a.tellAnswer(a.machine.ID.Ordinal, a.wave, &later, a.urgent)
			default:
				in = next
			}
		}
		if len(d.Facts) > 0 {
			return a.ended(d.Facts, d.Requests)
		}
		if in == nil && len(d.Effects) > 0 && a.budget != nil {
			in = agent.Sent{}
		}
	}
	a.stepped()
	return nil
}

// ended folds the facts of the deliberation and sends them to the stage.
func (a *agentShell) ended(facts []protocol.Fact, requests []protocol.Sequenced) error {
	if a.pending != nil {
		a.pending.End(nil)
		a.pending = nil
	}
	for _, f := range facts {
		if err := a.machine.Apply(f, a.woken); err != nil {
			return err
		}
	}
	now := time.Now()
	if e := (timing.Ended{Profile: a.profiles[a.Class[a.machine.ID.Ordinal]], Took: now.Sub(a.began)}); a.to != nil {
		a.to.ended, a.to.at = append(a.to.ended, e), now
	} else {
		timing.Measure([]timing.Ended{e}, a.options.Latency)
	}
	return a.handOver(facts, requests)
}

// Stopped implements actors.Stopper: what a deliberation under way has asked for is cancelled.
func (a *agentShell) Stopped() {
	if a.deliberation != nil && a.pending != nil {
		a.pending.End(nil)
	}
}

// handOver ends the deliberation: it gives its facts and requests to the gatherer that visits the
// agent, or to the stage. After an error they have nothing of it.
func (a *agentShell) handOver(facts []protocol.Fact, requests []protocol.Sequenced) (err error) {
	o, visited := a.machine.ID.Ordinal, a.to != nil
	var to *handover
	if visited {
		to = a.to.open
	} else {
		to = a.handover(a.wave, a.woken)
	}
	from, leaves := len(to.states), a.seats.AtOnce && !a.machine.State.Ephemeral(false)
	if leaves {
		if to.states, err = agent.AppendSnapshot(a.Codec, to.states, &a.machine.State); err != nil {
			return err
		}
		if leaves = a.seats.Takes(to.states[from:]); !leaves {
			to.states = to.states[:from]
		}
	}
	if err = to.span.Ended(a.Codec, o, a.machine.ID.Instance, facts, requests); err != nil {
		return err
	}
	if leaves {
		to.left = append(to.left, parting{o, slices.Clip(to.states[from:]), a.urgency != nil || a.budget != nil})
	}
	if a.Clock == agenda.Realtime && publishesCritical(requests) {
		a.alarms.Add(1) // the stage subtracts it again and resumes the ordinary agents
		a.sup.PauseOrdinary()
		to.span.Urgent = true
	}
	if a.budget != nil && a.budget.step.Done > 0 { // earlier turns may wait for what its last answer did not take
		a.budget.step.Over = true
		a.stepped()
	}
	if err = a.turnedAhead(facts, requests); err != nil {
		return err
	}
	for _, f := range facts {
		switch x := f.(type) {
		case *agentfact.CallJudged:
			a.metrics.Judged(x.Allowed, x.By)
		case *agentfact.CallMade:
			if x.Tool == agent.NotUnderstood {
				a.metrics.Misread(x.Error)
			}
		}
	}
	s := a.sample
	if a.budget != nil && a.budget.out != nil {
		a.out.Delete(a.machine.ID.Instance)
	}
	a.giveBack()
	if !visited {
		env := carrying(protocol.KindTurn, to)
		if env.Source = a.machine.ID.Instance; to.span.Urgent {
			env.Priority = protocol.Critical
		}
		a.stage.Tell(env)
	}
	a.measureTurn(s)
	return nil
}

// turnedAhead tells the driver of shadows of the end of a turn.
func (a *agentShell) turnedAhead(facts []protocol.Fact, requests []protocol.Sequenced) (err error) {
	if a.ahead == nil {
		return nil
	}
	h := &shadows.Handed{Agent: a.machine.ID.Ordinal, At: a.woken}
	if h.Facts, h.Effects, err = a.Codec.Keep(facts, requests); err != nil {
		return err
	}
	if end, ok := facts[len(facts)-1].(*agentfact.TurnEnded); ok {
		h.End = *end
	}
	a.ahead.Turned(a.machine.State.Fork(), h)
	return nil
}

// publishesCritical reports whether a turn publishes a critical event.
func publishesCritical(requests []protocol.Sequenced) bool {
	return slices.ContainsFunc(requests, func(r protocol.Sequenced) bool {
		if r.To != bus.Service {
			return false
		}
		d, err := protocol.ReadDraft(r.Data)
		return err == nil && d.Priority == protocol.Critical
	})
}

// ask carries a request out. An instant executor answers at once; otherwise ask
// returns nil, and the answer arrives through the mailbox.
func (a *agentShell) ask(q *effect.Ask) *effect.Answered {
	q.Model.Scene, q.Model.Turn, q.Model.Number = a.ID, a.machine.State.Turn+1, int64(q.Number)
	if a.hold(q) {
		return nil
	}
	x := a.send(q)
	if x != nil {
		a.settle(x)
	} else if a.budget != nil {
		a.budget.step.Free++ // its answer comes by itself
	}
	return x
}

// send lets a request leave.
func (a *agentShell) send(q *effect.Ask) *effect.Answered {
	barred := a.barredFor(q)
	if x := a.outside.Now(q, a.Clock == agenda.Realtime, barred...); x != nil {
		return x
	}
	if a.context.Err() != nil { // the scene has stopped, and its requests are cancelled: nothing leaves that would follow
		return nil
	}
	if a.pending == nil {
		a.pending = until.Following(&a.context)
		a.urgency = outside.NewUrgency(a.urgent)
		if a.Clock == agenda.Realtime {
			a.stage.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Source: a.machine.ID.Instance}, Kind: protocol.KindWaits, Wave: a.wave})
		}
	}
	a.sent(q)
	sc, o, wave, urgency := a.scene, a.machine.ID.Ordinal, a.wave, a.urgency // not the shell: another agent may have it by then
	bound, tell := a.boundOf(q), func(x *effect.Answered) { sc.tellAnswer(o, wave, x, sc.outside.Urgent(urgency)) }
	if bound != nil && a.Clock != agenda.Realtime {
		tell = a.counted(tell)
	}
	from := outside.From{Scene: cmp.Or(a.options.Name, a.ID), Class: a.options.Class, Agent: a.machine.ID.Instance, Turn: a.machine.State.Turn + 1, At: a.woken, Rest: a.takes.Of(a.Class[a.machine.ID.Ordinal]), Urgency: urgency, Bound: bound, Barred: barred, Virtual: a.Clock != agenda.Realtime}
	a.outside.Go(a.pending, from, q, tell)
	return nil
}

// tellAnswer sends an answer to an agent's mailbox. It carries the wave of the
// deliberation that asked, because every deliberation numbers its requests from 1.
// An urgent deliberation continues before others that have their answers, too.
func (s *scene) tellAnswer(o uint32, wave uint64, x *effect.Answered, urgent bool) {
	env := carrying(protocol.KindAnswer, x)
	env.Wave = wave
	if urgent {
		env.Priority = protocol.Critical
	}
	s.seats.TellSeated(o, env)
}

func (a *agentShell) answered(env *protocol.Envelope) error {
	if a.deliberation == nil || env.Wave != a.wave {
		return nil // the deliberation that asked has ended or failed
	}
	a.sample.Lap(metrics.StageModel)
	x, err := carried[*effect.Answered](env)
	if err != nil {
		return err
	}
	a.settle(x)
	return a.step(x)
}

// revive makes a new behaviour for a failed actor, from the journal.
func (s *scene) revive(kind uint8, id uint32) (actors.Behavior, error) {
	if kind == kindAgent {
		return s.restoreAgent(id)
	}
	return s.reviveService(int(id))
}
