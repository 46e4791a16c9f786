package statecmd

import (
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// permitted is the part of step 9 that can be asked first.
func (o *op) permitted() *command.Fault {
	if o.r.e.set.Permissions != nil || o.place.mount.readOnly != nil || o.r.in.Locks != nil {
		if f := o.permittedAt(o.path, o.value, o.look.Kind); f != nil {
			return f
		}
	}
	return o.guard()
}

// permittedAt asks for what the entry writes: a deep merge writes its leaves, a
// shallow one its fields, add to an object its new keys, add to a list its new
// element, anything else the target.
func (o *op) permittedAt(path world.Path, value any, kind string) *command.Fault {
	fields, isObject := value.(map[string]any)
	into := isObject && kind == world.KindObject
	switch {
	case o.e.Action == command.Delete || o.e.Action == command.Pull:
		return o.permit(world.OpDelete, path, nil)
	case o.e.Action == command.Push, o.e.Action == command.Add && kind == world.KindList:
		if o.o.Limit > 0 || o.o.Position == "head" || len(o.o.UniqueBy) > 0 { // others may go, move or be replaced
			return o.permit(world.OpSet, path, value)
		}
		return o.permit(world.OpPush, path, value)
	case o.e.Action == command.Add && len(o.o.UniqueBy) > 0 && kind != world.KindList:
		if key, f := uniqueKey(fields, o.o.UniqueBy); f == nil {
			path = path.Key(key)
		}
	case into && o.strategy() == "deep" && o.e.Action != command.Add:
		for _, k := range protocol.SortedKeys(fields) {
			look, _ := o.d.edit.Look(path.Key(k))
			if f := o.permittedAt(path.Key(k), fields[k], look.Kind); f != nil {
				return f
			}
		}
		return nil
	case into && (o.strategy() == "shallow" || o.e.Action == command.Add):
		return o.permit(world.OpMerge, path, value)
	}
	return o.permit(world.OpSet, path, value)
}

func (o *op) permit(write world.Op, path world.Path, value any) *command.Fault {
	if err := o.locked(path); err != nil {
		return &command.Fault{Code: command.Conflict, Message: err.Error()}
	}
	if p := o.r.e.set.Permissions; p != nil {
		if err := o.d.edit.Permitted(p, o.r.in.Profile, o.r.in.By, write, path, value); err != nil {
			return &command.Fault{Code: command.Denied, Message: err.Error()}
		}
	}
	if p := o.place.mount.readOnly; p != nil {
		if err := o.d.edit.Permitted(p, "", "", write, path, value); err != nil {
			return &command.Fault{Code: command.Protected, Message: textf("%q is read-only", o.place.key)}
		}
	}
	return nil
}

// locked refuses a write that a lock forbids.
func (o *op) locked(path world.Path) error {
	if o.r.in.Locks == nil || o.place.mount.Document != o.r.e.mounts[0].Document {
		return nil
	}
	return o.r.in.Locks.Check(o.r.in.Now, o.r.in.By, path)
}

func (o *op) guard() *command.Fault {
	g := o.place.mount.Guard
	if g == nil {
		return nil
	}
	rel := o.path[len(o.place.mount.Root):]
	has := func(p world.Path) bool {
		_, ok := o.d.edit.Look(append(append(world.Path{}, o.place.mount.Root...), p...))
		return ok
	}
	if f := g.checkRoot(rel, has); f != nil && o.e.Action != command.Delete && o.e.Action != command.Pull {
		return f
	}
	if !o.mergesInto() {
		if f := g.checkWhole(rel); f != nil {
			return f
		}
	}
	if len(g.Types) == 0 || !o.e.HasValue || o.e.Action == command.Pull || o.e.Action == command.Delete {
		return nil
	}
	if o.e.Action == command.Push {
		rel = rel.At(o.look.Len)
	}
	var coerced []string
	v, f := g.coerce(rel, o.value, &coerced)
	if f != nil {
		return f
	}
	for _, at := range coerced {
		o.warn(command.WarnCoerced, "%q was turned into the type that the document wants", at)
	}
	if len(coerced) > 0 {
		o.value, o.raw = v, protocol.Encode(v)
	}
	return nil
}

// mergesInto reports whether the entry changes what is in its target and leaves
// the target standing.
func (o *op) mergesInto() bool {
	if o.e.Action == command.Push || o.e.Action == command.Pull || o.e.Action == command.Add || o.e.Action == command.Ensure {
		return true
	}
	_, isObject := o.value.(map[string]any)
	return o.strategy() != "replace" && isObject && o.look.Kind == world.KindObject
}
