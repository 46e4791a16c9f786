package scenes

import (
	"sync/atomic"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/schedule/chain"
	"tavernsim/engine/space"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/internal/metrics"
	"tavernsim/llm/gate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
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
	return metrics.Sources{Agents: r.stage.doing.table, Seats: r, Models: r.scene, Budgets: r.scene, Tasks: r.scene.tasks, World: r.scene, Journal: r.scene.journal}
}

// declare gives the metrics the names in the project's files.
func (s *scene) declare() {
	d := s.Declared()
	d.Provider = s.model.Name()
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
	if lines := st.machine.WideBudgets(); lines != nil {
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
}

// lap is the wall time since the last lap, or since the wave began.
func (m *measured) lap() time.Duration {
	at := time.Since(m.began)
	d := at - m.lapped
	m.lapped = at
	return d
}

// kept counts a fact of the live scene, and reports ends of turns to the log of
// effects. A fold does not call it, so it changes no metric.
func (st *stage) kept(e *machines.Effect) {
	m := st.metrics
	m.Fact(e.Kind)
	switch x := e.Fact.(type) {
	case *machines.CallSeen:
		m.Called(x.Tool, string(x.Status))
	case *agentfact.TurnEnded:
		took := st.outside.Log.Ended(e.Actor, x.Turn, e.Wave)
		if st.paths != nil {
			st.takes.took(st.Class[x.Agent], took)
			st.paths.Add(chain.Turn{Agent: x.Agent, Class: int(st.Class[x.Agent]), Wave: e.Wave, At: int64(e.At), Took: took})
		}
		st.measureTurn(x.Agent, x)
	case *agenda.Intervened, *agenda.OrderRefused:
		st.orders.Kept(e.Wave, e.Fact)
	case *tooltask.Ended:
		st.outside.Log.Ended(logged(x.ID), 1, e.Wave)
	case *tooltask.Cancelled:
		st.outside.Log.Ended(logged(x.ID), 1, e.Wave)
	case *agenda.AgentFailed:
		st.measureFailure(x.Agent, x.WakeAt == 0)
		if x.WakeAt == 0 {
			st.outside.Log.GivenUp(st.Name(x.Agent), e.Wave)
		}
	case *agentfact.Reflected:
		if o, ok := st.Ordinal(e.Actor); ok && st.profiles[st.Class[o]] != nil {
			st.profiles[st.Class[o]].Reflected(x.Error == "")
		}
	case *bus.Routed:
		st.measureRouted(x)
		for i := range x.Marks {
			if x.Marks[i].Action == bus.LoopDrop {
				m.Dropped(string(x.Marks[i].Reason.Class()))
			}
		}
	case *bus.Refused:
		m.Dropped(string(x.Reason))
	case *agenda.Blocked:
		m.Blocked()
	case *agentfact.Dropped:
		st.measureLost(string(agentfact.DropQueueFull), x.QueueFull)
	case *agentfact.Unacknowledged:
		m.Dropped(string(x.Reason))
	case *world.Committed, *statecmd.Committed:
		st.measureWorld(x)
	case *world.Refused:
		m.WorldRefused(string(x.Op), string(x.Code))
	case space.Fact:
		m.Moved(x)
	default:
		st.measureKnowledge(x)
	}
}

func (st *stage) measureWorld(f protocol.Fact) {
	if c, ok := worldstate.CommitOf(f); ok {
		st.metrics.WorldCommitted()
		for i := range c.Changes {
			st.metrics.WorldApplied(string(c.Changes[i].Op))
		}
	}
	b, ok := f.(*statecmd.Committed)
	for i := 0; ok && b.Request != "" && i < len(b.Audit); i++ {
		if a := &b.Audit[i]; a.Status == statecmd.Rejected {
			st.metrics.WorldRefused(string(a.Action), string(a.Code))
		}
	}
}

// measureRouted counts an event, or the release of a held one.
func (st *stage) measureRouted(f *bus.Routed) {
	if f.Released == 0 {
		st.metrics.Published(f.Type, metrics.SourceOf(f.Source), f.Receivers.Len())
	} else {
		st.metrics.Released(f.Type, f.Receivers.Len())
	}
	for i := range f.Held {
		st.metrics.Held(string(f.Held[i].Reason), f.Held[i].Receivers.Len())
	}
}

func (st *stage) measureKnowledge(f protocol.Fact) {
	switch x := f.(type) {
	case *knowledge.Written:
		st.metrics.KnowledgeWritten(x.KB, "written")
	case *knowledge.Suggested:
		st.metrics.KnowledgeWritten(x.KB, "suggested")
	case *knowledge.Reviewed:
		st.metrics.KnowledgeWritten(x.KB, "reviewed")
	case *knowledge.Refused:
		st.metrics.KnowledgeWritten(x.KB, "refused")
	}
}

// measureTurn counts a merged turn, unless it is of the scene's own workflows.
func (st *stage) measureTurn(o uint32, end *agentfact.TurnEnded) {
	if !machines.Deliberates(st, o) {
		return
	}
	st.profiles[st.Class[o]].Deliberated(string(end.Outcome))
	st.measureLost("expired", end.Expired)
	st.measureLost("inbox_full", end.Dropped)
	st.measureLost("restart", end.Lost)
	if end.Asleep || end.SleepUntil != 0 {
		st.doing.become(o, metrics.AgentAsleep)
	} else {
		st.doing.become(o, metrics.AgentIdle)
	}
	if metrics.Sampled(uint64(o) + end.Wave) {
		if waited, ok := st.marks.since(o); ok {
			st.metrics.Stage(metrics.StageMerge, waited)
		}
	}
}

// measureLost counts deliveries that reached an agent's inbox and were not perceived.
func (st *stage) measureLost(reason string, n int64) {
	for range n {
		st.metrics.Dropped(reason)
	}
}

// measureFailure counts a failure of an agent's actor.
func (st *stage) measureFailure(o uint32, givenUp bool) {
	switch {
	case machines.Deliberates(st, o):
		st.profiles[st.Class[o]].Failed(givenUp)
	case givenUp:
		st.metrics.ActorGivenUp(setup.ActorScene)
	default:
		st.metrics.ActorFailed(setup.ActorScene)
	}
	if givenUp {
		st.doing.become(o, metrics.AgentGivenUp)
	} else {
		st.doing.become(o, metrics.AgentRestarting)
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
	st.doing.become(o, metrics.AgentDeliberating)
	if metrics.Sampled(uint64(o) + wave) {
		st.marks.set(o)
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

// doing is the current state of every agent, for simd_agents. Only the stage changes
// it; any goroutine may read the table.
type doing struct {
	table *metrics.AgentTable
	class []uint16
	state []metrics.AgentState // by ordinal, without the scene's own agent
}

// newDoing takes the agents as the journal left them. A sleeping agent counts as idle
// until it has deliberated again.
func newDoing(sc *scene, first func(uint32) metrics.AgentState) *doing {
	profiles := make([]string, sc.Class[sc.OwnOrdinal()])
	for c := range profiles {
		profiles[c] = sc.Definitions[c].Profile
	}
	d := &doing{table: metrics.NewAgentTable(profiles), class: sc.Class, state: make([]metrics.AgentState, sc.Size())}
	for o := range d.state {
		d.state[o] = first(uint32(o))
		d.table.Add(int(d.class[o]), d.state[o], 1)
	}
	return d
}

func (d *doing) become(o uint32, to metrics.AgentState) {
	if int(o) < len(d.state) {
		d.table.Move(int(d.class[o]), d.state[o], to, 1)
		d.state[o] = to
	}
}

// marks hold when an agent whose stages are measured was woken, and then when it
// ended its turn. One agent in 16 is measured in a wave, so 16 neighbours share a
// place. On the realtime clock waves overlap; the later agent takes the place, and
// the other is not measured.
type marks struct {
	began time.Time
	at    []atomic.Int64 // nanoseconds since began; the lowest bits are those of the ordinal
}

const neighbours = 16

func newMarks(agents int) *marks {
	return &marks{began: time.Now(), at: make([]atomic.Int64, agents/neighbours+1)}
}

func (m *marks) set(o uint32) {
	m.at[o/neighbours].Store(int64(time.Since(m.began))&^(neighbours-1) | int64(o%neighbours))
}

func (m *marks) since(o uint32) (time.Duration, bool) {
	v := m.at[o/neighbours].Load()
	if v == 0 || v%neighbours != int64(o%neighbours) {
		return 0, false
	}
	return max(0, time.Since(m.began)-time.Duration(v)), true
}

// sample divides the time of one deliberation into stages. A nil sample measures
// nothing.
type sample struct {
	last                 time.Time
	decide, model, apply time.Duration
}

// newSample makes the sample of an agent that was just woken, if it is measured in
// this wave.
func (a *agentShell) newSample(wave uint64) *sample {
	o := a.machine.ID.Ordinal
	if !metrics.Sampled(uint64(o)+wave) || int(o) >= a.Size() {
		return nil
	}
	if waited, ok := a.marks.since(o); ok {
		a.metrics.Stage(metrics.StageQueue, waited)
	}
	return &sample{last: a.began}
}

// lap adds the time since the last lap to a stage.
func (s *sample) lap(to metrics.Stage) {
	if s == nil {
		return
	}
	now := time.Now()
	d := now.Sub(s.last)
	s.last = now
	switch to {
	case metrics.StageDecide:
		s.decide += d
	case metrics.StageModel:
		s.model += d
	case metrics.StageApply:
		s.apply += d
	}
}

// sendMeasured sends the stage a turn, and adds its sample to the metrics.
func (a *agentShell) sendMeasured(env *protocol.Envelope, s *sample) {
	if s == nil {
		a.scene.stage.Tell(env)
		return
	}
	s.lap(metrics.StageApply)
	a.marks.set(a.machine.ID.Ordinal)
	a.scene.stage.Tell(env)
	a.metrics.Stage(metrics.StageDecide, s.decide)
	a.metrics.Stage(metrics.StageApply, s.apply)
	if s.model > 0 {
		a.metrics.Stage(metrics.StageModel, s.model)
	}
}
