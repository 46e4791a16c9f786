package scenes

import (
	"fmt"
	"slices"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/timing"
)

// On the virtual clock, agents that are neighbours in the order of a wave deliberate one after the
// other on one worker, which hands their turns over in one piece. A gatherer does that: it
// visits the actors of the agents. An agent that does not end its turn in the visit, since it waits for
// an answer or another worker has it, hands its turn over alone.

// Sizes of a wave's parts.
const (
	maxErrand = 128 // agents of one part; more hardly cost less
	shares    = 4   // parts for each worker at least, so that all end at about the same time
)

// gatherer is the actor that wakes a part of a wave and seals the turns of that part.
type gatherer struct {
	*scene
	self  *actors.Ref
	doing *timing.Doing
	open  *handover      // while it is at an errand
	at    time.Time      // when its last turn ended, or the errand began: the next turn begins
	ended []timing.Ended // in it; measured together, since all workers write the same counters
}

// errand is a part of the order of a wave.
type errand struct {
	agents []uint32
	wake   *protocol.Envelope // for those that cannot be visited
	view   *machines.View
}

// visit is what a wake carries whose agent hands its turn over to a gatherer, if it ends at once.
type visit struct {
	view *machines.View
	to   *gatherer
}

// handover is ended turns on their way to the stage.
type handover struct {
	span   *span.Span
	left   []parting // agents that have yet to leave; behind a gatherer nobody
	states []byte    // of those, one behind the other
}

// parting is the state of an agent that leaves its actor behind its turn.
type parting struct {
	agent uint32
	state []byte
	asked bool // by answers to its turn that may be under way still
}

// handover begins one. The stage gives its span back when it is kept.
func (s *scene) handover(wave uint64, at protocol.Time) *handover {
	h := &handover{span: s.spans.Get().(*span.Span)}
	h.span.Open(s.Budgets != nil, wave, at)
	return h
}

// Receive implements actors.Behavior.
func (g *gatherer) Receive(env *protocol.Envelope) error {
	e, err := carried[*errand](env)
	if err != nil {
		return err
	}
	v := g.self.Visitor()
	wake := &protocol.Envelope{EventHeader: e.wake.EventHeader, Kind: e.wake.Kind, Scene: e.wake.Scene, Wave: e.wake.Wave}
	wake.Body.SetValue(&visit{e.view, g})
	g.open, g.at = g.handover(wake.Wave, wake.Time), time.Now()
	for _, o := range e.agents {
		g.doing.Become(o, metrics.AgentDeliberating)
		before := len(g.open.span.Turns)
		if !g.seats.Visit(o, v, wake) {
			g.seats.Tell(o, e.wake)
		}
		g.vacate()
		if n := len(g.open.span.Turns); n == before || g.open.span.Turns[n-1].End.Elapsed > 0 {
			g.seal()
			g.at = time.Now()
		}
	}
	timing.Measure(g.ended, g.options.Latency)
	g.ended = g.ended[:0]
	g.seal()
	g.spans.Put(g.open.span)
	g.open = nil
	return nil
}

// vacate takes the agent that was visited from its actor, if it leaves: to end an actor takes longer
// than the stage needs for a turn. Nobody tells the agent anything before the stage has its turn.
func (g *gatherer) vacate() {
	for _, x := range g.open.left {
		g.seats.Vacate(x.agent, x.state, !x.asked)
	}
	g.open.left, g.open.states = g.open.left[:0], g.open.states[:0] // the seats have copied them
}

// seal hands over what is gathered, and goes on with nothing.
func (g *gatherer) seal() {
	if h := g.open; len(h.span.Turns) > 0 {
		g.open = g.handover(h.span.Wave, h.span.Facts.At)
		g.stage.Tell(carrying(protocol.KindTurn, h))
	}
}

// spawnGatherers starts the gatherers. A failure of theirs is a defect of the scene.
func (r *Run) spawnGatherers() error {
	if r.scene.Clock == agenda.Realtime {
		return nil
	}
	for i := range shares * r.scene.system.Workers() {
		g := &gatherer{scene: r.scene, doing: r.stage.doing}
		name := fmt.Sprintf("%s-wave-%d", setup.ActorStage, i)
		ref, err := r.scene.system.Spawn(actors.Spec{Name: r.scene.actorName(name), Kind: kindScene, Supervisor: r.stageSup, First: r.scene.wrapped(name, g)})
		if err != nil {
			return err
		}
		g.self = ref
		r.stage.gatherers = append(r.stage.gatherers, ref)
	}
	return nil
}

// wake wakes an agent, or neighbours in the order of the wave.
func (st *stage) wake(e *machines.Effect) {
	agents, size := e.Woken(), st.errandSize()
	if len(agents) == 1 || size == 1 {
		for _, o := range agents {
			st.measureWake(o, e.Wave)
			st.seats.Tell(o, st.wakeEnvelope(e))
		}
		return
	}
	for part := range slices.Chunk(agents, size) {
		for _, o := range part {
			st.mark(o, e.Wave)
		}
		st.errands++
		st.gatherers[st.errands%len(st.gatherers)].Tell(carrying(protocol.KindWake, &errand{part, st.wakeEnvelope(e), st.machine.View}))
	}
}

// errandSize is how many agents of the open wave a gatherer gets at once.
func (st *stage) errandSize() int {
	if len(st.gatherers) == 0 {
		return 1
	}
	return max(1, min(maxErrand, st.machine.WaveSize()/len(st.gatherers)))
}

// keepSpan keeps the facts of ended turns.
func (st *stage) keepSpan(e *machines.Effect) error {
	if err := st.journal.AppendSheaf(&e.Span.Facts); err != nil {
		return err
	}
	st.keptSpan(e)
	if st.gate.state.Watches() {
		_ = e.Span.Each(func(r protocol.Record) error { st.gate.state.Saw(r.Kind, r.Actor); return nil })
	}
	for i := range e.Span.Turns {
		for _, f := range e.Span.Turns[i].Others {
			if st.options.Links != nil {
				st.options.Links.Kept(e.Wave, f.Fact)
			}
			if st.ahead == nil {
				continue
			}
			if err := st.keepAhead(&machines.Effect{Actor: st.Name(e.Span.Turns[i].Agent), Kind: f.Kind, Data: f.Data, Fact: f.Fact}); err != nil {
				return err
			}
		}
	}
	st.spans.Put(e.Span)
	e.Span = nil
	return nil
}
