package scenes

import (
	"context"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/control"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/machines"
)

// Control gives the scene a command: pause, resume, step, pace, break, or status, which
// changes nothing. None is a fact. It returns how things stand: for a pause and a step when
// the scene stands with everything durable, or when ctx is done, whichever is first. The
// command counts all the same then.
//
// It is not the pause of the scene itself ([Run.Pause]), which runs a workflow and is a fact.
func (r *Run) Control(ctx context.Context, c *control.Command) (control.Report, error) {
	if err := r.scene.checkCommand(c); err != nil {
		return control.Report{}, err
	}
	report, err := r.command(ctx, c, c.Do == control.Pause || c.Do == control.Step)
	if protocol.KindOf(err) == protocol.KindCancelled { // it goes on; so say where it stands
		return r.command(context.WithoutCancel(ctx), &control.Command{Do: control.Status}, false)
	}
	return report, err
}

// checkCommand refuses a command that makes no sense for the scene.
func (s *scene) checkCommand(c *control.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Do == control.Pace && c.Pace > 0 && s.Clock == agenda.Realtime {
		return protocol.Errorf(protocol.KindInvalid, "pace: the clock of the scene %s is realtime, which has its own pace", s.ID)
	}
	return nil
}

// command is one on its way to the stage.
type command struct {
	*control.Command
	stands bool // the answer is for when the scene stands
	answer chan commanded
}

type commanded struct {
	control.Report
	err error
}

func (r *Run) command(ctx context.Context, c *control.Command, stands bool) (control.Report, error) {
	x := &command{Command: c, stands: stands, answer: make(chan commanded, 1)}
	r.scene.stage.Tell(carrying(protocol.KindControl, x))
	return x.wait(ctx, r.stage.over.Done(), r.scene.ID)
}

// wait returns the answer. An answer counts although the scene has stopped or ctx is done
// since: the last command to a scene is often the one that lets it end.
func (x *command) wait(ctx context.Context, over <-chan struct{}, scene string) (control.Report, error) {
	var err error
	select {
	case a := <-x.answer:
		return a.Report, a.err
	case <-over:
		err = protocol.Errorf(protocol.KindConflict, "%s: the scene %s has stopped", x.Do, scene)
	case <-ctx.Done():
		err = protocol.Errorf(protocol.KindCancelled, "%s: %w", x.Do, ctx.Err())
	}
	select {
	case a := <-x.answer:
		return a.Report, a.err
	default:
		return control.Report{}, err
	}
}

// waveGate lets waves begin as people want it. Its methods are the stage's.
type waveGate struct {
	state   control.State
	at      protocol.Time // of that wave
	stands  bool          // nothing lets it begin but a command
	timer   *time.Timer   // paced
	waiting []*command    // until the scene stands
	looks   glance.Queue  // until no wave is open
}

// maxWaiting bounds the callers that wait until the scene stands; one more is answered at once.
const maxWaiting = 64

// controlled reads a message that is for the gate; false = it is for the machine.
func (st *stage) controlled(env *protocol.Envelope) (machines.Input, bool, error) {
	v, err := env.Body.Value()
	c, ok := v.(*command)
	if err != nil || !ok {
		return nil, false, err
	}
	g := &st.gate
	if err := g.state.Command(c.Command, st.standing()); err != nil {
		c.answer <- commanded{err: err}
		return nil, true, nil
	}
	if c.Do == control.Status {
		c.answer <- commanded{Report: st.controlReport()}
		return nil, true, nil
	}
	g.stands = false
	if c.stands && len(g.waiting) < maxWaiting {
		g.waiting = append(g.waiting, c)
	} else {
		c.answer <- commanded{Report: st.controlReport()}
	}
	st.showHeld(false)
	return &machines.Gate{On: st.gated()}, true, nil
}

// standing is where the scene stands.
func (st *stage) standing() control.Moment {
	a := st.machine.Agenda
	return control.Moment{Wall: time.Now(), Wave: a.Wave, Time: a.Now, Begun: a.Begun(), Turns: st.machine.Tally.Deliberations, At: st.gate.at, Roots: st.machine.Roots()}
}

func (st *stage) controlReport() control.Report {
	r, a := st.gate.state.Report(), st.machine.Agenda
	r.Wave, r.At = a.Wave, protocol.Duration(a.Now.Sub(a.Begun()))
	return r
}

// atGate decides whether the wave that the stage asks for begins.
func (st *stage) atGate(e *machines.Effect) {
	g := &st.gate
	g.at = e.At
	st.look(&g.looks)
	if st.options.Links != nil && !st.options.Links.May(e.At) {
		return // it is asked again
	}
	ok, wait := g.state.Next(st.standing())
	switch {
	case ok:
		st.self.Tell(carrying(protocol.KindControl, machines.Input(&machines.Gate{On: st.gated(), Wave: e.Wave})))
	case wait > 0:
		st.askAgain(wait)
	default:
		g.stands = true
		st.showHeld(true)
		st.stands()
	}
}

// gated reports whether waves wait for the gate.
func (st *stage) gated() bool {
	return st.gate.state.On() || st.options.Links != nil || len(st.gate.looks) > 0
}

// askAgain makes the stage ask after a while.
func (st *stage) askAgain(wait time.Duration) {
	g, self := &st.gate, st.self
	if g.timer != nil {
		g.timer.Reset(wait)
		return
	}
	g.timer = time.AfterFunc(wait, func() {
		self.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: doAsk}, Kind: protocol.KindControl})
	})
}

// doAsk makes the stage ask the gate again.
const doAsk = "ask"

// stands answers the callers that wait until the scene stands, once all of it is durable.
func (st *stage) stands() {
	g := &st.gate
	if !g.stands || st.journal.Durable().Number < st.machine.Agenda.Wave {
		return
	}
	for _, c := range g.waiting {
		c.answer <- commanded{Report: st.controlReport()}
	}
	g.waiting = nil
}

// showHeld says to those who look on whether the scene is held.
func (st *stage) showHeld(held bool) {
	if st.progress.Held.Swap(held) == held {
		return
	}
	state := metrics.SceneRunning
	if held {
		state = metrics.ScenePaused
	}
	st.metrics.Became(state)
}
