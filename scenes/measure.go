package scenes

import (
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/order"
	"tavernsim/engine/schedule/chain"
	"tavernsim/engine/travel"
	"tavernsim/engine/worldstate"
	"tavernsim/internal/metrics"
	"tavernsim/llm/gate"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/tally"
	"tavernsim/scenes/timing"
)

// Kinds of the actors of a scene; the actor system counts waiting messages by kind.
// The kinds of services follow, in the order of [machines.Services].
const (
	kindAgent uint8 = iota
	kindScene
	kindServices
)

func kindOf(service int) uint8 { return kindServices + uint8(service) }

// Mailboxes counts the messages in the mailboxes of a system that runs scenes.
func Mailboxes(s *actors.System) metrics.MailboxSource { return mailboxes{s} }

type mailboxes struct{ system *actors.System }

// kindNames are the names of the kinds in metrics.
func kindNames() (names [actors.MaxKinds]string) {
	names[kindAgent], names[kindScene] = metrics.KindAgent, metrics.KindScene
	for i, k := range machines.Services() {
		names[kindOf(i)] = k.Name
	}
	return names
}

// MailboxDepths implements metrics.MailboxSource.
func (m mailboxes) MailboxDepths(yield func(kind, lane string, n int)) {
	names := kindNames()
	m.system.Depths(func(kind uint8, l delivery.Lane, n int) { yield(names[kind], l.String(), n) })
}

// Sources are the values that a scrape reads from the scene. Register them after
// Start has returned, and remove them before the journal is closed. [Mailboxes]
// covers the whole system.
func (r *Run) Sources() metrics.Sources {
	return metrics.Sources{Agents: r.stage.doing.Table, Seats: r, Models: r.scene, Budgets: r.scene, Tasks: r.scene.tasks, People: r.scene.tasks, World: r.scene, Journal: r.scene.journal}
}

// declare gives the metrics the names in the project's files.
func (s *scene) declare() {
	d := s.Declared()
	d.Provider, d.Facts = s.model.Name(), s.Codec.FactKinds()
	for _, k := range machines.Services() {
		d.Services = append(d.Services, k.Name)
	}
	s.metrics.Declare(d)
	s.profiles = make([]*metrics.Profile, len(s.Definitions))
	for c, def := range s.Definitions {
		if def.Profile != setup.ActorScene {
			s.profiles[c] = s.metrics.Profile(def.Profile)
		}
	}
}

// ModelGates implements metrics.ModelSource.
func (s *scene) ModelGates() []*gate.Gate { return s.outside.Gates(effect.KindModel) }

// WideBudgets implements metrics.BudgetSource, as of the last wave.
func (s *scene) WideBudgets() []budget.Line {
	if lines := s.budgets.Load(); lines != nil {
		return *lines
	}
	return nil
}

func (st *stage) publishBudgets() {
	if lines := st.machine.Spending.Wide(st.machine.Agenda.Now); lines != nil {
		st.budgets.Store(&lines)
	}
}

// WorldBytes implements metrics.WorldSource.
func (s *scene) WorldBytes() int { return s.shown.Load().World().Size() }

// measured divides the time of the open wave into phases.
type measured struct {
	began  time.Time     // of its first effect; zero = there was none
	lapped time.Duration // end of the last phase, since began
	phase  string
	order  string // kind of the order that the wave carries out; "" = it is none, or was refused
}

// lap is the wall time since the last lap, or since the wave began.
func (m *measured) lap() time.Duration {
	at := time.Since(m.began)
	d := at - m.lapped
	m.lapped = at
	return d
}

// kept counts a fact of the live scene, and tells the log of effects which turns it
// cuts off. A fold does not call it, so it changes no metric.
func (st *stage) kept(e *machines.Effect) {
	st.metrics.Fact(e.Kind, 1)
	st.saw(e)
}

// keptSpan is kept for the facts of ended turns.
func (st *stage) keptSpan(e *machines.Effect) {
	x := e.Span
	for _, k := range x.Kinds {
		st.metrics.Fact(k.Name, k.N)
	}
	for _, c := range x.Calls {
		st.metrics.Called(c.Name, string(c.Status), c.N)
	}
	for i := range x.Turns {
		t := &x.Turns[i]
		actor := st.Name(t.Agent)
		for _, f := range t.Others {
			st.saw(&machines.Effect{Wave: e.Wave, At: e.At, Actor: actor, Kind: f.Kind, Fact: f.Fact})
		}
		took := st.outside.Log.Ended(actor, t.End.Turn, e.Wave)
		if st.paths != nil {
			st.takes.Took(st.Class[t.Agent], took.Took)
			st.paths.Add(chain.Turn{Agent: t.Agent, Class: int(st.Class[t.Agent]), Wave: e.Wave, At: int64(e.At), Times: took})
		}
		st.measureTurn(t.Agent, &t.End)
	}
}

// saw counts a decoded fact, and tells the log of effects of it.
func (st *stage) saw(e *machines.Effect) {
	st.cutOff(e)
	m := st.metrics
	switch x := e.Fact.(type) {
	case nil: // it was not decoded
	case *agenda.Intervened:
		st.orders.Kept(e.Wave, x)
		if x.By != travel.By {
			st.measured.order = order.Kind(x.Do)
		}
	case *agenda.OrderRefused:
		st.orders.Kept(e.Wave, x)
		m.Ordered(st.measured.order, metrics.OrderRefused)
		st.measured.order = ""
	case *agenda.AgentFailed:
		st.measureFailure(x.Agent, x.WakeAt == 0)
	case *agentfact.Reflected:
		if o, ok := st.Ordinal(e.Actor); ok && st.profiles[st.Class[o]] != nil {
			st.profiles[st.Class[o]].Reflected(x.Error == "")
		}
	default:
		m.Kept(x)
	}
}

// measureTurn counts a merged turn, unless it is of the scene's own workflows.
func (st *stage) measureTurn(o uint32, end *agentfact.TurnEnded) {
	if !tally.Deliberates(st, o) {
		return
	}
	st.profiles[st.Class[o]].Deliberated(string(end.Outcome))
	st.metrics.Lost("expired", end.Expired)
	st.metrics.Lost("inbox_full", end.Dropped)
	st.metrics.Lost("restart", end.Lost)
	if end.Asleep || end.SleepUntil != 0 {
		st.doing.Become(o, metrics.AgentAsleep)
	} else {
		st.doing.Become(o, metrics.AgentIdle)
	}
	if metrics.Sampled(uint64(o) + end.Wave) {
		if waited, ok := st.marks.Since(o); ok {
			st.metrics.Stage(metrics.StageMerge, waited)
		}
	}
}

// measureFailure counts a failure of an agent's actor.
func (st *stage) measureFailure(o uint32, givenUp bool) {
	switch {
	case tally.Deliberates(st, o):
		st.profiles[st.Class[o]].Failed(givenUp)
	case givenUp:
		st.metrics.ActorGivenUp(setup.ActorScene)
	default:
		st.metrics.ActorFailed(setup.ActorScene)
	}
	if givenUp {
		st.doing.Become(o, metrics.AgentGivenUp)
	} else {
		st.doing.Become(o, metrics.AgentRestarting)
	}
}

// measureServiceFailed counts a failure of a service.
func (st *stage) measureServiceFailed(e *machines.Effect) {
	if e.GivenUp {
		st.metrics.ActorGivenUp(e.Actor)
	} else {
		st.metrics.ActorFailed(e.Actor)
	}
}

// measureWake records that the stage wakes an agent.
func (st *stage) measureWake(o uint32, wave uint64) {
	st.doing.Become(o, metrics.AgentDeliberating)
	st.mark(o, wave)
}

// mark begins the time until an agent is woken, if it is measured in this wave.
func (st *stage) mark(o uint32, wave uint64) {
	if metrics.Sampled(uint64(o) + wave) {
		st.marks.Set(o)
	}
}

// measurePhase measures the phase that ends because the next begins.
func (st *stage) measurePhase(next string) {
	st.metrics.Phase(st.measured.phase, st.measured.lap())
	st.measured.phase = next
}

// measureClosed measures the wave that was just handed to the journal.
func (st *stage) measureClosed(e *machines.Effect) {
	m := &st.measured
	st.metrics.Phase(metrics.PhaseKeep, m.lap())
	st.metrics.WaveClosed(m.lapped, e.At)
	if m.order != "" {
		st.metrics.Ordered(m.order, metrics.OrderDone)
	}
	*m = measured{phase: metrics.PhaseTurns}
	if st.Blocks {
		st.metrics.PublishersWait(st.machine.Agenda.Waiting())
	}
}

// measureService measures a decision of a service.
func (s *serviceShell) measureService(took time.Duration) {
	if s.kind.Name == worldstate.Service {
		s.metrics.WorldTook(took)
	}
}

// newSample makes the sample of an agent that was just woken, if it is measured in
// this wave.
func (a *agentShell) newSample(wave uint64) *timing.Sample {
	o := a.machine.ID.Ordinal
	if !metrics.Sampled(uint64(o)+wave) || int(o) >= a.Size() {
		return nil
	}
	if waited, ok := a.marks.Since(o); ok {
		a.metrics.Stage(metrics.StageQueue, waited)
	}
	return &timing.Sample{Last: a.began}
}

// measureTurn adds the sample of a turn that was handed over to the metrics.
func (a *agentShell) measureTurn(s *timing.Sample) {
	if s == nil {
		return
	}
	s.Lap(metrics.StageApply)
	a.marks.Set(a.machine.ID.Ordinal)
	a.metrics.Stage(metrics.StageDecide, s.Decide)
	a.metrics.Stage(metrics.StageApply, s.Apply)
	if s.Model > 0 {
		a.metrics.Stage(metrics.StageModel, s.Model)
	}
}
