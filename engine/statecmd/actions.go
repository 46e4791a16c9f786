package statecmd

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// act is step 8.
func (o *op) act() outcome {
	switch o.e.Action {
	case command.Add:
		return o.add()
	case command.Push:
		return o.push()
	case command.Pull:
		return o.pull()
	case command.Delete:
		return o.delete()
	}
	return o.write()
}

// applied ends an action that did what it had to.
func applied(format string, args ...any) outcome {
	return outcome{status: Applied, message: textf(format, args...)}
}

func (o *op) try(f *command.Fault, message string) outcome {
	if f != nil {
		return rejected(f)
	}
	return applied("%s", message)
}

// write is set, update, patch and ensure.
func (o *op) write() outcome {
	if !o.exists {
		if o.o.AllowMissing == command.No {
			return rejectf(command.Missing, "%q does not exist and allowMissing is false", o.place.key)
		}
		return o.replace(nil, "created")
	}
	now := o.found.Value()
	fields, isObject := o.value.(map[string]any)
	target, wasObject := now.(map[string]any)
	if isObject && wasObject {
		switch o.strategy() {
		case "shallow":
			return o.shallow(target, fields)
		case "deep":
			return o.deep(target, fields)
		}
	}
	if protocol.Equal(bare(now), o.value) {
		o.settle(o.path, o.value)
		return applied("already so")
	}
	return o.replace(now, "replaced")
}

// replace sets the whole target.
func (o *op) replace(now any, message string) outcome {
	value, raw := o.value, o.raw
	if kept := carry(now, value, true); kept != nil {
		value, raw = kept, protocol.Encode(kept)
	}
	f := o.d.doRaw(world.OpSet, o.path, value, raw)
	if f == nil {
		_, isObject := value.(map[string]any)
		o.whole = !isObject // an object may have kept its counter
		o.settle(o.path, o.value)
	}
	return o.try(f, message)
}

// settle notes that a place was written as a whole and what of it expires.
func (o *op) settle(path world.Path, value any) {
	o.wrote = append(o.wrote, wrote{path, true})
	o.expire(path, value)
}

func (o *op) expire(path world.Path, value any) {
	if o.o.Expires(o.r.in.Now) == 0 {
		return
	}
	last := len(path) - 1
	if path[last].Kind != world.Name {
		o.expires = append(o.expires, expiring{path: path[:last], element: value, isList: true, key: o.place.key})
		return
	}
	o.expires = append(o.expires, expiring{path: path, key: o.place.key})
}

// carry gives the objects in a value that replace counted objects their counter,
// one higher; the topmost is left to the document. nil means that there was
// nothing to carry.
func carry(old, value any, top bool) any {
	was, ok := old.(map[string]any)
	m, isObject := value.(map[string]any)
	if !ok || !isObject {
		return nil
	}
	var out map[string]any
	put := func(k string, v any) {
		if out == nil {
			out = make(map[string]any, len(m)+1)
			maps.Copy(out, m)
		}
		out[k] = v
	}
	for k, v := range m {
		if before, had := was[k]; had {
			if kept := carry(before, v, false); kept != nil {
				put(k, kept)
			}
		}
	}
	if n, counted := was[world.CounterKey].(int64); counted && !top {
		put(world.CounterKey, n+1)
	}
	if out == nil {
		return nil
	}
	return out
}

// shallow sets the fields that differ.
func (o *op) shallow(target, fields map[string]any) outcome {
	differ := map[string]any{}
	for _, k := range protocol.SortedKeys(fields) { // timers end in this order, and are in the fact
		v := fields[k]
		o.wrote = append(o.wrote, wrote{o.path.Key(k), true})
		now, had := target[k]
		if had && protocol.Equal(bare(now), v) {
			continue
		}
		differ[k] = v
		if kept := carry(now, v, false); kept != nil {
			differ[k] = kept
		}
	}
	o.merged()
	if len(differ) == 0 {
		return applied("already so")
	}
	return o.try(o.d.do(world.OpMerge, o.path, differ), "merged")
}

// merged notes a merge into the target: the target's own timer is replaced, what
// else is in it keeps its own.
func (o *op) merged() {
	o.wrote = append(o.wrote, wrote{o.path, false})
	o.expire(o.path, nil)
}

// deep sets the leaves that differ.
func (o *op) deep(target, fields map[string]any) outcome {
	changed, f := o.deepInto(o.path, target, fields)
	o.merged()
	if f == nil && changed {
		f = o.d.do(world.OpBump, o.path, nil)
	}
	if f == nil && !changed {
		return applied("already so")
	}
	return o.try(f, "merged")
}

func (o *op) deepInto(path world.Path, target, fields map[string]any) (changed bool, f *command.Fault) {
	for _, k := range protocol.SortedKeys(fields) {
		v, at := fields[k], path.Key(k)
		now, had := target[k]
		inner, isObject := v.(map[string]any)
		into, wasObject := now.(map[string]any)
		if isObject && wasObject {
			below, f := o.deepInto(at, into, inner)
			if f != nil {
				return changed, f
			}
			changed = changed || below
			if n, counted := into[world.CounterKey].(int64); counted && below {
				if f := o.d.do(world.OpPut, at.Key(world.CounterKey), n+1); f != nil {
					return changed, f
				}
			}
			continue
		}
		o.wrote = append(o.wrote, wrote{at, true})
		if had && protocol.Equal(now, v) {
			continue
		}
		if f := o.d.do(world.OpPut, at, v); f != nil {
			return changed, f
		}
		changed = true
	}
	return changed, nil
}

// add is C1: it increments a number, appends to a list, or inserts new keys into
// an object; it never overwrites.
func (o *op) add() outcome {
	_, isNumber := protocol.Number(o.value)
	if o.o.Limit > 0 && o.look.Kind != world.KindList {
		o.warn(command.WarnIgnored, "limit on add holds for lists only and was ignored")
	}
	switch {
	case o.exists && o.look.Kind == world.KindList:
		return o.addElement()
	case len(o.o.UniqueBy) > 0:
		return o.addKey()
	case !o.exists:
		return o.replace(nil, "created")
	case isNumber && o.look.Kind == world.KindNumber:
		return o.increment()
	case o.look.Kind == world.KindObject:
		return o.addFields()
	}
	return rejectf(command.WrongType, "%q holds a %s; add takes a number onto a number, anything onto a list, an object onto an object", o.place.key, o.look.Kind)
}

func (o *op) increment() outcome {
	if o.o.Expires(o.r.in.Now) != 0 {
		o.warn(command.WarnIgnored, "ttl on add holds for a new entry only and was ignored")
	}
	now := o.found.Value()
	o.wrote = append(o.wrote, wrote{o.path, false})
	_, aInt := now.(int64)
	_, bInt := o.value.(int64)
	if aInt && bInt {
		if o.value == int64(0) {
			return applied("adding 0 changes nothing")
		}
		return o.try(o.d.doRaw(world.OpAdd, o.path, o.value, o.raw), "increased")
	}
	a, _ := protocol.Number(now)
	b, _ := protocol.Number(o.value)
	sum := roundSum(a + b)
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return rejectf(command.Limit, "%v + %v is not finite", now, o.value)
	}
	if sum == a {
		return applied("the sum is the same")
	}
	return o.try(o.d.do(world.OpSet, o.path, sum), "increased")
}

// roundSum keeps 12 significant digits, so that 0.1 + 0.2 is 0.3 (C28).
func roundSum(f float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// addKey inserts under a key that comes from the value's own fields.
func (o *op) addKey() outcome {
	if o.exists && o.look.Kind != world.KindObject {
		return rejectf(command.WrongType, "%q holds a %s; add with uniqueBy wants an object or a list", o.place.key, o.look.Kind)
	}
	fields, ok := o.value.(map[string]any)
	if !ok {
		return rejectf(command.WrongType, "add with uniqueBy inserts an object; got %s", kindOf(o.value))
	}
	key, f := uniqueKey(fields, o.o.UniqueBy)
	if f != nil {
		return rejected(f)
	}
	at := o.path.Key(key)
	if len(at) > world.MaxPathDepth {
		return rejectf(command.Limit, "%q would nest deeper than %d segments", o.place.key, world.MaxPathDepth)
	}
	if _, has := o.d.edit.Look(at); has {
		return rejectf(command.UniqueConflict, "%q has an entry %q already", o.place.key, key)
	}
	o.settle(at, o.value)
	return o.try(o.d.doRaw(world.OpSet, at, o.value, o.raw), textf("added %q", key))
}

// uniqueKey joins the values of the fields with "|".
func uniqueKey(fields map[string]any, names []string) (string, *command.Fault) {
	parts := make([]string, len(names))
	for i, name := range names {
		switch x := fields[name].(type) {
		case string:
			parts[i] = x
		case int64:
			parts[i] = strconv.FormatInt(x, 10)
		case bool, float64:
			parts[i] = textf("%v", x)
		}
		if parts[i] == "" {
			return "", &command.Fault{Code: command.InvalidValue, Message: textf("uniqueBy: the value's field %q is %s; want a text or number to be the key", name, kindOf(fields[name]))}
		}
	}
	key := strings.Join(parts, "|")
	if world.Reserved(key) || len(key) > command.MaxKey {
		return "", &command.Fault{Code: command.Reserved, Message: textf("uniqueBy: %.60q cannot be a key", key)}
	}
	return key, nil
}

func (o *op) addFields() outcome {
	fields, ok := o.value.(map[string]any)
	if !ok {
		return rejectf(command.WrongType, "%q holds an object; add inserts an object's fields, got %s", o.place.key, kindOf(o.value))
	}
	for _, k := range protocol.SortedKeys(fields) {
		if _, has := o.d.edit.Look(o.path.Key(k)); has {
			return rejectf(command.UniqueConflict, "%q has an entry %q already; nothing was added", o.place.key, k)
		}
	}
	if len(fields) == 0 {
		return applied("nothing to add")
	}
	for _, k := range protocol.SortedKeys(fields) {
		o.settle(o.path.Key(k), fields[k])
	}
	return o.try(o.d.doRaw(world.OpMerge, o.path, o.value, o.raw), "added")
}

func (o *op) addElement() outcome {
	if at := o.findElement(o.o.UniqueBy); at >= 0 {
		return rejectf(command.UniqueConflict, "%q holds that element already at position %d", o.place.key, at)
	}
	return o.insert("tail")
}

// delete removes the target, or moves it to the recycle bin.
func (o *op) delete() outcome {
	if !o.exists {
		return o.deleteMissing()
	}
	if o.o.Cascade == command.No && o.filled() {
		return rejectf(command.NotEmpty, "%q is not empty and cascade is false", o.place.key)
	}
	if o.o.SoftDelete == command.Yes {
		value := o.found.Value()
		if f := o.recycle([]any{value}); f != nil {
			return rejected(f)
		}
	}
	o.wrote = append(o.wrote, wrote{o.path, true})
	f := o.d.doRaw(world.OpDelete, o.path, nil, nil)
	if last := len(o.path) - 1; f == nil && o.path[last].Kind == world.Index {
		o.forgetElement(o.path[:last], o.found.Value())
	}
	if o.o.SoftDelete == command.Yes {
		return o.try(f, "moved to the recycle bin")
	}
	return o.try(f, "removed")
}

// filled reports whether the target has children other than its counter.
func (o *op) filled() bool {
	n := o.look.Len
	if o.look.Kind == world.KindObject {
		if _, counted := o.d.edit.Look(o.path.Key(world.CounterKey)); counted {
			n--
		}
	}
	return n > 0
}

// deleteMissing tells what is absent from a path that cannot be: allowMissing
// never masks the latter.
func (o *op) deleteMissing() outcome {
	if _, err := o.d.edit.Delete(world.OpDelete, o.path); err != nil {
		if f := faultOf(err); f.Code != command.OutOfRange {
			return rejected(f)
		}
	}
	if o.o.AllowMissing == command.Yes {
		return applied("nothing was there")
	}
	return rejectf(command.Missing, "%q does not exist; allowMissing:true would accept that", o.place.key)
}
