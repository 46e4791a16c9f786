package statecmd

import (
	"slices"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Advance lets time pass to a moment: what has expired by then is removed, in
// the order of its times, by the actor "system". Nothing due: the same state and
// no fact.
func (e *Engine) Advance(s State, now protocol.Time) Decision {
	dec := Decision{Next: s, Results: []Result{}, Warnings: []command.Warning{}}
	r := e.begin(s, Input{Now: now, Actor: "system", By: "system"})
	for i := range s.docs {
		first, ok := s.docs[i].timers.First()
		if !ok || first.Until > now {
			continue
		}
		r.expire(r.bench(s.docs[i].name))
	}
	r.finish(&dec)
	return dec
}

func (r *run) expire(d *workbench) {
	for {
		next, ok := d.timers.First()
		if !ok || next.Until > r.in.Now {
			return
		}
		t, _ := d.timers.Get(next.ID)
		d.setTimer(ledger.TimerChange{ID: next.ID})
		r.expireOne(d, t)
	}
}

func (r *run) expireOne(d *workbench, t ledger.Timer) {
	path := t.Path
	if slices.ContainsFunc(path, func(s world.Segment) bool { return s.Kind != world.Name }) {
		d.due = ledger.Expiring{} // a list in a list, which this timer changes
	}
	if t.Element != nil {
		at := d.due.Find(d.edit, &t)
		if at < 0 {
			return
		}
		path = path.At(at)
	}
	found := d.edit.Find(path)
	if !found.Exists {
		return
	}
	before := r.auditValue(path, &found)
	if f := d.do(world.OpDelete, path, nil); f != nil {
		d.due = ledger.Expiring{}
		return // the place has become something else; there is nothing left to remove
	}
	for _, id := range d.timers.Below(path, true) {
		d.setTimer(ledger.TimerChange{ID: id})
	}
	r.audit = append(r.audit, Record{OpID: r.opID(), Time: r.in.Now, Actor: "system", Action: "expire", Key: t.Key,
		Before: before, Options: protocol.Encode(map[string]any{"setBy": t.OpID, "expiresAt": t.Until.String()}),
		Status: Applied, Code: command.OK, BeforeExists: true, Version: d.base.doc.Version() + 1})
}
