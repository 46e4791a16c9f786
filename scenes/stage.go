package scenes

import (
	"context"
	"slices"
	"sync"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/schedule/chain"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/spending"
	"tavernsim/scenes/series"
	"tavernsim/scenes/shadows"
	"tavernsim/scenes/timing"
)

// stage is the scene's own actor. It has no rules: it turns an envelope into an input
// of its machine, and carries out the machine's effects in their order.
//
// It blocks its worker only for the journal: when the disk is too far behind, Append
// and CloseWaveLater wait. That is the backpressure.
type stage struct {
	*scene
	machine *machines.Stage
	self    *actors.Ref

	clock            func() time.Time
	setBack          time.Duration // by which the wall clock is behind the time of the scene
	tick, tickBeside *time.Timer
	gatherers        []*actors.Ref        // virtual clock
	errands          int                  // that they were given
	wakes            *protocol.Envelope   // shared by the agents of a wave; virtual clock
	wakesUnder       *spending.WakeBudget // of them
	gathering        gathering
	others           []shadows.Kept // facts of the open wave that are no turn, for the driver of shadows

	gate     waveGate
	paths    *chain.Paths // which calls of models the scene waited for; nil = it does not wait
	progress *Progress
	series   *series.Series
	measured measured
	doing    *timing.Doing
	report   func(Outcome)
	rests    chan struct{}   // gets one element each time the scene comes to rest
	over     context.Context // ends when the scene has stopped, or failed
	end      func()          // ends it
}

// keptWave is the journal's answer in the mailbox of the stage.
type keptWave struct {
	wave uint64
	err  error
}

// Receive implements actors.Behavior.
func (st *stage) Receive(env *protocol.Envelope) error {
	began, ends := st.options.Serial.Began(), st.options.Serial.Turn
	if env.Kind == protocol.KindDecided && st.measured.phase != metrics.PhaseTurns { // else agents deliberate
		ends = st.options.Serial.Service
	}
	defer func() { ends(began) }()
	in, err := st.input(env)
	if o, ok := in.(*machines.Order); ok && st.options.Links != nil {
		st.options.Links.Seen(o.ID)
	}
	if err == nil && in != nil {
		err = st.decide(in)
	}
	if err != nil && st.journal.Err() != nil {
		err = st.decide(&machines.DiskFailed{Err: &DiskFailure{Scene: st.ID, Cause: st.journal.Err()}})
	}
	if st.machine.UrgentUnderWay(st.moment()) {
		st.sup.PauseOrdinary()
	} else {
		st.sup.ResumeOrdinary()
	}
	return err
}

// now is the time of the realtime clock: that of the wall clock, and later by as much as the wall clock was set back, also
// while the scene was stopped. Mailboxes use the same time until the next call.
func (st *stage) now() protocol.Time {
	t := protocol.TimeOf(st.clock())
	st.setBack = max(st.setBack, st.seen().Sub(t))
	t = t.Add(st.setBack)
	st.latest.Store(int64(t))
	return t
}

// moment reads the clock and the alarms; on the virtual clock it is empty.
func (st *stage) moment() (m machines.Moment) {
	if st.Clock == agenda.Realtime {
		m.Time, m.Alarms = st.now(), int(st.alarms.Load())
	}
	return m
}

// input turns an envelope into an input; nil = the machine has none.
func (st *stage) input(env *protocol.Envelope) (machines.Input, error) {
	switch env.Kind {
	case protocol.KindTurn:
		h, err := carried[*handover](env)
		if err != nil {
			return nil, err
		}
		for _, x := range h.left {
			st.seats.Vacate(x.agent, x.state, false)
		}
		if h.span.Urgent {
			st.alarms.Add(-1)
		}
		return &machines.TurnsEnded{Span: h.span}, nil
	case protocol.KindDecided:
		return carried[machines.Input](env)
	case protocol.KindFailed:
		f, err := carried[*actors.Failure](env)
		if err != nil {
			return nil, err
		}
		if o, ok := st.Ordinal(env.Source); ok && st.seats.Ref(o) != f.Of {
			return nil, nil // of an agent that has left; another may sit there by now
		}
		if st.Budgets != nil && st.Clock != agenda.Realtime {
			if out, is := st.out.LoadAndDelete(env.Source); is {
				again := carrying(protocol.KindFailed, f)
				again.Source = env.Source
				go func() {
					out.(*sync.WaitGroup).Wait()
					st.stage.Tell(again)
				}()
				return nil, nil
			}
			st.resumes(st.machine.Spending, env.Source) // before the machine decides: the same wave may remove the agent, or be the last
		}
		return &machines.ActorFailed{Actor: env.Source, Error: f.Error(), Stack: f.Stack}, nil
	case protocol.KindWaits:
		o, ok := st.Ordinal(env.Source)
		if !ok {
			return nil, protocol.Errorf(protocol.KindInternal, "scene %s: %q waits, which is no agent of it", st.ID, env.Source)
		}
		return &machines.Waits{Agent: o, Wave: env.Wave}, nil
	case protocol.KindStep:
		return carried[*machines.TurnStep](env)
	case protocol.KindControl:
		if l := glance.Asks(env); l != nil {
			st.gate.looks.Add(l)
			st.look(&st.gate.looks)
			return &machines.Gate{On: st.gated()}, nil
		}
		if env.Type == "" {
			if in, is, err := st.controlled(env); is || err != nil {
				return in, err
			}
			return carried[machines.Input](env)
		}
		switch do := machines.Do(env.Type); do {
		case doAsk:
			return &machines.Gate{On: st.gated()}, nil
		case doStart:
			return &machines.Begin{Crashes: st.crashes()}, nil
		case agenda.StoppedByRequest, agenda.StoppedByInterrupt, agenda.StoppedByWallTime:
			return &machines.Control{Do: machines.DoStop, Reason: env.Type}, nil
		default:
			return &machines.Control{Do: do}, nil
		}
	case protocol.KindTick:
		return &machines.Tick{}, nil
	case protocol.KindState:
		return st.stateGiven(env)
	case protocol.KindSnapshot:
		return &machines.SnapshotWritten{}, nil
	case protocol.KindAnswer:
		return st.journalAnswered(env)
	}
	return nil, protocol.Errorf(protocol.KindInternal, "scene %s: unexpected %s", st.ID, env.Kind)
}

// crashes are the failures of the scene before restarts, as facts.
func (st *stage) crashes() (facts []protocol.Fact) {
	for i, c := range st.options.Crashes {
		facts = append(facts, &agenda.ActorFailed{Actor: setup.ActorScene, Error: c.Text, Stack: c.Stack, Failures: int64(i + 1)})
	}
	return facts
}

// journalAnswered reads the journal's answer: a wave is durable, or the disk failed.
func (st *stage) journalAnswered(env *protocol.Envelope) (machines.Input, error) {
	kept, err := carried[keptWave](env)
	if err != nil {
		return nil, err
	}
	if kept.err != nil {
		return &machines.DiskFailed{Err: &DiskFailure{Scene: st.ID, Cause: kept.err}}, nil
	}
	st.outside.Log.Kept(kept.wave)
	st.tasks.kept(kept.wave)
	st.orders.WaveKept(kept.wave)
	if st.options.Links != nil {
		st.options.Links.WaveKept(kept.wave)
	}
	st.stands()
	durable := st.journal.Durable()
	st.progress.Bytes.Store(int64(durable.Total))
	return &machines.Kept{Wave: kept.wave, Bytes: durable.Total}, nil
}

// tellKept sends the journal's answer to the stage. Any goroutine may call it.
func (s *scene) tellKept(k keptWave) {
	s.stage.Tell(carrying(protocol.KindAnswer, k))
}

// decide gives the machine an input and carries out its effects.
func (st *stage) decide(in machines.Input) error {
	if letters := st.dead.Take(); len(letters) > 0 {
		if _, err := st.machine.Decide(st.moment(), &machines.DeadLetters{Letters: letters}); err != nil {
			return err
		}
	}
	effects, err := st.machine.Decide(st.moment(), in)
	if err != nil {
		return err
	}
	for i := range effects {
		if err := st.carryOut(&effects[i]); err != nil {
			return err
		}
	}
	if st.machine.Ends() {
		st.orders.End()
	}
	st.look(&st.gate.looks)
	return nil
}

func (st *stage) carryOut(e *machines.Effect) error {
	if st.measured.began.IsZero() {
		st.measured.began = time.Now()
	}
	switch e.Act {
	case machines.ActKeep:
		if _, err := st.journal.Append(e.At, e.Actor, e.Kind, e.Data); err != nil {
			return err
		}
		st.kept(e)
		if f, is := e.Fact.(*agenda.AgentFailed); is {
			st.failed.Store(f.Agent, e.Wave)
		}
		if st.options.Links != nil {
			st.options.Links.Kept(e.Wave, e.Fact)
		}
		if st.gate.state.Watches() {
			st.gate.state.Saw(e.Kind, e.Actor)
		}
		if st.ahead != nil {
			return st.keepAhead(e)
		}
	case machines.ActKeepSpan:
		return st.keepSpan(e)
	case machines.ActClose:
		return st.close(e)
	case machines.ActWake:
		st.wake(e)
	case machines.ActAsk:
		if !e.More { // else agents deliberate
			st.measurePhase(machines.Services()[e.Service].Name)
		}
		env := &protocol.Envelope{EventHeader: protocol.EventHeader{Time: e.At}, Kind: protocol.KindCommit, Scene: st.ID, Wave: e.Wave, Body: protocol.NewBody(e.Data)}
		env.Place = uint32(e.Place)
		if env.Body.SetValue(st.machine.View); e.More {
			env.Type = early
		}
		st.services[e.Service].Tell(env)
	case machines.ActTell:
		st.seats.Tell(e.Agent, &protocol.Envelope{EventHeader: protocol.EventHeader{Type: e.Kind, Time: e.At}, Kind: protocol.KindObserve, Wave: e.Wave, Body: protocol.NewBody(e.Data)})
	case machines.ActRestart:
		st.system.Restart(st.seats.Ref(e.Agent))
	case machines.ActPack:
		st.seats.Tell(e.Agent, &protocol.Envelope{EventHeader: protocol.EventHeader{Type: packs}, Kind: protocol.KindSnapshot, Wave: e.Wave})
	case machines.ActStart:
		return st.comes(e)
	case machines.ActStop:
		st.seats.Leave(e.Agent)
		st.doing.Become(e.Agent, metrics.AgentAway)
	case machines.ActRestartService:
		st.system.Restart(st.services[e.Service])
	case machines.ActServiceFailed:
		st.measureServiceFailed(e)
	case machines.ActGather:
		st.gather(e.Wave)
	case machines.ActDropSnapshot:
		st.log.Warn("no snapshot: an actor failed meanwhile; the journal alone can restore the run", "scene", st.ID, "actor", e.Actor)
		st.gathering.drop()
	case machines.ActTick:
		st.tickAt(&st.tick, e.At)
	case machines.ActTickBeside:
		st.tickAt(&st.tickBeside, e.At)
	case machines.ActRest:
		st.metrics.Became(metrics.ScenePaused)
		select {
		case st.rests <- struct{}{}:
		default: // nobody has read the last report; it is still true
		}
	case machines.ActGoOn:
		st.metrics.Became(metrics.SceneRunning)
		select {
		case <-st.rests: // drop a report that nobody has read
		default:
		}
	case machines.ActWarn:
		st.log.Warn(e.Err.Error(), "scene", st.ID)
	case machines.ActGrant:
		env := &protocol.Envelope{Kind: protocol.KindGrant, Scene: st.ID, Wave: e.Grant.Wave}
		env.Body.SetValue(e.Grant)
		st.seats.Tell(e.Agent, env)
	case machines.ActGate:
		st.atGate(e)
	case machines.ActFinish:
		st.finish()
	}
	return nil
}

// close closes a wave in the journal. A goroutine of the journal reports when the wave
// is durable.
func (st *stage) close(e *machines.Effect) error {
	st.measurePhase(metrics.PhaseKeep)
	if e.Data != nil {
		st.journal.Note(e.Data)
	}
	if st.ahead != nil { // before the journal, which may have the stage wait
		st.closeAhead(e)
	}
	number := e.Wave // effects do not outlive the input
	if _, err := st.journal.CloseWaveLater(func(_ persistence.Wave, err error) { st.tellKept(keptWave{number, err}) }); err != nil {
		return err
	}
	st.measureClosed(e)
	st.shown.Store(st.machine.View)
	st.progress.wave(st)
	st.publishBudgets()
	st.seats.Close(e.At, number)
	st.series.Sample(st.machine.View.World(), e.At.Sub(st.machine.Agenda.Begun()).Seconds())
	return nil
}

// wakeEnvelope is shared by every agent of a wave on the virtual clock.
func (st *stage) wakeEnvelope(e *machines.Effect) *protocol.Envelope {
	if env := st.wakes; env != nil && env.Wave == e.Wave && st.Clock == agenda.Virtual && st.wakesUnder == e.Budget {
		return env
	}
	env := &protocol.Envelope{EventHeader: protocol.EventHeader{Type: e.Kind, Time: e.At, Priority: e.Priority}, Kind: protocol.KindWake, Scene: st.ID, Wave: e.Wave}
	view := st.machine.View
	if e.Budget != nil {
		under := *view
		under.Budget = e.Budget
		view = &under
	}
	env.Body.SetValue(view)
	st.wakes, st.wakesUnder = env, e.Budget
	return env
}

// tickAt sets a timer that sends the machine a Tick.
func (st *stage) tickAt(timer **time.Timer, at protocol.Time) {
	wait := max(0, at.Sub(st.seen()))
	if *timer != nil {
		(*timer).Reset(wait)
		return
	}
	self := st.self
	*timer = time.AfterFunc(wait, func() { self.Tell(&protocol.Envelope{Kind: protocol.KindTick}) })
}

func (st *stage) finish() {
	for _, t := range slices.DeleteFunc([]*time.Timer{st.tick, st.tickBeside, st.gate.timer}, func(t *time.Timer) bool { return t == nil }) {
		t.Stop()
	}
	o := st.machine.Outcome()
	if st.options.Links != nil {
		st.options.Links.Stopped(o.Final && o.Err == nil, &st.machine.Travel)
	}
	switch {
	case o.Err != nil:
		st.metrics.Became(metrics.SceneFailed)
	case o.Final:
		st.metrics.Became(metrics.SceneEnded)
		if n := len(st.machine.Waiting.Unreached()); n > 0 {
			st.log.Warn("the scene ended before orders that it had; they change nothing", "scene", st.ID, "orders", n, "first", st.machine.Waiting.Unreached()[0].ID)
		}
	default:
		st.metrics.Became(metrics.SceneInterrupted)
	}
	if st.journal.Err() != nil {
		st.metrics.JournalFailed()
	}
	st.report(Outcome{Outcome: o, Wave: st.journal.Durable(), State: st.machine.StageState})
}
