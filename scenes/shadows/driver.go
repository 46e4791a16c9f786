package shadows

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/engine/schedule"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/shadows/courses"
	"tavernsim/scenes/shadows/heard"
	"tavernsim/scenes/shadows/ladder"
)

// Options of a driver.
type Options struct {
	Mode    schedule.Mode
	Runner  *outside.Runner // whose log is open
	From    outside.From    // of the scene's requests; the driver fills in agent, turn and time
	Codec   *protocol.Codec
	Context context.Context // ends with the scene
	Log     *slog.Logger
	Rest    func(class uint16) time.Duration // that a turn is expected to take
	Count   func(outcome string, n int)      // of turns: ended, used, committed, viewed, panicked
	Order   protocol.Time                    // as [Wave.Order], of the first wave
	// Lie changes what a turn that runs ahead is shown; tests hold by it that nothing but speed
	// depends on shadows.
	Lie func(agent string, w *agent.Wake)
}

// Class of the requests of shadows: others leave a gate before them.
const Class = limit.Background

// Bounds of what runs ahead.
const (
	MaxAgents = 20_000
	window    = 1_000 // turns ahead of an agent, also those in which it only might have been woken
	mostAhead = 60    // of them, that it really had
	mostQueue = 1 << 16

	// When a scene may end at any wave, what ran beyond its end is wasted: not more than so many
	// calls are ahead, and a share of those that were made.
	freeAhead  = 50
	shareAhead = 0.10
)

// Driver runs turns ahead for one scene, on a goroutine of its own.
type Driver struct {
	options Options
	scene   *setup.Scene
	log     *slog.Logger
	agenda  agenda.Config
	tick    tickOf
	classes []class
	advice  []string
	end     schedule.Tick // no turn of this time or later is run
	unsure  bool          // the scene may end before, at any wave, or act by itself, or bets leave out who may act

	mu      sync.Mutex
	queue   []func() error
	wake    chan struct{} // holds an element while the queue may have something
	closed  bool
	running sync.WaitGroup
	began   time.Time

	// The goroutine owns the following fields.
	state   *schedule.State
	agents  []*one
	fold    machines.AgentFold
	touched map[uint32]bool // by the wave that is folded
	view    *machines.View  // after the last wave
	started bool            // the scene has: before, nobody is known to have a turn
	open    schedule.Tick   // the moment up to which the committed run has its turns
	acts    schedule.Tick   // tracked: when the script acts by itself, as far as the last wave says
	order   schedule.Tick   // of the next order from outside
	bare    bool            // entries of bases lack vectors
	ladder  *ladder.Ladder
	courses *courses.Courses // nil = the scene has no space
	events  *heard.Events
	budgets *budget.Ahead // nil = models have none
	calls   int64         // of models, by committed turns
	waiting []*shadow     // for the committed run to come closer, so that less is wasted if it ends
	off     bool
	spaces  sync.Pool // *agent.Space

	counted sync.Mutex    // held while the goroutine works
	took    time.Duration // set when it is closed
	counts  Counts
}

// Counts is what came of running ahead.
type Counts struct {
	Name   string // of the mode
	Turns  int64  // that ended ahead of the committed run
	Used   int64  // that were those of the committed run
	Missed int64  // times that an agent was set back by what the committed run did
	Undone int64  // times that an agent was set back because its view had changed
	Panics int64
	Calls  outside.Shadows
	Paid   budget.Amount // by calls of shadows
	Vain   budget.Amount // of it, what no turn has taken itself, or not yet
	Wall   time.Duration // that the scene has taken
	Off    string        // why nothing runs ahead; "" = something may
	Advice []string
}

// one is an agent.
type one struct {
	ordinal uint32
	class   uint16
	base    *agent.Machine // as the committed run has it
	due     schedule.Tick  // of its next committed turn, as far as the last wave says
	rests   bool           // nothing wakes it
	waits   bool           // and it is due when others have had a turn, which nobody foretells
	deaf    bool           // behind its last turn it is not woken by what it is told
	least   schedule.Tick  // and not before this moment
	ahead   []turn
	run     *shadow
	stays   bool              // it is told later what it asked for in its last turn:
	until   schedule.Tick     // behind the wave of this moment
	wrote   schedule.Resource // by that turn
	told    schedule.Tick     // from when on it knows that its lease or a task has ended; Never = it has none
	out     bool              // the schedule has handed its next turn out
	outAt   schedule.Tick
	held    bool // and it is not begun: something must be known first
	broken  bool
}

// latest is the state behind the last turn.
func (a *one) latest() *agent.State {
	if t := a.last(); t != nil {
		return &t.after
	}
	return &a.base.State
}

// dueNow is when the next turn behind the last one is due.
func (d *Driver) dueNow(a *one) schedule.Tick {
	if t := a.last(); t != nil {
		return d.woken(a.ordinal, t.due, t.deaf, t.least, t.at, schedule.Never)
	}
	return d.dueAfter(a, schedule.Never)
}

// dueAfter is when the next turn behind the committed ones is due, by what the agent is told before
// a moment.
func (d *Driver) dueAfter(a *one, before schedule.Tick) schedule.Tick {
	return d.woken(a.ordinal, a.due, a.deaf, a.least, math.MinInt64, before)
}

// woken is when an agent is due that is told how its walk ended, and hears events.
func (d *Driver) woken(o uint32, due schedule.Tick, deaf bool, least, from, before schedule.Tick) schedule.Tick {
	if deaf || d.agents[o].rests {
		return due
	}
	for _, n := range d.courses.Told(o, from, before) {
		due = min(due, max(d.tick.of(n.Time)+1, least))
	}
	for _, p := range d.events.Told(o, from, before) {
		due = min(due, max(p.At+1, least))
	}
	return due
}

// wakes reads in the end of a turn whether the agent is woken by what it is told, and when at the
// earliest.
func (d *Driver) wakes(end *agentfact.TurnEnded, at protocol.Time) (deaf bool, least schedule.Tick) {
	busy := at
	if end.Elapsed > 0 {
		busy = d.agenda.Grid(at.Add(end.Elapsed))
	}
	deaf = (end.Asleep || end.SleepUntil != 0) && end.WakeAbove > protocol.Normal
	if pause := d.agenda.Timing(end.Agent).Least; pause > 0 {
		busy = max(busy, d.agenda.Grid(at.Add(pause)))
	}
	return deaf, d.tick.of(busy)
}

// last is the last turn that the agent really had ahead of the committed run; nil = none.
func (a *one) last() *turn {
	for i := range a.ahead {
		if t := &a.ahead[len(a.ahead)-1-i]; !t.null {
			return t
		}
	}
	return nil
}

// tickOf converts moments of the scene.
type tickOf struct{ start, tick protocol.Time }

func (t *tickOf) of(at protocol.Time) schedule.Tick {
	if at == 0 {
		return schedule.Never
	}
	return schedule.Tick((at - t.start) / t.tick)
}

func (t *tickOf) time(at schedule.Tick) protocol.Time { return t.start + protocol.Time(at)*t.tick }

// Start makes a driver. You must tell it of every turn and wave, in their order, and Close it
// before the log of effects.
func Start(sc *setup.Scene, state *machines.State, opt Options) (*Driver, error) {
	if err := Check(sc, opt.Mode); err != nil {
		return nil, err
	}
	cfg := sc.AgendaConfig()
	d := &Driver{options: opt, scene: sc, log: opt.Log, spaces: sync.Pool{New: func() any { return agent.NewSpace() }}, agenda: cfg, tick: tickOf{cfg.Start, protocol.Time(cfg.Tick)}, wake: make(chan struct{}, 1), began: time.Now(), touched: map[uint32]bool{}, open: -1, view: state.Shown()}
	classes, of := classesOf(sc)
	d.classes, d.advice = classes, advice(sc, classes, of)
	d.ends(state)
	if state.Agenda.Started {
		d.open, d.started = d.tick.of(state.Agenda.Now), true
	}
	d.order = d.tick.of(opt.Order)
	if d.acts = schedule.Never; sc.Script != nil && opt.Mode == schedule.Tracked {
		d.acts = d.open // the first wave tells
	}
	var err error
	if sc.Space != nil {
		if d.courses, err = courses.New(sc.Space, sc, state.Space(), d.open, cfg.Start, cfg.Tick); err != nil {
			return nil, err
		}
	}
	if d.events, err = heard.New(heard.Options{
		Codec: opt.Codec, Config: sc.Bus, Names: sc, Channel: state.Bus(), Nothing: opt.Mode != schedule.Tracked, InSpace: sc.Space != nil,
		Near: func(o uint32, p *heard.Publication) bool { return d.courses.Near(o, p.By, p.At) },
		Ran:  d.ran,
		May:  func(o uint32, p *heard.Publication) bool { return d.hears(d.agents[o], p) },
	}); err != nil {
		return nil, err
	}
	rows := make([]schedule.Agent, sc.Len())
	d.agents = make([]*one, sc.Len())
	for o := range d.agents {
		m := *state.Agent(uint32(o))
		m.State = m.State.Fork()
		n := NextOf(state.Agenda.Standing(uint32(o)))
		d.agents[o] = &one{ordinal: uint32(o), class: sc.Class[o], base: &m, due: d.tick.of(n.At), rests: n.Rests, waits: n.Waits}
	}
	d.tasks()
	d.bare = d.wants()
	for o, a := range d.agents {
		rows[o] = schedule.Agent{Class: int(a.class), Next: d.next(a, d.open, d.dueNow(a))}
		rows[o].Place = d.courses.Place(a.ordinal, rows[o].Next)
	}
	d.fold = machines.AgentFold{Scene: sc, Machine: func(o uint32) *agent.Machine { d.touched[o] = true; return d.agents[o].base }}
	d.openBudgets(state)
	d.ladder = ladder.New(sc.Rules, d.view.WorldState(), d.open, d.tick.time, ladder.Cast{Ordinal: sc.Ordinal, Class: sc.Class})
	if d.state, err = schedule.New(schedule.Config{Mode: opt.Mode, Classes: of, Window: window, MaxWasted: shareAhead}, rows); err != nil {
		return nil, err
	}
	d.running.Go(d.work)
	return d, nil
}

// Check refuses a scene of which no turns can be run ahead.
func Check(sc *setup.Scene, mode schedule.Mode) error {
	switch {
	case sc.Clock != agenda.Virtual:
		return protocol.Errorf(protocol.KindInvalid, "scene %s: schedule %s: on the realtime clock the order is what happened, and nothing can run ahead; use the virtual clock, or --schedule barrier", sc.ID, Name(mode))
	case sc.Space != nil && sc.Space.Joined():
		return protocol.Errorf(protocol.KindInvalid, "scene %s: schedule %s: agents in places without a grid (space of the scene) are not run ahead; use a grid, or --schedule barrier", sc.ID, Name(mode))
	case len(sc.Def.Definition.Links) > 0:
		return protocol.Errorf(protocol.KindInvalid, "scene %s: schedule %s: agents of linked scenes (links) come and go, and are not run ahead; use --schedule barrier", sc.ID, Name(mode))
	case sc.Comes():
		return protocol.Errorf(protocol.KindInvalid, "scene %s: schedule %s: agents that come and go (agent_instances[].spawnable) are not run ahead; use --schedule barrier", sc.ID, Name(mode))
	case sc.Turns != nil:
		return protocol.Errorf(protocol.KindInvalid, "scene %s: schedule %s: turns that wait for their turn (turns of the scene) are not run ahead; use --schedule barrier", sc.ID, Name(mode))
	case sc.Size() > MaxAgents:
		return protocol.Errorf(protocol.KindLimit, "scene %s: schedule %s: %d agents; at most %d can run ahead; use --schedule barrier", sc.ID, Name(mode), sc.Size(), MaxAgents)
	}
	return nil
}

// Name is the mode as people write it.
func Name(m schedule.Mode) string {
	return [...]string{"tracked", "speculative"}[m]
}

// ends reads when the scene ends.
func (d *Driver) ends(state *machines.State) {
	stop := d.scene.Stop
	d.end = schedule.Never
	begun := d.tick.start
	if state.Agenda.Started {
		begun = state.Agenda.Begun()
	}
	if after := stop.After.Std(); after > 0 {
		d.end = d.tick.of(d.agenda.Grid(begun.Add(after)))
	}
	if stop.Ticks > 0 {
		d.end = min(d.end, d.tick.of(begun)+schedule.Tick(stop.Ticks))
	}
	roused := d.options.Mode == schedule.Speculative && slices.ContainsFunc(d.classes, func(c class) bool { return c.roused })
	d.unsure = roused || stop.Deliberations > 0 || stop.Events > 0 || stop.Tokens > 0 || stop.Dollars > 0 || d.scene.Condition != nil || stop.WallTime > 0 ||
		d.scene.Budgets.Ends() || d.scene.Script != nil // which may end it, too, or change what agents read
}

// next is the time of an agent's next turn for the schedule: an agent that others may wake has one
// each tick, since nobody else knows when it acts, and the end of its lease or of a task may wake it.
func (d *Driver) next(a *one, at, due schedule.Tick) schedule.Tick {
	switch {
	case a.rests:
		return due
	case a.waits:
		return at + 1
	case a.told > at:
		due = min(due, a.told)
	}
	if d.options.Mode == schedule.Tracked && d.classes[a.class].wakeable && due > at+1 && at+1 < d.end && d.started {
		return at + 1
	}
	return due
}

// tell gives the driver something to do. Any goroutine may call it.
func (d *Driver) tell(f func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.queue = append(d.queue, f)
	select {
	case d.wake <- struct{}{}:
	default: // it will look
	}
}

// work is the driver's goroutine.
func (d *Driver) work() {
	d.do(func() error { return nil })
	for range d.wake {
		for {
			d.mu.Lock()
			list := d.queue
			d.queue = nil
			d.mu.Unlock()
			if len(list) == 0 {
				break
			}
			if len(list) > mostQueue {
				d.giveUp(fmt.Sprintf("it was %d steps behind the scene", len(list)))
			}
			for _, f := range list {
				d.do(f)
			}
		}
	}
	for _, a := range d.agents {
		d.dropRun(a)
	}
}

// do carries out one step and what follows from it. An error, or a panic, ends the running ahead,
// and nothing else.
func (d *Driver) do(f func() error) {
	if d.off {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			d.giveUp(fmt.Sprintf("panic: %v", p))
		}
	}()
	d.counted.Lock()
	defer d.counted.Unlock()
	err := f()
	if err == nil {
		err = d.settle()
	}
	if err != nil {
		d.giveUp(err.Error())
	}
}

// giveUp ends the running ahead: the scene goes on by the barrier.
func (d *Driver) giveUp(why string) {
	d.off, d.counts.Off = true, why
	for _, a := range d.agents {
		d.dropRun(a)
	}
	d.log.Warn("no turn runs ahead any more; the scene goes on by the barrier", "scene", d.scene.ID, "because", why)
}

// Close ends all that runs ahead. Requests that were sent go on until the context ends.
func (d *Driver) Close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	again := d.closed
	d.closed = true
	d.mu.Unlock()
	if !again {
		close(d.wake)
		d.running.Wait()
		d.counted.Lock()
		d.took = time.Since(d.began)
		d.counted.Unlock()
	}
}

// Counts shows what came of it so far.
func (d *Driver) Counts() *Counts {
	if d == nil {
		return nil
	}
	d.counted.Lock()
	defer d.counted.Unlock()
	c := d.counts
	c.Name, c.Calls, c.Wall, c.Advice = Name(d.options.Mode), d.options.Runner.Log.Shadows(), d.took, slices.Clone(d.advice)
	if c.Off == "" {
		c.Off = d.vain(&c.Calls)
	}
	if c.Wall == 0 {
		c.Wall = time.Since(d.began)
	}
	return &c
}
