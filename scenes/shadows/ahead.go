package shadows

import (
	"fmt"
	"slices"

	"tavernsim/engine/schedule"
	"tavernsim/engine/space"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/shadows/heard"
)

// goOn looks again at what waited for the committed run.
func (d *Driver) goOn() error {
	list := d.waiting
	d.waiting = nil
	for _, s := range list {
		if !s.gone {
			if err := d.sendAsks(s); err != nil {
				return err
			}
		}
	}
	for _, a := range d.agents {
		if a.held {
			a.held = false
			if err := d.handed(a, a.outAt); err != nil {
				return err
			}
		}
	}
	return nil
}

// beyond reports whether no more calls may be made ahead now: too many were made in vain, or the scene may end before they
// are used, or act by itself.
func (d *Driver) beyond() bool {
	s := d.options.Runner.Log.Shadows()
	return d.vain(&s) != "" || d.unsure && float64(s.Asked-s.Used) >= freeAhead+shareAhead*float64(s.Used)
}

// vain says that too many calls were made in vain for more to be made now; "" = they were not.
func (d *Driver) vain(s *outside.Shadows) string {
	of := max(d.calls, s.Asked)
	if d.unsure {
		of = s.Used
	}
	if float64(s.Wasted) < freeAhead+shareAhead*float64(of) {
		return ""
	}
	return fmt.Sprintf("%d of %d calls that were made ahead were in vain", s.Wasted, s.Asked)
}

// settle looks at the turns that may have seen something else than they would see now, then lets
// run ahead what may.
func (d *Driver) settle() error {
	for {
		if err := d.check(); err != nil {
			return err
		}
		if wrong := d.events.Wrong(); len(wrong) > 0 {
			for _, o := range wrong {
				if err := d.setBack(d.agents[o], d.open); err != nil {
					return err
				}
			}
			continue
		}
		t, ok := d.state.Next()
		if !ok {
			return nil
		}
		if err := d.handOut(t); err != nil {
			return err
		}
	}
}

func (d *Driver) handOut(t schedule.Turn) error {
	a := d.agents[t.Agent]
	if !t.Ask {
		a.out, a.outAt = true, t.At
		return d.handed(a, t.At)
	}
	if a.run == nil {
		return protocol.Errorf(protocol.KindInternal, "%s may ask, and has no turn ahead", d.scene.Name(t.Agent))
	}
	a.run.asking, a.run.granted = false, true
	return d.sendAsks(a.run)
}

// handed takes a turn that may begin: it is none, or the committed run has it, or it waits, or it
// runs ahead.
func (d *Driver) handed(a *one, at schedule.Tick) error {
	c := &d.classes[a.class]
	if at >= d.end || c.never != "" || a.broken || a.waits {
		return nil
	}
	deaf := a.deaf
	if t := a.last(); t != nil {
		deaf = t.deaf
	}
	reads, err := d.tellsFirst(a, at)
	if err != nil {
		return err
	}
	refused, err := d.ladder.Refuses(at, a.ordinal, func(other uint32) bool { return d.tells(a, other) })
	if err != nil {
		return err
	}
	reads = reads || at >= a.told || d.events.Unsure(a.ordinal, at, deaf) || d.events.Held(a.ordinal, d.tick.time(at))
	due := d.dueNow(a)
	switch {
	case refused: // who is told of it may have a turn before
		return d.park(a)
	case reads, d.ladder.Full(), d.bare && c.Bases, d.courses.Unsure(a.ordinal, at):
		a.held = true
		return nil
	case at < due:
		a.ahead, a.out = append(a.ahead, turn{at: at, null: true}), false
		return d.state.Ended(a.ordinal, d.endOf(a, d.next(a, at, due), 0))
	case at <= d.open, a.latest().Ephemeral(true), a.latest().Watches():
		return nil
	case d.really(a) >= mostAhead, c.scripted && at > d.acts, at >= d.order:
		a.held = true
		return nil
	}
	return d.begin(a, at)
}

// tells reports whether a refusal of another agent, when its wave has ended, tells an agent something that nobody foretells:
// if the other one may reach it, that it is woken by it. What it was refused itself tells it, too.
func (d *Driver) tells(a *one, other uint32) bool {
	return d.options.Mode == schedule.Tracked && d.state.Touches(a.ordinal, other)
}

// tellsFirst reports whether an agent may hear at a moment what took its time until then: if something expires in the
// world, it hears that before its turn.
func (d *Driver) tellsFirst(a *one, at schedule.Tick) (bool, error) {
	expires, err := d.ladder.Expires(at)
	return expires && d.events.Late(at, func(p *heard.Publication) bool { return d.hears(a, p) }), err
}

// hears reports whether an agent may hear an event of a turn that is no fact yet.
func (d *Driver) hears(a *one, p *heard.Publication) bool {
	if !d.classes[a.class].hearsOf(d.scene.Name(a.ordinal), p) {
		return false
	}
	return !p.Bounded || d.courses.Near(a.ordinal, p.By, p.At)
}

// toldBy is the agent that a fact of space tells something.
func (d *Driver) toldBy(f space.Fact) (o uint32, ok bool) {
	name, _, ok := machines.Concerns(f)
	if !ok {
		return 0, false
	}
	return d.scene.Ordinal(name)
}

// ran reports whether an agent had a turn ahead, or has one, after a moment.
func (d *Driver) ran(o uint32, after schedule.Tick) bool {
	a := d.agents[o]
	t := a.last()
	return t != nil && t.at > after || a.run != nil && a.run.at > after
}

// really counts the turns of an agent that ran ahead.
func (d *Driver) really(a *one) (n int) {
	for i := range a.ahead {
		if !a.ahead[i].null {
			n++
		}
	}
	return n
}

// check answers what the schedule asks about turns that ran ahead.
func (d *Driver) check() error {
	for c, ok := d.state.Check(); ok; c, ok = d.state.Check() {
		back, undone, err := d.state.Checked(c, d.seesTheSame(c))
		if err != nil {
			return err
		}
		if undone {
			d.counts.Undone++
			d.undo(back)
		}
	}
	return nil
}

// seesTheSame reports whether a turn that ran ahead would perceive the same of another agent now.
func (d *Driver) seesTheSame(c schedule.Check) bool {
	a := d.agents[c.Agent]
	k := &d.classes[a.class]
	if d.events.Any(c.At, func(p *heard.Publication) bool { return p.By == c.By && d.hears(a, p) }) {
		return false
	}
	if !k.World && !k.Surroundings {
		return true
	}
	if i, ok := slices.BinarySearchFunc(a.ahead, c.At, func(t turn, at schedule.Tick) int { return int(t.at - at) }); ok {
		return a.ahead[i].null || d.again(a, &a.ahead[i], nil)
	}
	return a.run == nil || a.run.at != c.At || d.again(a, nil, a.run)
}

// undo follows the schedule in setting an agent back.
func (d *Driver) undo(back schedule.Rollback) {
	a := d.agents[back.Agent]
	if back.Ran {
		d.dropRun(a)
		a.out, a.held = false, false
	}
	if back.Turns > 0 {
		before := d.really(a)
		defer func() { d.options.Count("viewed", before-d.really(a)) }()
		a.ahead = a.ahead[:len(a.ahead)-back.Turns]
		d.forget(a, back.To)
	}
}
