package shadows

import (
	"math"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/schedule"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Wave is a wave that has ended.
type Wave struct {
	At     protocol.Time
	Number uint64
	View   *machines.View // of the services, behind it
	Facts  []Kept         // of it that are no turn's
	Next   []Next         // of each agent
	Script protocol.Time  // when the script acts although nothing happens; 0 = never
	Order  protocol.Time  // when the next order from outside is carried out, before the turns of that moment; 0 = that is not known
}

// Next is what the agenda knows of the next turn of an agent.
type Next struct {
	At    protocol.Time // 0 = none
	Rests bool          // nothing that it hears wakes it
	Waits bool          // until those have had a turn to whose full lanes it published
}

// NextOf reads it where an agent stands.
func NextOf(s agenda.Standing) Next {
	return Next{At: s.Next, Rests: s.Resting || s.GivenUp, Waits: len(s.WaitsFor) > 0}
}

// Closed tells of a wave that has ended. The driver keeps it.
func (d *Driver) Closed(w *Wave) {
	if d != nil {
		d.tell(func() error { return d.closedWave(w) })
	}
}

// Kept is a fact of the committed run.
type Kept struct {
	Actor string
	Fact  protocol.Fact
}

func (d *Driver) closedWave(w *Wave) error {
	at := w.At
	clear(d.touched)
	moment := d.tick.of(at)
	foreseen := make([]schedule.Tick, len(d.agents))
	for o, a := range d.agents {
		foreseen[o] = d.dueAfter(a, moment+1)
	}
	list := make([]protocol.Fact, len(w.Facts))
	for i := range w.Facts {
		list[i] = w.Facts[i].Fact
	}
	foretold := d.events.Committed(moment, list)
	var steps []space.Fact
	for _, k := range w.Facts {
		known, o := false, uint32(0)
		if f, ok := k.Fact.(space.Fact); ok {
			steps = append(steps, f)
			if o, known = d.toldBy(f); known {
				known = d.courses.Hear(o, moment, f) && !d.touched[o]
			}
		}
		touched := d.touched
		if _, event := k.Fact.(*bus.Routed); event { // the end of the wave tells who heard it
			d.touched = map[uint32]bool{}
		}
		err := d.fold.Apply(protocol.Record{Time: at, Actor: k.Actor}, k.Fact)
		if d.touched = touched; err != nil {
			return err
		}
		if known {
			delete(d.touched, o) // its turns ahead know
		}
	}
	moved, err := d.courses.Committed(moment, steps)
	if err != nil {
		return err
	}
	touched := d.touched
	d.touched = map[uint32]bool{}
	err = d.fold.Apply(protocol.Record{Time: at, Actor: setup.ActorScene}, &agenda.WaveClosed{Wave: w.Number})
	for o := range d.touched {
		touched[o] = touched[o] || !foretold[o]
	}
	if d.touched = touched; err != nil {
		return err
	}
	for _, o := range d.events.Wrong() {
		d.touched[o] = true
	}
	d.view, d.open, d.order = w.View, moment, d.tick.of(w.Order)
	if d.options.Mode == schedule.Tracked {
		d.acts = d.tick.of(w.Script)
	}
	starts := !d.started
	d.started = true
	d.tasks()
	d.bare = d.wants()
	d.ladder.Commit(moment, w.View.WorldState())
	for o, a := range d.agents {
		n := &w.Next[o]
		due, other := d.tick.of(n.At), a.rests != n.Rests || a.waits != n.Waits
		told := a.stays && a.until <= moment
		if told {
			a.stays = false
		}
		if !d.touched[uint32(o)] && !moved[uint32(o)] {
			if err := d.pass(a, moment); err != nil {
				return err
			}
			if due == foreseen[o] && !told && !starts && !other {
				a.due = due
				continue
			}
		}
		a.due, a.rests, a.waits = due, n.Rests, n.Waits
		if err := d.setBack(a, moment); err != nil {
			return err
		}
	}
	return d.goOn()
}

// wants reports whether entries of bases lack vectors. The scene asks for them in a wave of its own before time goes on, or later if
// that fails: until then nobody knows what a search finds.
func (d *Driver) wants() bool {
	bases, _ := d.view.Shown(knowledge.Service).(knowledge.State)
	return bases.Wants(math.MaxInt64) > 0
}

// tasks notes when the leases and tasks of agents end, of which nobody foretells what the agents are told.
func (d *Driver) tasks() {
	for _, a := range d.agents {
		a.told = schedule.Never
	}
	if held := d.view.WorldState().Leases(); !held.Empty() {
		for _, h := range held.Held(0) {
			if o, ok := d.scene.Ordinal(h.Holder); ok {
				d.agents[o].told = d.tick.of(d.agenda.Grid(h.Until))
			}
		}
	}
	open, _ := d.view.Shown(tooltask.Service).(tooltask.State)
	between := schedule.Never
	for _, t := range open.Open() {
		knows := d.tick.of(d.agenda.Grid(t.Due)) + 1 // the wave of its end decides it behind its turns
		switch t.Kind {
		case tooltask.KindPerson: // who may answer at any time
			knows = d.open
		case tooltask.KindAgent:
			between = min(between, knows)
		}
		hear := []string{t.Agent}
		if w := open.WorkOn(t.ID); w != nil {
			hear = append(hear, w.By)
		}
		for _, name := range hear {
			if o, ok := d.scene.Ordinal(name); ok {
				d.agents[o].told = min(d.agents[o].told, knows)
			}
		}
	}
	for _, a := range d.agents {
		if d.classes[a.class].Tasks {
			a.told = min(a.told, between)
		}
	}
}

// setBack undoes all that an agent did ahead. One that stays has done nothing.
func (d *Driver) setBack(a *one, moment schedule.Tick) error {
	d.missed(a)
	if a.stays {
		return nil
	}
	since, wrote := min(moment, a.due-1), a.wrote // a moment may have another wave
	a.wrote = 0
	return d.state.Missed(a.ordinal, since, d.endOf(a, d.after(a, since), wrote))
}
