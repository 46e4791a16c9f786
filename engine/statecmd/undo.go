package statecmd

import (
	"slices"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/memory"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Undoing asks to take back what led from one kept state to another.
type Undoing struct {
	Now       protocol.Time
	From, To  State // before and after what is to be undone
	Actor, By string
	BatchID   string
	TurnID    string
}

// Undo puts back what From held wherever To differs from it. The result is one,
// at index 0: rejected with "conflict", and nothing done, when one of the places
// was written after To. Counters are not turned back but raised: who read before
// the undoing must not pass for up to date. Timers of the places are dropped;
// idempotency keys stay, so what was undone is not repeated by a retry.
func (e *Engine) Undo(s State, q Undoing) Decision {
	dec := e.Advance(s, q.Now)
	r := e.begin(dec.Next, Input{Now: q.Now, Actor: q.Actor, By: q.By, BatchID: q.BatchID, TurnID: q.TurnID})
	entry := command.Entry{Action: "undo"}
	res := Result{Action: "undo", OpID: r.opID()}
	end := r.takeBack(q)
	res.Status, res.Code, res.Message, res.Changed = end.status, end.code, end.message, end.code == command.OK
	r.results = append(r.results, res)
	r.record(&entry, res, nil)
	r.finish(&dec)
	return dec
}

func (r *run) takeBack(q Undoing) outcome {
	var points []savepoint
	changed := 0
	for _, name := range q.To.Documents() {
		d := r.bench(name)
		points = append(points, d.save())
		n, f := d.takeBack(q.From.Document(name), q.To.Document(name))
		if f != nil {
			r.restore(points)
			return rejected(f)
		}
		changed += n
	}
	if changed == 0 {
		return outcome{Applied, command.Unchanged, "there was nothing to undo"}
	}
	return outcome{Applied, command.OK, textf("%d places are as they were", changed)}
}

func (d *workbench) takeBack(from, to *world.Document) (n int, f *command.Fault) {
	differences := slices.DeleteFunc(world.Diff(to, from), func(x world.Difference) bool {
		return len(x.Path) > 0 && x.Path[len(x.Path)-1].Key == world.CounterKey
	})
	for _, x := range differences {
		now, ok := d.edit.Get(x.Path)
		if ok != x.BeforePresent || !protocol.Equal(bare(now), bare(x.Before)) {
			return 0, &command.Fault{Code: command.Conflict, Message: textf("%q was written after what is to be undone; nothing was changed", x.Path.String())}
		}
	}
	for _, x := range slices.Backward(differences) {
		if f := d.putBack(x); f != nil {
			return 0, f
		}
	}
	return len(differences), nil
}

// putBack writes one place as it was; a value that comes back brings its counter.
func (d *workbench) putBack(x world.Difference) *command.Fault {
	for _, id := range d.timers.Below(x.Path, true) {
		d.setTimer(memory.TimerChange{ID: id})
	}
	if !x.AfterPresent {
		return d.do(world.OpDelete, x.Path, nil)
	}
	if f := d.do(world.OpPut, x.Path, x.After); f != nil {
		return f
	}
	return d.do(world.OpBump, x.Path, nil)
}
