package statecmd

import (
	"slices"
	"strings"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// push appends or prepends one element (C11, C12).
func (o *op) push() outcome {
	if o.exists && o.look.Kind != world.KindList {
		return rejectf(command.WrongType, "%q holds a %s; push wants a list", o.place.key, o.look.Kind)
	}
	if !o.exists && o.o.AllowMissing == command.No {
		return rejectf(command.Missing, "%q does not exist and allowMissing is false", o.place.key)
	}
	if o.o.Dedupe == command.Yes || len(o.o.UniqueBy) > 0 && o.o.Dedupe != command.No {
		if at := o.findElement(o.o.UniqueBy); at >= 0 {
			return o.conflict(at)
		}
	}
	position := o.o.Position
	if position == "" {
		position = "tail"
	}
	return o.insert(position)
}

// conflict is a push whose element is there already.
func (o *op) conflict(at int) outcome {
	if o.o.OnConflict != "replace" {
		return skip(command.Duplicate, "%q holds that element already at position %d", o.place.key, at)
	}
	path := o.path.At(at)
	now, _ := o.d.edit.Get(path)
	if protocol.Equal(now, o.value) {
		return skip(command.Duplicate, "%q holds exactly that element at position %d", o.place.key, at)
	}
	o.wrote = append(o.wrote, wrote{o.path, false})
	o.forgetElement(o.path, now)
	o.expireElement()
	return o.try(o.d.doRaw(world.OpSet, path, o.value, o.raw), textf("replaced position %d", at))
}

// findElement returns the position of the first element that is the same as the
// value: in the fields named, when both sides have them all, else as a whole.
func (o *op) findElement(by []string) int {
	found := -1
	mine, whole := pick(o.value, by)
	o.d.edit.Items(o.path, func(i int, v any) bool {
		same := false
		if whole {
			same = protocol.Equal(bare(v), o.value)
		} else if theirs, lacks := pick(v, by); !lacks {
			same = protocol.Equal(theirs, mine)
		}
		if same {
			found = i
		}
		return found < 0
	})
	return found
}

// pick is the part of an object that the fields name; lacks when there is no
// such part.
func pick(v any, by []string) (part map[string]any, lacks bool) {
	m, ok := v.(map[string]any)
	if !ok || len(by) == 0 {
		return nil, true
	}
	part = make(map[string]any, len(by))
	for _, name := range by {
		x, has := m[name]
		if !has {
			return nil, true
		}
		part[name] = x
	}
	return part, false
}

// insert puts the value at an end of the target list and trims the other end to
// the limit.
func (o *op) insert(position string) outcome {
	total := o.look.Len + 1
	drop := 0
	if o.o.Limit > 0 {
		drop = max(0, total-o.o.Limit)
	}
	if total-drop > command.MaxListItems {
		return rejectf(command.Limit, "%q would have %d elements; the limit is %d", o.place.key, total-drop, command.MaxListItems)
	}
	o.wrote = append(o.wrote, wrote{o.path, false})
	o.expireElement()
	if position == "head" {
		return o.try(o.insertHead(total, drop), "added at the head")
	}
	return o.try(o.insertTail(drop), "added")
}

// expireElement notes that the value is an element that expires, if it does.
func (o *op) expireElement() {
	if o.o.Expires(o.r.in.Now) == 0 {
		return
	}
	element := o.value
	if part, lacks := pick(o.value, o.o.UniqueBy); !lacks {
		element = part
	}
	o.expires = append(o.expires, expiring{path: o.path, element: element, isList: true, key: o.place.key})
}

func (o *op) insertTail(drop int) *command.Fault {
	if drop > 0 {
		o.forget(0, drop)
		if f := o.splice(0, drop); f != nil {
			return f
		}
	}
	return o.d.doRaw(world.OpPush, o.path, o.value, o.raw)
}

func (o *op) insertHead(total, drop int) *command.Fault {
	if !o.exists {
		return o.d.doRaw(world.OpPush, o.path, o.value, o.raw)
	}
	if drop > 0 {
		o.forget(total-1-drop, drop)
		if f := o.splice(total-1-drop, drop); f != nil {
			return f
		}
	}
	if f := o.d.do(world.OpSplice, o.path, []any{int64(0), int64(0), o.value}); f != nil {
		return f
	}
	return o.d.do(world.OpBump, o.path, nil)
}

func (o *op) splice(from, n int) *command.Fault {
	return o.d.do(world.OpSplice, o.path, []any{int64(from), int64(n)})
}

// forget drops the timers of elements that go.
func (o *op) forget(from, n int) {
	for i := from; i < from+n && o.d.timers.Any(o.path); i++ {
		v, _ := o.d.edit.Get(o.path.At(i))
		o.forgetElement(o.path, v)
	}
}

// forgetElement drops the timer of an element that goes.
func (o *op) forgetElement(list world.Path, v any) {
	if !o.d.timers.Any(list) {
		return
	}
	if !slices.Equal(o.leaving.List, list) {
		o.leaving = o.d.timers.Leave(list, func(yield func(int, any) bool) { o.d.edit.Items(list, yield) })
	}
	if id := o.leaving.Take(v, protocol.Encode(bare(v))); id != "" {
		o.d.setTimer(ledger.TimerChange{ID: id})
	}
}

// pull removes what matches (C13).
func (o *op) pull() outcome {
	if !o.exists {
		return skip(command.Missing, "%q does not exist", o.place.key)
	}
	if o.look.Kind != world.KindList {
		return rejectf(command.WrongType, "%q holds a %s; pull wants a list", o.place.key, o.look.Kind)
	}
	positions, values := o.matches()
	if len(positions) == 0 {
		return skip(command.NoMatch, "nothing in %q matches", o.place.key)
	}
	if o.o.SoftDelete == command.Yes {
		if f := o.recycle(values); f != nil {
			return rejected(f)
		}
	}
	o.wrote = append(o.wrote, wrote{o.path, false})
	for _, v := range values {
		o.forgetElement(o.path, v)
	}
	f := o.cutOut(positions)
	if f == nil {
		f = o.d.do(world.OpBump, o.path, nil)
	}
	return o.try(f, textf("removed %d", len(positions)))
}

// matches lists what pull takes out, in list order; count caps it from the end
// that position names.
func (o *op) matches() (positions []int, values []any) {
	o.d.edit.Items(o.path, func(i int, v any) bool {
		if (o.o.Where == nil || meets(v, o.o.Where)) && (!o.e.HasValue || o.meetsValue(v)) {
			positions, values = append(positions, i), append(values, v)
		}
		return o.o.Position == "tail" || o.o.Count == 0 || len(positions) < o.o.Count
	})
	if n := len(positions) - o.o.Count; o.o.Count > 0 && n > 0 {
		return positions[n:], values[n:]
	}
	return positions, values
}

// meetsValue is the older form: an element equal to the value, or an object with
// all the fields of the value.
func (o *op) meetsValue(v any) bool {
	if fields, ok := o.value.(map[string]any); ok && len(fields) > 0 {
		return ledger.HasFields(v, fields)
	}
	return protocol.Equal(bare(v), o.value)
}

// meets is C2: on objects every listed field is equal; on texts the keys are
// operators; on other scalars only equality is one.
func meets(v any, where map[string]any) bool {
	if _, ok := v.(map[string]any); ok {
		return ledger.HasFields(v, where)
	}
	for name, want := range where {
		if !operator(v, name, want) {
			return false
		}
	}
	return true
}

func operator(v any, name string, want any) bool {
	switch name {
	case "等于", "equals":
		return protocol.Equal(v, want)
	}
	text, isText := v.(string)
	part, partIsText := want.(string)
	if !isText || !partIsText {
		return false
	}
	switch name {
	case "包含", "contains":
		return strings.Contains(text, part)
	case "前缀", "prefix":
		return strings.HasPrefix(text, part)
	}
	return false
}

// cutOut removes positions, in runs from the end; a list that falls into many
// pieces is written anew.
func (o *op) cutOut(positions []int) *command.Fault {
	type run struct{ from, n int }
	var runs []run
	for _, p := range positions {
		if k := len(runs) - 1; k >= 0 && runs[k].from+runs[k].n == p {
			runs[k].n++
			continue
		}
		runs = append(runs, run{p, 1})
	}
	if len(runs) > 16 {
		return o.rewrite(positions)
	}
	for _, r := range slices.Backward(runs) {
		if f := o.splice(r.from, r.n); f != nil {
			return f
		}
	}
	return nil
}

func (o *op) rewrite(without []int) *command.Fault {
	rest := make([]any, 0, o.look.Len-len(without))
	o.d.edit.Items(o.path, func(i int, v any) bool {
		if len(without) > 0 && without[0] == i {
			without = without[1:]
			return true
		}
		rest = append(rest, v)
		return true
	})
	return o.d.do(world.OpPut, o.path, rest)
}
