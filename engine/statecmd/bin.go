package statecmd

import (
	"slices"
	"strconv"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// recycle puts values that are about to go into the recycle bin (C15): one
// record {key, value, deletedAt, opId, reason} each, appended to a list, or
// under their opId when the bin is an object. Several values of one entry are
// told apart by "opId:n".
func (o *op) recycle(values []any) *command.Fault {
	bin, f := o.bin()
	if f != nil {
		return f
	}
	for i, v := range values {
		id := o.opID
		if i > 0 {
			id += ":" + strconv.Itoa(i)
		}
		record := map[string]any{"key": o.place.key, "value": v, "deletedAt": o.r.in.Now.String(), "opId": id, "reason": o.o.Reason}
		if o.e.Action == command.Pull {
			record["action"] = string(command.Pull)
		}
		if f := o.bury(bin, id, record); f != nil {
			return f
		}
	}
	return o.bumpBin(bin)
}

// bin finds the recycle bin of the entry.
func (o *op) bin() (world.Path, *command.Fault) {
	key := o.o.RecycleBinKey
	if key == "" {
		key = o.place.mount.Bin
	}
	p, f := o.r.e.place(key)
	if f != nil {
		return nil, &command.Fault{Code: f.Code, Message: "recycleBinKey: " + f.Message}
	}
	if p.mount.Document != o.place.mount.Document {
		return nil, &command.Fault{Code: command.BinConflict, Message: textf("the recycle bin %q is in another document", key)}
	}
	if world.Overlap(p.path, o.path) {
		return nil, &command.Fault{Code: command.BinConflict, Message: textf("%q and the recycle bin %q lie in each other; delete it without softDelete", o.place.key, key)}
	}
	if err := o.locked(p.path); err != nil {
		return nil, &command.Fault{Code: command.Conflict, Message: err.Error()}
	}
	if perm := o.r.e.set.Permissions; perm != nil {
		if err := o.d.edit.Permitted(perm, o.r.in.Profile, o.r.in.By, world.OpPush, p.path, nil); err != nil {
			return nil, &command.Fault{Code: command.Denied, Message: err.Error()}
		}
	}
	if ro := p.mount.readOnly; ro != nil {
		if err := o.d.edit.Permitted(ro, "", "", world.OpPush, p.path, nil); err != nil {
			return nil, &command.Fault{Code: command.Protected, Message: textf("the recycle bin %q is read-only", key)}
		}
	}
	found := o.d.edit.Find(p.path)
	return found.Path, nil
}

func (o *op) bury(bin world.Path, id string, record map[string]any) *command.Fault {
	look, ok := o.d.edit.Look(bin)
	purge := o.o.Expires(o.r.in.Now)
	if purge != 0 && purge <= o.r.in.Now {
		return &command.Fault{Code: command.InvalidExpiry, Message: textf("the purge time %s is not after now (%s)", purge, o.r.in.Now)}
	}
	if purge != 0 {
		if f := o.checkTimers(); f != nil {
			return f
		}
	}
	switch {
	case ok && look.Kind == world.KindObject:
		at := bin.Key(id)
		if purge != 0 {
			o.expires = append(o.expires, expiring{path: at, key: o.place.key})
		}
		return o.d.do(world.OpPut, at, record)
	case ok && look.Kind != world.KindList:
		return &command.Fault{Code: command.WrongType, Message: textf("the recycle bin %q holds a %s; want a list or an object", bin.String(), look.Kind)}
	}
	if purge != 0 {
		o.expires = append(o.expires, expiring{path: bin, element: map[string]any{"opId": id}, isList: true, key: o.place.key})
	}
	if !ok {
		return o.d.do(world.OpPut, bin, []any{record})
	}
	n := look.Len
	if n >= command.MaxListItems { // a full bin loses its oldest record, not the ability to delete
		if oldest, ok := o.d.edit.Get(bin.At(0)); ok {
			o.forgetElement(bin, oldest)
		}
		if f := o.d.do(world.OpSplice, bin, []any{int64(0), int64(1)}); f != nil {
			return f
		}
		n--
	}
	return o.d.do(world.OpSplice, bin, []any{int64(n), int64(0), record})
}

// bumpBin raises the counters on the way to the bin that the removal itself does
// not raise: one bump per entry and object (C8).
func (o *op) bumpBin(bin world.Path) *command.Fault {
	shared := 0
	for shared < len(bin) && shared < len(o.path) && bin[shared] == o.path[shared] {
		shared++
	}
	for n := shared + 1; n <= len(bin); n++ {
		at := bin[:n:n].Key(world.CounterKey)
		if v, ok := o.d.edit.Get(at); ok {
			if count, isInt := v.(int64); isInt {
				if f := o.d.do(world.OpPut, at, count+1); f != nil {
					return f
				}
			}
		}
	}
	return nil
}

// Restoring asks to take one record out of a recycle bin.
type Restoring struct {
	Now       protocol.Time
	Bin       string // key of the bin; "" is the bin of the first mount
	OpID      string // of the record
	Overwrite bool   // replace what has come to stand in its place
	Actor, By string
	BatchID   string
	TurnID    string
}

// Restore puts what a soft delete or pull removed back in its place. The result
// is one, at index 0: rejected with "missing" when the bin holds no such record,
// with "exists" when something stands in its place.
func (e *Engine) Restore(s State, q Restoring) Decision {
	dec := e.Advance(s, q.Now)
	r := e.begin(dec.Next, Input{Now: q.Now, Actor: q.Actor, By: q.By, BatchID: q.BatchID, TurnID: q.TurnID})
	if q.Bin == "" {
		q.Bin = e.mounts[0].Bin
	}
	entry := command.Entry{Action: "restore", Key: q.Bin}
	o := op{r: r, e: &entry, o: &command.Options{}, opID: r.opID()}
	o.result = Result{Action: "restore", Key: q.Bin, OpID: o.opID}
	end := o.unbury(q)
	o.result.Status, o.result.Code, o.result.Message = end.status, end.code, end.message
	o.result.Changed = end.status == Applied
	r.results = append(r.results, o.result)
	r.record(&entry, o.result, &o)
	r.finish(&dec)
	return dec
}

func (o *op) unbury(q Restoring) outcome {
	bin, f := o.r.e.place(q.Bin)
	if f != nil {
		return rejected(f)
	}
	o.d, o.place, o.path = o.r.bench(bin.mount.Document), bin, bin.path
	at, record := o.findRecord(q.OpID)
	if record == nil {
		return rejectf(command.Missing, "the recycle bin %q holds no record %q", q.Bin, q.OpID)
	}
	key, _ := record["key"].(string)
	target, f := o.r.e.place(key)
	if f != nil {
		return rejected(f)
	}
	if target.mount.Document != bin.mount.Document {
		return rejectf(command.BinConflict, "%q belongs to another document", key)
	}
	o.place, o.result.Key, o.e.Key = target, key, key
	o.seek(target.path)
	o.before = o.r.auditValue(o.path, &o.found)
	point := o.d.save()
	if end := o.putBack(record, q.Overwrite); end.status != Applied {
		point.restore()
		return end
	}
	if f := o.d.do(world.OpDelete, at, nil); f != nil {
		point.restore()
		return rejected(f)
	}
	for _, id := range o.d.timers.Below(bin.path, true) { // the purge of this record
		t, _ := o.d.timers.Get(id)
		want, _ := t.Element.Value()
		if fits, _ := ledger.Matches(want, record); fits || slices.Equal(t.Path, at) {
			o.d.setTimer(ledger.TimerChange{ID: id})
		}
	}
	return outcome{Applied, command.OK, "restored"}
}

// findRecord looks in both forms of a bin.
func (o *op) findRecord(opID string) (at world.Path, record map[string]any) {
	if v, ok := o.d.edit.Get(o.path.Key(opID)); ok {
		record, _ = v.(map[string]any)
		return o.path.Key(opID), record
	}
	o.d.edit.Items(o.path, func(i int, v any) bool {
		if m, ok := v.(map[string]any); ok && m["opId"] == opID {
			at, record = o.path.At(i), m
		}
		return record == nil
	})
	return at, record
}

func (o *op) putBack(record map[string]any, overwrite bool) outcome {
	value := record["value"]
	if record["action"] == string(command.Pull) {
		return o.try(o.d.do(world.OpPush, o.path, value), "restored")
	}
	if last := o.path[len(o.path)-1]; last.Kind != world.Name {
		list := o.path[:len(o.path)-1]
		look, ok := o.d.edit.Look(list)
		if !ok || look.Kind != world.KindList {
			return rejectf(command.Missing, "the list of %q is gone", o.place.key)
		}
		f := o.d.do(world.OpSplice, list, []any{int64(min(last.Pos, look.Len)), int64(0), value})
		return o.try(f, "restored")
	}
	if o.exists && !overwrite {
		return rejectf(command.Exists, "%q exists; restore with overwrite replaces it", o.place.key)
	}
	return o.try(o.d.do(world.OpSet, o.path, value), "restored")
}
