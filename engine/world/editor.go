package world

import (
	"errors"
	"fmt"
	"math"

	"tavernsim/protocol"
)

// Code says why a write was refused.
type Code string

const (
	CodeConflict    Code = "conflict"     // somebody else wrote first, or holds a lease
	CodeInvalidPath Code = "invalid_path" // no such place, out of range, reserved
	CodeWrongType   Code = "wrong_type"   // what is there does not take this operation
	CodeLimit       Code = "limit"        // a bound would be passed
	CodeDenied      Code = "denied"       // not permitted
	CodeInvalid     Code = "invalid"      // the request itself is malformed
	CodeUndone      Code = "undone"       // another request of the same group was refused
)

// Fault is a refused write.
type Fault struct {
	Code    Code
	Message string
}

func (f *Fault) Error() string { return f.Message }

// CodeOf is the code of a refusal; invalid for an error that is none.
func CodeOf(err error) Code {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Code
	}
	return CodeInvalid
}

func faultf(code Code, format string, args ...any) *Fault {
	return &Fault{code, fmt.Sprintf(format, args...)}
}

// Editor is the workbench of one commit: it edits a private copy of a document
// in place. A method that returns an error has changed nothing. An Editor is not
// safe for concurrent use.
type Editor struct {
	build   builder
	root    *object
	version int64
	changed bool
	count   bool // the write under way raises counters
	base    *Document
}

// Edit opens a workbench; what is written bears the version given.
func (d *Document) Edit(version int64) *Editor {
	own := &owner{}
	return &Editor{build: builder{own: own, ver: version}, root: d.root, version: version, base: d}
}

// Document returns what the editor holds as a document and lets go of it: the
// editor may go on, and copies again what it then touches. An editor that
// changed nothing returns the document it began with.
func (e *Editor) Document() *Document {
	if e.changed {
		e.base = &Document{root: e.root, version: e.version}
		e.build.own = &owner{}
		e.changed = false
	}
	return e.base
}

// Reset goes back to a document that an earlier Document call (or Edit) gave.
func (e *Editor) Reset(to *Document) {
	e.base, e.root, e.changed = to, to.root, false
	e.build.own = &owner{}
}

// Get reads the value at a path as it stands; shared, read-only.
func (e *Editor) Get(path Path) (any, bool) {
	node, ok := walk(e.root, path)
	if !ok {
		return nil, false
	}
	return valueOf(node), true
}

// Size is the number of bytes of the whole as canonical msgpack.
func (e *Editor) Size() int { return e.root.size() }

// VersionOf answers like [Document.VersionOf].
func (e *Editor) VersionOf(path Path) int64 {
	version := e.base.version
	if e.changed {
		version = e.version
	}
	return versionOf(e.root, version, path)
}

// Apply does one operation; see [Op] for what each means. The value is a
// protocol value or protocol.Raw.
func (e *Editor) Apply(op Op, path Path, value any) error {
	e.count = op.counts()
	switch op {
	case OpDelete, OpRemove:
		_, err := e.Delete(op, path)
		return err
	case OpSplice:
		return e.spliceValue(path, value)
	case OpSet, OpPut, OpAdd, OpPush, OpMerge, OpBump:
		node, err := e.build.value(value, len(path))
		if err != nil {
			return err
		}
		return e.do(path, &action{op: op, node: node})
	}
	return faultf(CodeInvalid, "operation %q is unknown; want set, add, push, delete or merge", op)
}

// Delete removes what is at a path, as OpDelete or OpRemove, and reports
// whether something was there.
func (e *Editor) Delete(op Op, path Path) (bool, error) {
	e.count = op.counts()
	if len(path) == 0 {
		return false, faultf(CodeInvalidPath, "the root cannot be removed")
	}
	root, removed, err := e.remove(e.root, path, 0)
	if err == nil && removed {
		e.root, e.changed = root.(*object), true
	}
	return removed, err
}

// spliceValue reads [from, drop, element...].
func (e *Editor) spliceValue(path Path, value any) error {
	node, err := e.build.value(value, len(path))
	if err != nil {
		return err
	}
	x, ok := node.(*list)
	if !ok || x.n < 2 {
		return faultf(CodeInvalid, "path %q: splice takes [from, drop, element...]", path.String())
	}
	all := x.slots()
	from, okFrom := all[0].val.(int64)
	drop, okDrop := all[1].val.(int64)
	if !okFrom || !okDrop {
		return faultf(CodeInvalid, "path %q: splice takes two integers first", path.String())
	}
	return e.do(path, &action{op: OpSplice, from: int(from), drop: int(drop), slots: all[2:]})
}

// action is what happens at the end of a path.
type action struct {
	op    Op
	node  any
	from  int
	drop  int
	slots []slot
	// born is the version that the place had while nothing was there. Objects
	// made on the way inherit it, so that a new neighbour is no conflict.
	born int64
}

func (e *Editor) do(path Path, a *action) error {
	root, err := e.write(e.root, path, 0, a)
	if err != nil {
		return err
	}
	o, ok := root.(*object)
	if !ok {
		return faultf(CodeWrongType, "the root must stay an object")
	}
	e.root, e.changed = o, true
	return nil
}

// write carries the action to the end of the path and rebuilds the way back. It
// mutates only after everything below has succeeded.
func (e *Editor) write(cur any, path Path, i int, a *action) (any, error) {
	if i == len(path) {
		return e.act(cur, true, path, a)
	}
	switch x := cur.(type) {
	case *object:
		return e.writeObject(x, path, i, a)
	case *list:
		return e.writeList(x, path, i, a)
	}
	return nil, faultf(CodeWrongType, "path %q: %s is a %s; only an object or a list has children",
		path.String(), placeName(path[:i]), typeName(cur))
}

func (e *Editor) writeObject(x *object, path Path, i int, a *action) (any, error) {
	seg := &path[i]
	if seg.Kind != Name {
		return nil, faultf(CodeWrongType, "path %q: %s is an object, not a list; name a key", path.String(), placeName(path[:i]))
	}
	old, ok := x.get(seg.Key)
	var next any
	var err error
	before := 0
	if ok {
		before = sizeOf(old.val)
		next, err = e.write(old.val, path, i+1, a)
	} else {
		a.born = x.missing(seg.Key)
		next, err = e.create(path, i+1, a)
	}
	if err != nil {
		return nil, err
	}
	x = x.owned(e.build.own)
	x.put(seg.Key, slot{next, e.version}, sizeOf(next)-before)
	e.raise(x)
	return x, nil
}

// raise counts a write on a path through an owned object.
func (e *Editor) raise(x *object) {
	if e.count && x.counted {
		x.count(e.version)
	}
}

func (e *Editor) writeList(x *list, path Path, i int, a *action) (any, error) {
	pos, err := listPosition(x, path, i)
	if err != nil {
		return nil, err
	}
	if pos == x.n {
		a.born = e.version
		next, err := e.create(path, i+1, a)
		if err != nil {
			return nil, err
		}
		x = x.owned(e.build.own)
		x.push(slot{next, e.version})
		return x, nil
	}
	old := x.at(pos)
	before := sizeOf(old.val)
	next, err := e.write(old.val, path, i+1, a)
	if err != nil {
		return nil, err
	}
	x = x.owned(e.build.own)
	x.put(pos, slot{next, e.version}, sizeOf(next)-before)
	return x, nil
}

// listPosition resolves a segment against a list: n itself only for [-].
func listPosition(x *list, path Path, i int) (int, error) {
	pos, ok := path[i].position(x.n)
	if !ok && path[i].Kind == Name {
		return 0, faultf(CodeWrongType, "path %q: %s is a list; %q is no position in it", path.String(), placeName(path[:i]), path[i].Key)
	}
	if !ok || pos > x.n || pos == x.n && path[i].Kind != Append {
		return 0, faultf(CodeInvalidPath, "path %q: %s has %d elements; position %s is out of range, [-] appends",
			path.String(), placeName(path[:i]), x.n, path[i:i+1].String())
	}
	return pos, nil
}

// create makes what is missing from path[i] on.
func (e *Editor) create(path Path, i int, a *action) (any, error) {
	if i == len(path) {
		return e.act(nil, false, path, a)
	}
	if path[i].Kind != Name {
		return nil, faultf(CodeInvalidPath, "path %q: %s does not exist; positions address existing lists only", path.String(), placeName(path[:i]))
	}
	next, err := e.create(path, i+1, a)
	if err != nil {
		return nil, err
	}
	return newObject(e.build.own, []entry{{path[i].Key, slot{next, e.version}}}, a.born), nil
}

func placeName(path Path) string {
	if len(path) == 0 {
		return "the root"
	}
	return fmt.Sprintf("%q", path.String())
}

// act does the action on what is at its place.
func (e *Editor) act(cur any, ok bool, path Path, a *action) (any, error) {
	switch a.op {
	case OpSet:
		return e.replace(cur, a.node), nil
	case OpPut:
		return a.node, nil
	case OpBump:
		return e.bump(cur, ok, path)
	case OpAdd:
		return addNumbers(cur, ok, a.node, path)
	case OpPush:
		x, err := e.listAt(cur, ok, path)
		if err != nil {
			return nil, err
		}
		x.push(slot{a.node, e.version})
		return x, nil
	case OpMerge:
		return e.merge(cur, ok, path, a)
	case OpSplice:
		return e.splice(cur, ok, path, a)
	}
	return nil, faultf(CodeInvalid, "operation %q is unknown; want set, add, push, delete or merge", a.op)
}

// replace keeps the counter of an object that is replaced by another.
func (e *Editor) replace(cur, next any) any {
	old, ok := cur.(*object)
	if !ok || !old.counted {
		return next
	}
	x, ok := next.(*object)
	if !ok {
		return next
	}
	s, _ := old.get(CounterKey)
	delta := sizeOf(s.val)
	if had, ok := x.get(CounterKey); ok {
		delta -= sizeOf(had.val)
	}
	x.put(CounterKey, slot{s.val, e.version}, delta)
	e.raise(x)
	return x
}

func (e *Editor) bump(cur any, ok bool, path Path) (any, error) {
	if !ok {
		return nil, faultf(CodeInvalidPath, "path %q: nothing is there to count", path.String())
	}
	x, isObject := cur.(*object)
	if !isObject {
		return cur, nil
	}
	x = x.owned(e.build.own)
	e.raise(x)
	return x, nil
}

func (e *Editor) listAt(cur any, ok bool, path Path) (*list, error) {
	if !ok {
		return newList(e.build.own, nil, e.version), nil
	}
	x, isList := cur.(*list)
	if !isList {
		return nil, faultf(CodeWrongType, "path %q holds a %s; want a list", path.String(), typeName(cur))
	}
	return x.owned(e.build.own), nil
}

func (e *Editor) merge(cur any, ok bool, path Path, a *action) (any, error) {
	fields, isObject := a.node.(*object)
	if !isObject {
		return nil, faultf(CodeWrongType, "path %q: merge takes an object; got a %s", path.String(), typeName(a.node))
	}
	if !ok {
		fields.born = a.born
		return fields, nil
	}
	x, isObject := cur.(*object)
	if !isObject {
		return nil, faultf(CodeWrongType, "path %q holds a %s; merge wants an object", path.String(), typeName(cur))
	}
	x = x.owned(e.build.own)
	fields.each(func(k string, s slot) bool {
		delta := sizeOf(s.val)
		if old, had := x.get(k); had {
			delta -= sizeOf(old.val)
		}
		x.put(k, s, delta)
		return true
	})
	e.raise(x)
	return x, nil
}

func (e *Editor) splice(cur any, ok bool, path Path, a *action) (any, error) {
	x, err := e.listAt(cur, ok, path)
	if err != nil {
		return nil, err
	}
	if a.from < 0 || a.drop < 0 || a.from+a.drop > x.n {
		return nil, faultf(CodeInvalidPath, "path %q: %d elements from %d on are out of range; the list has %d", path.String(), a.drop, a.from, x.n)
	}
	if a.from == x.n {
		for _, s := range a.slots {
			x.push(s)
		}
		return x, nil
	}
	old := x.slots()
	all := make([]slot, 0, len(old)-a.drop+len(a.slots))
	all = append(append(append(all, old[:a.from]...), a.slots...), old[a.from+a.drop:]...)
	return newList(e.build.own, all, e.version), nil
}

func addNumbers(cur any, ok bool, delta any, path Path) (any, error) {
	if _, isNumber := protocol.Number(delta); !isNumber {
		return nil, faultf(CodeWrongType, "path %q: add takes a number; got a %s", path.String(), typeName(delta))
	}
	if !ok {
		return delta, nil
	}
	a, aInt := cur.(int64)
	b, bInt := delta.(int64)
	if aInt && bInt {
		sum := a + b
		if (sum > a) != (b > 0) && b != 0 {
			return nil, faultf(CodeLimit, "path %q: %d + %d does not fit 64 bits", path.String(), a, b)
		}
		return sum, nil
	}
	x, isNumber := protocol.Number(cur)
	if !isNumber {
		return nil, faultf(CodeWrongType, "path %q holds a %s; add wants a number", path.String(), typeName(cur))
	}
	y, _ := protocol.Number(delta)
	if sum := x + y; !math.IsInf(sum, 0) {
		return sum, nil
	}
	return nil, faultf(CodeLimit, "path %q: %v + %v is not finite", path.String(), x, y)
}

// remove deletes the end of the path below cur.
func (e *Editor) remove(cur any, path Path, i int) (next any, removed bool, err error) {
	switch x := cur.(type) {
	case *object:
		return e.removeFromObject(x, path, i)
	case *list:
		return e.removeFromList(x, path, i)
	}
	return nil, false, faultf(CodeWrongType, "path %q: %s is a %s; only an object or a list has children",
		path.String(), placeName(path[:i]), typeName(cur))
}

func (e *Editor) removeFromObject(x *object, path Path, i int) (any, bool, error) {
	seg := &path[i]
	if seg.Kind != Name {
		return nil, false, faultf(CodeWrongType, "path %q: %s is an object, not a list; name a key", path.String(), placeName(path[:i]))
	}
	old, ok := x.get(seg.Key)
	if !ok {
		return x, false, nil
	}
	if i == len(path)-1 {
		x = x.owned(e.build.own)
		x.remove(seg.Key, old, e.version)
		e.raise(x)
		return x, true, nil
	}
	before := sizeOf(old.val)
	next, removed, err := e.remove(old.val, path, i+1)
	if err != nil || !removed {
		return x, false, err
	}
	x = x.owned(e.build.own)
	x.put(seg.Key, slot{next, e.version}, sizeOf(next)-before)
	e.raise(x)
	return x, true, nil
}

func (e *Editor) removeFromList(x *list, path Path, i int) (any, bool, error) {
	pos, err := listPosition(x, path, i)
	if err != nil {
		return nil, false, err
	}
	if pos == x.n {
		return x, false, nil
	}
	if i == len(path)-1 {
		all := x.slots()
		all = append(all[:pos], all[pos+1:]...)
		return newList(e.build.own, all, e.version), true, nil
	}
	old := x.at(pos)
	before := sizeOf(old.val)
	next, removed, err := e.remove(old.val, path, i+1)
	if err != nil || !removed {
		return x, false, err
	}
	x = x.owned(e.build.own)
	x.put(pos, slot{next, e.version}, sizeOf(next)-before)
	return x, true, nil
}
