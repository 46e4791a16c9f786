package statecmd

import (
	"slices"

	"github.com/zeebo/xxh3"

	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// op is one entry under way.
type op struct {
	r      *run
	e      *command.Entry
	mine   command.Entry // a copy of the input's; e points here
	o      *command.Options
	none   command.Options // stands in for absent ones
	d      *workbench
	place  place
	path   world.Path // of the target, list positions counted from the front
	opID   string
	value  any          // of the entry, cleaned
	raw    protocol.Raw // value, encoded
	found  world.Found  // the target before the entry
	look   world.Look   // of it
	exists bool
	whole  bool // the target was set to raw as a whole

	keyID   string
	payload int64

	before  protocol.Raw // for the audit
	result  Result
	wrote   []wrote // what timers must know
	expires []expiring
	leaving ledger.Leaving // elements that go, of the list that was looked at last
}

// wrote is a place that was written; deep when what was below it is gone.
type wrote struct {
	path world.Path
	deep bool
}

// expiring is a place or element that the entry's ttl is for.
type expiring struct {
	path    world.Path
	element any // nil for the place itself
	isList  bool
	key     string
}

// outcome of a step that ends the entry.
type outcome struct {
	status  Status
	code    command.Code
	message string
}

func (f outcome) done() bool { return f.status != "" }

func skip(code command.Code, format string, args ...any) outcome {
	return outcome{Skipped, code, textf(format, args...)}
}

func rejected(f *command.Fault) outcome { return outcome{Rejected, f.Code, f.Message} }

func rejectf(code command.Code, format string, args ...any) outcome {
	return outcome{Rejected, code, textf(format, args...)}
}

// entry takes an entry through the pipeline.
func (r *run) entry(e *command.Entry) Result {
	o := &r.op
	*o = op{r: r, mine: *e, o: e.Options, opID: r.opID(), wrote: o.wrote[:0]}
	o.mine.Warnings = slices.Clip(o.mine.Warnings) // warnings are added; the input stays as it is
	e = &o.mine
	o.e = e
	if o.o == nil {
		o.o = &o.none
	}
	o.result = Result{Index: e.Index, Action: e.Action, Key: e.Key, OpID: o.opID}
	end := o.judge()
	if !end.done() {
		end = o.carryOut()
	}
	o.result.Status, o.result.Code, o.result.Message = end.status, end.code, end.message
	r.warnings = append(r.warnings, e.Warnings...)
	r.record(e, o.result, o)
	return o.result
}

func (o *op) warn(code command.Code, format string, args ...any) {
	o.e.Warnings = append(o.e.Warnings, command.Warning{Index: o.e.Index, Code: code, Message: textf(format, args...)})
}

// judge does steps 1 to 7: everything that can end the entry before a change is
// tried.
func (o *op) judge() outcome {
	if f := o.e.Malformed; f != nil {
		return rejected(f)
	}
	if end := o.findPlace(); end.done() {
		return end
	}
	if f := o.e.Check(); f != nil {
		return rejected(f)
	}
	if f := o.readValue(); f != nil {
		return rejected(f)
	}
	if f := o.checkExpiry(); f != nil {
		return rejected(f)
	}
	o.lint()
	if end := o.idempotency(); end.done() {
		return end
	}
	if end := o.conditions(); end.done() {
		return end
	}
	return o.checkVersion()
}

func (o *op) findPlace() outcome {
	if !o.e.HasKey || o.e.KeyIsNoText {
		return rejectf(command.InvalidKey, "the entry has no key; want a text such as %q", o.r.e.mounts[0].Prefix+"a.b")
	}
	p, fault := o.r.e.place(o.e.Key)
	if fault != nil {
		return rejected(fault)
	}
	o.place, o.result.Key, o.e.Key = p, p.key, p.key
	o.d = o.r.bench(p.mount.Document)
	o.d.reason = secret.Text(o.o.Reason) // as the audit has it
	o.seek(p.path)
	return outcome{}
}

// seek finds the target as it is before the entry.
func (o *op) seek(path world.Path) {
	o.found = o.d.edit.Find(path)
	o.path, o.look, o.exists = o.found.Path, o.found.Look, o.found.Exists
}

// checkExpiry refuses a moment that has passed and a place that cannot be
// remembered: positions in lists move, so only whole elements expire (C16).
func (o *op) checkExpiry() *command.Fault {
	at := o.o.Expires(o.r.in.Now)
	if at == 0 || o.e.Action == command.Delete {
		return nil
	}
	if at <= o.r.in.Now {
		return &command.Fault{Code: command.InvalidExpiry, Message: textf("it would expire at %s, which is not after now (%s)", at, o.r.in.Now)}
	}
	for _, s := range o.path[:len(o.path)-1] {
		if s.Kind != world.Name {
			return &command.Fault{Code: command.InvalidExpiry, Message: textf("%q lies inside a list element; ttl holds for a key or a whole element", o.place.key)}
		}
	}
	return o.checkTimers()
}

// checkTimers refuses one more timer than may wait, with those that the entry has asked for.
func (o *op) checkTimers() *command.Fault {
	if n := o.d.timers.Len() + len(o.expires); n >= o.r.e.set.MaxTimers {
		return &command.Fault{Code: command.Limit, Message: textf("%d values are waiting to expire; the limit is %d", n, o.r.e.set.MaxTimers)}
	}
	return nil
}

// lint warns about what is ignored.
func (o *op) lint() {
	if o.r.e.set.LintReason && o.o.Reason == "" {
		o.warn(command.WarnNoReason, "the entry gives no reason")
	}
	for _, why := range o.e.Ignored() {
		o.warn(command.WarnIgnored, "%s", why)
	}
}

// idempotency is step 5 (C19).
func (o *op) idempotency() outcome {
	if o.o.IdempotencyKey == "" {
		return outcome{}
	}
	o.keyID = ledger.KeyID(o.place.path.String(), o.o.IdempotencyKey)
	given := make(map[string]any, len(o.o.Given))
	for k, v := range o.o.Given {
		if k != "idempotencyKey" && k != "reason" && k != "tags" {
			given[k] = v
		}
	}
	o.payload = int64(xxh3.Hash(protocol.Encode([]any{string(o.e.Action), o.e.HasValue, o.value, given})))
	seen, ok := o.d.keys.Seen(o.keyID, o.r.in.Now, o.r.e.set.KeyAge)
	if !ok {
		return outcome{}
	}
	if seen.Payload != o.payload {
		o.warn(command.WarnPayload, "idempotencyKey %q was used for another command (%s); this one was not carried out", o.o.IdempotencyKey, seen.OpID)
	}
	return skip(command.Duplicate, "idempotencyKey %q was applied already by %s", o.o.IdempotencyKey, seen.OpID)
}

// conditions is step 6: all must hold.
func (o *op) conditions() outcome {
	switch {
	case o.exists && (o.o.IfMissing == command.Yes || o.e.Action == command.Ensure):
		return skip(command.Exists, "%q exists", o.place.key)
	case !o.exists && o.o.IfExists == command.Yes:
		return skip(command.Missing, "%q does not exist", o.place.key)
	case o.o.IfMissing == command.Yes && (o.e.Action == command.Pull || o.e.Action == command.Delete):
		return skip(command.Missing, "%q does not exist", o.place.key)
	case !o.o.HasIfEquals:
		return outcome{}
	case !o.exists:
		return skip(command.NotEqual, "%q does not exist", o.place.key)
	}
	if now := o.found.Value(); !protocol.Equal(bare(now), bare(o.o.IfEquals)) {
		return skip(command.NotEqual, "%q is not what ifEquals says", o.place.key)
	}
	return outcome{}
}

// bare drops the counters of a value, which no writer is expected to know.
func bare(v any) any {
	c := cleaner{}
	return c.clean(v, 0)
}

// counted is the place of the object whose version ifVersion means (C7): the
// target when it is an object, or becomes one; else the nearest object above.
func (o *op) counted() world.Path {
	if o.exists && o.look.Kind == world.KindObject {
		return o.path
	}
	if !o.exists && o.becomesObject() {
		return o.path
	}
	for n := len(o.path) - 1; n > 0; n-- {
		if l, ok := o.d.edit.Look(o.path[:n]); ok && l.Kind == world.KindObject {
			return o.path[:n]
		}
	}
	return nil
}

func (o *op) becomesObject() bool {
	if o.path[len(o.path)-1].Kind == world.Append {
		return false
	}
	_, isObject := o.value.(map[string]any)
	switch o.e.Action {
	case command.Set, command.Update, command.Patch, command.Ensure, command.Add:
		return isObject
	}
	return false
}

// checkVersion is step 7.
func (o *op) checkVersion() outcome {
	if !o.o.HasIfVersion {
		return outcome{}
	}
	at := o.counted()
	now := o.version(at)
	if now == o.o.IfVersion {
		return outcome{}
	}
	o.result.Version = &now
	return rejectf(command.VersionConflict, "the version of %s is %d, not %d; read it again", quotePath(at), now, o.o.IfVersion)
}

func quotePath(p world.Path) string {
	if len(p) == 0 {
		return "the document"
	}
	return textf("%q", p.String())
}

// version is the counter of an object; 0 when it has none.
func (o *op) version(at world.Path) int64 {
	v, _ := o.d.edit.Get(at.Key(world.CounterKey))
	n, _ := v.(int64)
	return n
}

// carryOut does steps 8 to 11.
func (o *op) carryOut() outcome {
	o.before = o.r.auditValue(o.path, &o.found)
	var point savepoint
	guarded := o.delicate()
	if guarded {
		point = o.d.save()
	}
	counter := world.Path(nil)
	if o.o.HasIfVersion {
		counter = o.counted()
	}
	mark := len(o.d.changes)
	end := o.attempt(counter, mark)
	if end.status == Rejected && guarded {
		point.restore()
	}
	if end.status != Applied {
		return end
	}
	o.result.Changed = len(o.d.changes) > mark
	o.keep()
	return end
}

// delicate reports whether the entry may fail after its first operation, so that
// it needs a savepoint.
func (o *op) delicate() bool {
	g := o.place.mount.Guard
	return o.o.Expect != nil || o.o.HasIfVersion || o.o.SoftDelete == command.Yes || o.o.MergeStrategy == "deep" ||
		o.e.Action == command.Pull || o.e.Action == command.Push || o.e.Action == command.Add && o.o.Limit > 0 || g != nil && g.Validate != nil ||
		o.d.edit.Size()+len(o.raw)+4*len(o.place.key)+256 > o.r.e.set.MaxDocument
}

func (o *op) attempt(counter world.Path, mark int) outcome {
	if f := o.permitted(); f != nil {
		return rejected(f)
	}
	end := o.act()
	if end.status != Applied {
		return end
	}
	changed := len(o.d.changes) > mark
	if changed && o.o.HasIfVersion {
		if f := o.createCounter(counter); f != nil {
			return rejected(f)
		}
	}
	if f := o.checkSizes(changed); f != nil {
		return rejected(f)
	}
	if f := o.checkExpect(); f != nil {
		return rejected(f)
	}
	if changed {
		return outcome{Applied, command.OK, end.message}
	}
	return outcome{Applied, command.Unchanged, end.message}
}

// createCounter gives the object that ifVersion named a counter, when it had
// none: absent counts as 0, so the first success makes it 1.
func (o *op) createCounter(at world.Path) *command.Fault {
	l, ok := o.d.edit.Look(at)
	if !ok || l.Kind != world.KindObject {
		return nil // the object was removed or replaced
	}
	if _, has := o.d.edit.Look(at.Key(world.CounterKey)); has {
		return nil
	}
	return o.d.do(world.OpPut, at.Key(world.CounterKey), int64(1))
}

// strategy is the merge strategy with the action's default (C9).
func (o *op) strategy() string {
	switch {
	case o.e.Action == command.Ensure || o.e.Action == command.Delete:
		return "replace"
	case o.o.MergeStrategy != "":
		return o.o.MergeStrategy
	case o.e.Action == command.Set:
		return "replace"
	}
	return "shallow"
}

// checkSizes is the rest of step 9.
func (o *op) checkSizes(changed bool) *command.Fault {
	if !changed {
		return nil
	}
	if size, limit := o.d.edit.Size(), o.r.e.set.MaxDocument; size > limit && size > o.d.base.doc.Size() {
		return &command.Fault{Code: command.Limit, Message: textf("the document would have %d bytes; the limit is %d", size, limit)}
	}
	g := o.place.mount.Guard
	if g == nil || g.Validate == nil {
		return nil
	}
	root, _ := o.d.edit.Get(o.place.mount.Root)
	if err := g.Validate(o.path[len(o.place.mount.Root):], root); err != nil {
		return &command.Fault{Code: command.SchemaViolation, Message: err.Error()}
	}
	return nil
}

// keep is step 11: timers and the idempotency record.
func (o *op) keep() {
	for _, w := range o.wrote {
		for _, id := range o.d.timers.Below(w.path, w.deep) {
			o.d.setTimer(ledger.TimerChange{ID: id})
		}
	}
	for _, x := range o.expires {
		var element protocol.Raw
		if x.isList {
			element = protocol.Encode(x.element)
		}
		id := ledger.TimerID(x.path, x.isList, o.opID)
		o.d.setTimer(ledger.TimerChange{ID: id, Timer: ledger.Timer{Path: x.path, Element: element, Until: o.o.Expires(o.r.in.Now), Key: x.key, OpID: o.opID}})
	}
	if o.keyID != "" {
		rec := ledger.KeyRecord{ID: o.keyID, Payload: o.payload, OpID: o.opID, Time: o.r.in.Now}
		o.d.keys.Add(rec, o.r.e.set.MaxKeys, o.r.e.set.KeyAge)
		o.d.keyLog = append(o.d.keyLog, rec)
	}
}

func (d *workbench) setTimer(c ledger.TimerChange) {
	d.timers.Apply(c)
	d.timeLog = append(d.timeLog, c)
}
