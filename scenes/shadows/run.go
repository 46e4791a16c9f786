package shadows

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/schedule"
	"tavernsim/engine/space"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/shadows/heard"
	"tavernsim/scenes/shadows/ladder"
)

// shadow is a turn that runs ahead, on a copy of the agent's machine.
type shadow struct {
	of      *one
	at      schedule.Tick
	machine *agent.Machine
	before  agent.State
	first   outside.Question // its first question to a model; "" = none yet
	asks    []*request       // that wait for leave
	asking  bool             // the schedule said: not now
	granted bool             // the schedule has counted the first of asks
	gone    bool             // it was dropped, or has ended
	beyond  bool             // it has read what nobody knows yet
	context context.Context
	drop    context.CancelFunc
}

// request is a request of a shadow to a model.
type request struct {
	*effect.Ask
	bound *llm.Bound // nil = there is no budget
	held  budget.Held
	took  budget.Amount // by its answer, if that came before the turn took it
	fate  outside.Fate
}

// turn is a turn that has ended ahead of the committed run.
type turn struct {
	at      schedule.Tick
	before  agent.State
	first   outside.Question
	null    bool // the agent was not due: events could have woken it
	after   agent.State
	facts   []protocol.KindData
	end     agentfact.TurnEnded
	effects []protocol.Sequenced
	due     schedule.Tick // of the next one, unless the agent is told something
	deaf    bool          // as of one
	least   schedule.Tick
}

// wakeOf is the input that begins a turn of an agent ahead of the committed run.
func (d *Driver) wakeOf(a *one, m *agent.Machine, at schedule.Tick, beyond func()) (*agent.Wake, error) {
	view := d.view
	if d.courses != nil {
		view = view.WithSpace(d.courses.Seen(a.ordinal, at, beyond))
	}
	if d.classes[a.class].World {
		s, err := d.ladder.Before(at)
		if err != nil {
			return nil, err
		}
		view = view.WithWorld(s)
	}
	w := machines.Wake(d.scene, m, view, 0, d.tick.time(at), d.scene.Seed, "")
	if d.options.Lie != nil {
		d.options.Lie(m.ID.Instance, &w)
	}
	return &w, nil
}

// begin runs a turn ahead.
func (d *Driver) begin(a *one, at schedule.Tick) error {
	m := &agent.Machine{Def: a.base.Def, ID: a.base.ID, State: a.latest().Fork()}
	since := schedule.Tick(math.MinInt64)
	if t := a.last(); t != nil {
		since = t.at
	}
	for _, n := range d.courses.Told(a.ordinal, since, at) {
		m.Observe(machines.ObservationOf(n.Fact, n.Time))
	}
	for _, p := range d.events.Told(a.ordinal, since, at) {
		m.Hear(d.events.Give(p, a.ordinal, d.scene.ID))
	}
	s := &shadow{of: a, at: at, machine: m, before: m.State.Fork()}
	m.Lend(d.spaces.Get().(*agent.Space))
	s.context, s.drop = context.WithCancel(context.Background())
	a.run = s
	w, err := d.wakeOf(a, m, at, func() { s.beyond = true })
	if err != nil {
		return err
	}
	return d.step(s, w)
}

// step gives a shadow an input and carries out what it asks for, as the shell of an agent does.
func (d *Driver) step(s *shadow, in any) error {
	for inputs := []any{in}; len(inputs) > 0; inputs = inputs[1:] {
		made, ok := d.decide(s, inputs[0])
		if !ok || s.beyond {
			return d.park(s.of)
		}
		for _, e := range made.Effects {
			q, isAsk := e.(*effect.Ask)
			if !isAsk {
				return d.park(s.of)
			}
			bound := d.asks(s.of, s.before.Turn+1, q)
			if x := d.options.Runner.Now(q, false); x != nil {
				x, err := effect.ReadAnswered(q.Kind, x.AppendMsg(nil)) // the first lies in the request
				if err != nil {
					return err
				}
				noteSaved(bound, x)
				inputs = append(inputs, x)
				continue
			}
			if !d.options.Runner.MayAhead(q) || d.walled(bound) {
				return d.park(s.of)
			}
			if s.first == "" {
				s.first = d.options.Runner.Question(q)
			}
			s.asks = append(s.asks, &request{Ask: q, bound: bound})
		}
		if len(made.Facts) > 0 {
			return d.ended(s, made)
		}
	}
	return d.sendAsks(s)
}

// decide calls the machine of a shadow. A panic drops the shadow, and no other turn of the agent
// is run ahead: the committed turn meets it itself, with supervision.
func (d *Driver) decide(s *shadow, in any) (made protocol.Decision, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			d.counts.Panics++
			d.options.Count("panicked", 1)
			s.of.broken = true
			d.log.Warn("a turn that ran ahead panicked; the agent is not run ahead any more", "scene", d.scene.ID, "agent", s.machine.ID.Instance, "panic", fmt.Sprint(p))
			made, ok = protocol.Decision{}, false
		}
	}()
	made, err := s.machine.Decide(in)
	return made, err == nil
}

// sendAsks sends the requests for which there is leave.
func (d *Driver) sendAsks(s *shadow) error {
	for len(s.asks) > 0 && !s.asking && !s.gone {
		q := s.asks[0]
		free := d.options.Runner.Foretold(s.machine.ID.Instance, s.before.Turn+1, d.tick.time(s.at), q.Ask)
		if !free && (d.beyond() || !d.hold(s, q)) {
			d.waiting = append(d.waiting, s)
			return nil
		}
		if !free && !s.granted {
			ok, err := d.state.Ask(s.of.ordinal)
			if err != nil {
				return err
			}
			if !ok {
				d.release(q)
				s.asking = true
				return nil
			}
		}
		s.granted = false
		s.asks = s.asks[1:]
		d.send(s, q)
	}
	return nil
}

func (d *Driver) send(s *shadow, q *request) {
	from := d.options.From
	from.Agent, from.Turn, from.At, from.Virtual, from.Bound = s.machine.ID.Instance, s.before.Turn+1, d.tick.time(s.at), true, q.limited()
	from.Rest = d.options.Rest(s.of.class)
	from.Ahead = &outside.Ahead{Context: s.context, Became: func(f outside.Fate) {
		d.tell(func() error { d.became(q, f); return nil })
	}}
	d.options.Runner.Go(d.options.Context, from, q.Ask, func(x *effect.Answered) {
		d.tell(func() error { return d.answered(s, q, x) })
	})
}

func (d *Driver) answered(s *shadow, q *request, x *effect.Answered) error {
	d.paid(s.of, q, x)
	if s.gone {
		return nil
	}
	if protocol.KindOf(x.Err) == protocol.KindCancelled { // the committed turn asked something else
		return d.park(s.of)
	}
	noteSaved(q.bound, x)
	return d.step(s, x)
}

// ended takes the end of a shadow's turn.
func (d *Driver) ended(s *shadow, made protocol.Decision) error {
	facts, effects, err := d.options.Codec.Keep(made.Facts, made.Requests)
	if err != nil {
		return d.park(s.of)
	}
	t := turn{at: s.at, before: s.before, first: s.first, facts: facts, effects: effects}
	now := d.tick.time(s.at)
	for _, f := range made.Facts {
		if e, ok := f.(*agentfact.TurnEnded); ok {
			t.end = *e
		}
		if err := s.machine.Apply(f, now); err != nil {
			return d.park(s.of)
		}
	}
	d.spaces.Put(s.machine.Release())
	t.after, t.due = s.machine.State, d.tick.of(machines.Due(&d.agenda, &t.end, now))
	t.deaf, t.least = d.wakes(&t.end, now)
	a, effect := s.of, d.effectOf(s.at, &t.end)
	if !d.follows(a, effect, effects) {
		return d.park(a)
	}
	s.end()
	a.run, a.out, a.ahead = nil, false, append(a.ahead, t)
	d.counts.Turns++
	d.options.Count("ended", 1)
	if err := d.effect(a, s.at, effect, effects); err != nil {
		return err
	}
	return d.state.Ended(a.ordinal, d.endOf(a, max(d.next(a, s.at, d.dueNow(a)), s.at+1), wrote(effects)))
}

// follows reports whether the turn behind one can be foretold: what it asked for answers itself only by being done.
func (d *Driver) follows(a *one, at schedule.Tick, effects []protocol.Sequenced) bool {
	var asked []worldstate.Request
	published := uint64(0)
	for _, r := range effects {
		switch r.To {
		case bus.Service:
			q, err := bus.ReadRequest(r.Data)
			draft, ok := q.(*protocol.Draft)
			if published++; err != nil || !ok || d.events.Refuses(draft, published, d.tick.time(at), d.courses.Bounded(draft.Type)) {
				return false
			}
		case worldstate.Service:
			q, err := worldstate.ReadRequest(r.Data)
			if err != nil || q.Kind != worldstate.Change || q.Always {
				return false
			}
			asked = append(asked, q)
		case space.Service:
			if q, err := space.ReadRequest(r.Data); err != nil || !d.alone(a, &q) {
				return false
			}
		default:
			return false
		}
	}
	if len(asked) == 0 {
		return true
	}
	before, err := d.ladder.Before(at)
	if err != nil {
		return false
	}
	made := d.scene.Rules.Decide(before, d.tick.time(at), asked)
	return !slices.ContainsFunc(made.Facts, func(f protocol.Fact) bool { _, refused := f.(*world.Refused); return refused })
}

// alone reports whether where a walk leads depends on nobody else.
func (d *Driver) alone(a *one, q *space.Request) bool {
	_, agent := d.scene.Ordinal(q.To)
	return !agent && !q.Put && q.Agent == d.scene.Name(a.ordinal) && d.courses.Knows(a.ordinal)
}

func wrote(effects []protocol.Sequenced) (r schedule.Resource) {
	for _, q := range effects {
		switch q.To {
		case bus.Service:
			r |= schedule.Event
		case worldstate.Service:
			r |= schedule.World | schedule.Event
		case space.Service: // the schedule has places of its own
		default:
			r |= schedule.Base
		}
	}
	return r
}

// effectOf is when what a turn asked for takes effect.
func (d *Driver) effectOf(at schedule.Tick, end *agentfact.TurnEnded) schedule.Tick {
	if end.Elapsed > 0 {
		return d.tick.of(d.agenda.Grid(d.tick.time(at).Add(end.Elapsed)))
	}
	return at
}

// effect notes what a turn asked for: who reads it later waits, or sees it.
func (d *Driver) effect(a *one, of, at schedule.Tick, effects []protocol.Sequenced) error {
	told, published := false, uint64(0)
	var walks []space.Request
	for _, r := range effects {
		switch r.To {
		case space.Service:
			if q, err := space.ReadRequest(r.Data); err == nil && d.alone(a, &q) {
				walks = append(walks, q)
			}
		case worldstate.Service:
			d.ladder.Ask(at, ladder.Wish{Agent: a.ordinal, Of: of, Raw: r.Data})
			if !told {
				told = true
				d.publish(heard.Publication{By: a.ordinal, Of: of, At: at, Kind: bus.TypeWorldUpdated}, nil, 0)
			}
		case bus.Service:
			if draft, err := protocol.ReadDraft(r.Data); err == nil {
				published++
				d.publish(heard.Publication{By: a.ordinal, Of: of, At: at, Kind: draft.Type, Targets: draft.Targets}, draft, published)
			}
		}
	}
	steps, err := d.courses.Ask(a.ordinal, of, at, walks)
	for _, s := range steps {
		if f, ok := s.Fact.(*space.Moved); ok {
			for _, c := range f.Crossed {
				d.crosses(a, of, d.tick.of(s.Time), c)
			}
		}
	}
	return err
}

// crosses notes the events of a step over the border of a place.
func (d *Driver) crosses(a *one, of, at schedule.Tick, c space.Crossed) {
	if c.Left != "" {
		d.publish(heard.Publication{By: a.ordinal, Of: of, At: at, Kind: space.TypeLeft}, nil, 0)
	}
	if c.Entered != "" {
		d.publish(heard.Publication{By: a.ordinal, Of: of, At: at, Kind: space.TypeEntered}, nil, 0)
	}
}

// publish keeps an event if somebody may hear it.
func (d *Driver) publish(p heard.Publication, draft *protocol.Draft, n uint64) {
	if len(p.Targets) > 0 || slices.ContainsFunc(d.classes, func(c class) bool { return c.hearsOf("", &p) }) {
		p.Bounded = d.courses.Bounded(p.Kind)
		d.events.Publish(p, draft, n, d.tick.time(p.At))
	}
}

// end marks a shadow as done with: its answers are for nobody.
func (s *shadow) end() {
	s.gone = true
	s.drop()
}

// again asks what a turn would ask first if it began now; false = it cannot be told.
func (d *Driver) again(a *one, t *turn, run *shadow) bool {
	before, at, first := a.base.State, schedule.Tick(0), outside.Question("")
	if t != nil {
		before, at, first = t.before, t.at, t.first
	} else {
		before, at, first = run.before, run.at, run.first
	}
	if first == "" {
		return true // it asked nobody yet
	}
	m := &agent.Machine{Def: a.base.Def, ID: a.base.ID, State: before.Fork()}
	s := &shadow{of: a, machine: m}
	w, err := d.wakeOf(a, m, at, func() { s.beyond = true })
	if err != nil {
		return false
	}
	for inputs := []any{w}; len(inputs) > 0; inputs = inputs[1:] {
		made, ok := d.decide(s, inputs[0])
		if !ok || s.beyond {
			return false
		}
		for _, e := range made.Effects {
			q, isAsk := e.(*effect.Ask)
			if !isAsk {
				return false
			}
			d.asks(a, before.Turn+1, q)
			if x := d.options.Runner.Now(q, false); x != nil {
				if x, err = effect.ReadAnswered(q.Kind, x.AppendMsg(nil)); err == nil {
					inputs = append(inputs, x)
				}
				continue
			}
			return d.options.Runner.Question(q) == first
		}
		if len(made.Facts) > 0 {
			return false
		}
	}
	return false
}
