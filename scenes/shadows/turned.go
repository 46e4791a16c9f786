package shadows

import (
	"bytes"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/schedule"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// Handed is what a committed turn hands over.
type Handed struct {
	Agent   uint32        // ordinal
	At      protocol.Time // when the deliberation began
	Facts   []protocol.KindData
	End     agentfact.TurnEnded // the last of them
	Effects []protocol.Sequenced
}

// Turned tells of the end of a committed turn: the agent's state behind it, and what it hands
// over. The driver reads both.
func (d *Driver) Turned(state agent.State, in *Handed) {
	if d != nil {
		d.tell(func() error { return d.turned(state, in) })
	}
}

func (d *Driver) turned(state agent.State, in *Handed) error {
	a, at, end := d.agents[in.Agent], d.tick.of(in.At), &in.End
	if err := d.charge(in); err != nil {
		return err
	}
	a.base.State = state
	a.due = d.tick.of(machines.Due(&d.agenda, end, in.At))
	a.deaf, a.least = d.wakes(end, in.At)
	d.open = max(d.open, at)
	d.calls += end.ModelCalls
	if err := d.pass(a, at-1); err != nil {
		return err
	}
	if len(a.ahead) > 0 && d.same(&a.ahead[0], at, end, in) {
		d.counts.Used++
		d.options.Count("used", 1)
		a.ahead = a.ahead[1:]
		return d.whole(a, d.state.Committed(a.ordinal, at, d.endOf(a, d.after(a, at), wrote(in.Effects))))
	}
	had := len(a.ahead) > 0
	d.missed(a)
	effect := d.effectOf(at, end)
	if a.until < at { // its effects were dropped, and no wave came of them
		a.stays = false
	}
	if !d.follows(a, effect, in.Effects) {
		if !a.stays {
			a.stays, a.until = true, effect
		}
		a.until = max(a.until, effect)
	}
	if err := d.effect(a, at, effect, in.Effects); err != nil {
		return err
	}
	e := d.endOf(a, d.after(a, at), wrote(in.Effects))
	if a.stays {
		a.wrote |= e.Wrote
		e = d.endOf(a, a.until, 0)
		e.Stays = true
	}
	if had {
		return d.state.Missed(a.ordinal, at, e)
	}
	return d.state.Committed(a.ordinal, at, e)
}

// after is the next turn behind a committed one, not before the moment after it.
func (d *Driver) after(a *one, at schedule.Tick) schedule.Tick {
	return max(d.next(a, at, d.dueAfter(a, schedule.Never)), at+1)
}

// endOf is how a turn ended, for the schedule.
func (d *Driver) endOf(a *one, next schedule.Tick, wrote schedule.Resource) schedule.End {
	return schedule.End{Next: next, Place: d.courses.Place(a.ordinal, next), Wrote: wrote}
}

// same reports whether a turn that ran ahead is the committed one, but for the number of the wave.
func (d *Driver) same(t *turn, at schedule.Tick, end *agentfact.TurnEnded, in *Handed) bool {
	if t.null || t.at != at || len(t.facts) != len(in.Facts) || len(t.effects) != len(in.Effects) {
		return false
	}
	for i := range t.facts {
		if t.facts[i].Kind != in.Facts[i].Kind {
			return false
		}
		if t.facts[i].Kind != agentfact.FactTurnEnded && !bytes.Equal(t.facts[i].Data, in.Facts[i].Data) {
			return false
		}
	}
	for i := range t.effects {
		if t.effects[i].To != in.Effects[i].To || !bytes.Equal(t.effects[i].Data, in.Effects[i].Data) {
			return false
		}
	}
	mine := t.end
	mine.Wave = end.Wave
	a, err := d.options.Codec.Marshal(&mine)
	b, err2 := d.options.Codec.Marshal(end)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// whole holds the driver's turns to those of the schedule.
func (d *Driver) whole(a *one, err error) error {
	if n := d.state.Look(a.ordinal).Ahead; err == nil && n != len(a.ahead) {
		err = protocol.Errorf(protocol.KindInternal, "%s is %d turns ahead, and by the schedule %d", d.scene.Name(a.ordinal), len(a.ahead), n)
	}
	return err
}

// pass commits the turns up to a moment in which an agent was not due.
func (d *Driver) pass(a *one, upTo schedule.Tick) error {
	for len(a.ahead) > 0 && a.ahead[0].null && a.ahead[0].at <= upTo {
		at, next := a.ahead[0].at, d.state.Look(a.ordinal).Next
		if len(a.ahead) > 1 {
			next = a.ahead[1].at
		} else if a.out {
			next = a.outAt
		}
		a.ahead = a.ahead[1:]
		if err := d.whole(a, d.state.Committed(a.ordinal, at, d.endOf(a, next, 0))); err != nil {
			return err
		}
	}
	return nil
}

// missed drops what ran ahead of an agent: the committed run did something else.
func (d *Driver) missed(a *one) {
	from := schedule.Never
	if len(a.ahead) > 0 {
		from = a.ahead[0].at
	}
	if n := d.really(a); n > 0 {
		d.counts.Missed++
		d.options.Count("committed", n)
	}
	d.forget(a, from)
	a.ahead = nil
	d.dropRun(a)
	a.out, a.held = false, false
}

// forget takes back what the turns of an agent asked for from a time on.
func (d *Driver) forget(a *one, from schedule.Tick) {
	d.ladder.Forget(a.ordinal, from)
	d.courses.Forget(a.ordinal, from)
	d.events.Forget(a.ordinal, from)
}

func (d *Driver) dropRun(a *one) {
	if a.run != nil {
		a.run.end()
		a.run = nil
	}
}

// park leaves the turn that an agent has begun to the committed run.
func (d *Driver) park(a *one) error {
	d.dropRun(a)
	a.held = false
	return d.state.Park(a.ordinal)
}
