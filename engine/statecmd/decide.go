package statecmd

import (
	"encoding/binary"
	"slices"

	"github.com/oklog/ulid/v2"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Status is what became of an entry.
type Status string

const (
	Applied      Status = "applied"     // done; changed tells whether anything had to change
	Skipped      Status = "skipped"     // a guard said no, a duplicate, or nothing to do
	Rejected     Status = "rejected"    // invalid, a conflict, or a failed expectation
	StatusUndone Status = "rolled_back" // undone, or not run, by the transaction
	Ignored      Status = "ignored"     // tavern_inspect
)

// Result answers one entry.
type Result struct {
	Index   int            `json:"index"`
	Action  command.Action `json:"action,omitempty"`
	Key     string         `json:"key,omitempty"`
	Status  Status         `json:"status"`
	Code    command.Code   `json:"code"`
	Changed bool           `json:"changed"`
	Message string         `json:"message"`
	OpID    string         `json:"opId,omitempty"`
	// Version is, after a version conflict, the current version of the object.
	Version *int64 `json:"version,omitempty"`
}

// Inspected answers tavern_inspect; it never changes an outcome.
type Inspected struct {
	Key    string `json:"key"`
	Exists bool   `json:"exists"`
	Value  any    `json:"value,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Input is a batch and its circumstances.
type Input struct {
	Now     protocol.Time
	Batch   command.Batch
	BatchID string // unique per batch; "" takes the batch's own
	TurnID  string
	Actor   string // in the audit; "" is "AI"
	By      string // instance id of who asks
	Profile string // for Settings.Permissions
	Cause   world.Cause

	// Request names the batch in its answer. With it the batch always leaves a
	// fact, and the fact holds all that the answer says.
	Request string
	Answer  bool // an answer is asked for, whatever it says
	// Reads are places of the first mount's document that must not have changed
	// since; those of the batch itself come after them.
	Reads []world.Read
	// Locks of the first mount's document; nil locks nothing.
	Locks world.Locks
}

// Decision is what a batch, a moment or a restore led to.
type Decision struct {
	Facts    []protocol.Fact // *Committed; what expired before the batch comes first
	Next     State
	Results  []Result
	Warnings []command.Warning
	Debug    []Inspected
	Audit    []Record // of the facts, in order
}

// Decide carries out a batch. What has expired by now is removed first.
func (e *Engine) Decide(s State, in Input) Decision {
	dec := e.Advance(s, in.Now)
	r := e.begin(dec.Next, in)
	r.batch()
	r.finish(&dec)
	return dec
}

// run is one batch under way.
type run struct {
	e        *Engine
	in       Input
	state    State
	docs     []*workbench
	seq      uint64
	results  []Result
	warnings []command.Warning
	debug    []Inspected
	audit    []Record
	entropy  [10]byte
	op       op // the entry under way; one at a time
}

// workbench is one document that the batch touches.
type workbench struct {
	base    document
	edit    *world.Editor
	changes []world.Change
	keys    ledger.Keys
	timers  ledger.Timers
	due     ledger.Expiring
	keyLog  []ledger.KeyRecord
	timeLog []ledger.TimerChange
	cause   world.Cause
	// by asked for the batch; reason is that of the entry under way.
	by, reason string
}

func (e *Engine) begin(s State, in Input) *run {
	if in.Actor == "" {
		in.Actor = "AI"
	}
	if in.BatchID == "" {
		in.BatchID = in.Batch.Options.BatchID
	}
	if in.TurnID == "" {
		in.TurnID = in.Batch.Options.TurnID
	}
	r := &run{e: e, in: in, state: s, seq: s.seq, warnings: slices.Clip(in.Batch.Warnings)}
	binary.BigEndian.PutUint32(r.entropy[6:], uint32(protocol.HashString(in.BatchID)))
	return r
}

// bench opens the document of a mount.
func (r *run) bench(name string) *workbench {
	for _, d := range r.docs {
		if d.base.name == name {
			return d
		}
	}
	base := document{name: name, doc: emptyDocument()}
	if d := r.state.find(name); d != nil {
		base = *d
	}
	d := &workbench{base: base, edit: base.doc.Edit(base.doc.Version() + 1), by: r.in.By, cause: r.in.Cause}
	d.changes = make([]world.Change, 0, len(r.in.Batch.Entries))
	d.keys, d.timers = base.keys.Frozen(), base.timers.Frozen()
	r.docs = append(r.docs, d)
	return d
}

// opID numbers an operation: a ULID of the time, the operation's number and the
// batch, so that ids of one state sort in the order in which they were given.
func (r *run) opID() string {
	r.seq++
	for i := range 6 {
		r.entropy[i] = byte(r.seq >> (8 * (5 - i)))
	}
	var id ulid.ULID
	ms := uint64(max(0, int64(r.in.Now)/1e6))
	_ = id.SetTime(ms) // an error needs a year beyond 10889
	_ = id.SetEntropy(r.entropy[:])
	return id.String()
}

func (r *run) batch() {
	entries := r.in.Batch.Entries
	r.results = make([]Result, 0, len(entries)+len(r.in.Batch.Inspect))
	r.audit = make([]Record, 0, len(entries))
	tx := r.in.Batch.Options.Transaction
	for i := range entries {
		tx = tx || entries[i].Wants()
	}
	if fault := r.checkReads(); fault != nil {
		r.rejectAll(entries, fault)
	} else {
		r.entries(entries, tx)
	}
	r.inspect()
}

func (r *run) entries(entries []command.Entry, tx bool) {
	var before []savepoint
	if tx {
		// Every document that an entry names is opened first: one savepoint holds all.
		for i := range entries {
			if p, fault := r.e.place(entries[i].Key); fault == nil {
				r.bench(p.mount.Document)
			}
		}
		before = r.save()
	}
	for i := range entries {
		var res Result
		if i >= command.MaxEntries {
			res = r.reject(&entries[i], &command.Fault{Code: command.Limit, Message: textf("a batch takes %d entries", command.MaxEntries)})
		} else {
			res = r.entry(&entries[i])
		}
		r.results = append(r.results, res)
		if tx && res.Status == Rejected {
			r.undo(before, entries, i)
			return
		}
	}
}

// undo takes a transaction back after entry culprit was rejected. The audit
// keeps the attempt.
func (r *run) undo(before []savepoint, entries []command.Entry, culprit int) {
	r.restore(before)
	why := textf("undone: entry %d of the transaction was rejected (%s)", culprit, r.results[culprit].Code)
	undone := map[string]bool{}
	for i := range r.results {
		if res := &r.results[i]; res.Status == Applied {
			res.Status, res.Code, res.Changed, res.Message = StatusUndone, command.RolledBack, false, why
			undone[res.OpID] = true
		}
	}
	for i := range r.audit {
		if undone[r.audit[i].OpID] {
			r.audit[i].Status, r.audit[i].Code, r.audit[i].Changed, r.audit[i].Message = StatusUndone, command.RolledBack, false, why
		}
	}
	for i := culprit + 1; i < len(entries); i++ {
		e := &entries[i]
		r.warnings = append(r.warnings, e.Warnings...)
		res := Result{Index: e.Index, Action: e.Action, Key: e.Key, OpID: r.opID(), Status: StatusUndone, Code: command.RolledBack,
			Message: textf("not run: entry %d of the transaction was rejected (%s)", culprit, r.results[culprit].Code)}
		r.results = append(r.results, res)
		r.record(e, res, nil)
	}
}

// checkReads holds the declared reads of a batch against the documents.
func (r *run) checkReads() *command.Fault {
	for _, read := range r.in.Reads {
		d := r.state.Document(r.e.mounts[0].Document)
		if at := d.VersionOf(read.Path); at > read.Version {
			return &command.Fault{Code: command.Conflict, Message: textf("path %q was read at version %d and changed at version %d; read it again", read.Path.String(), read.Version, at)}
		}
	}
	for _, read := range r.in.Batch.Options.Reads {
		p, fault := r.e.place(read.Key)
		if fault != nil {
			return fault
		}
		d := r.state.Document(p.mount.Document)
		if at := d.VersionOf(p.path); at > read.Version {
			return &command.Fault{Code: command.Conflict, Message: textf("key %q was read at version %d and changed at version %d; read it again", read.Key, read.Version, at)}
		}
	}
	return nil
}

func (r *run) rejectAll(entries []command.Entry, fault *command.Fault) {
	for i := range entries {
		r.results = append(r.results, r.reject(&entries[i], fault))
	}
}

func (r *run) reject(e *command.Entry, fault *command.Fault) Result {
	r.warnings = append(r.warnings, e.Warnings...)
	res := Result{Index: e.Index, Action: e.Action, Key: e.Key, OpID: r.opID(), Status: Rejected, Code: fault.Code, Message: fault.Message}
	r.record(e, res, nil)
	return res
}

// inspect answers tavern_inspect (C32): values as they are after the batch. They are part of
// the fact, so together they take no more than one value may.
func (r *run) inspect() {
	shown := 0
	for i, key := range r.in.Batch.Inspect {
		r.results = append(r.results, inspected(len(r.in.Batch.Entries)+i, key))
		p, fault := r.e.place(key)
		if fault != nil {
			r.debug = append(r.debug, Inspected{Key: key, Error: fault.Message})
			continue
		}
		found := r.bench(p.mount.Document).edit.Find(p.path)
		if shown += found.Size; shown > command.MaxValue {
			shown -= found.Size
			r.debug = append(r.debug, Inspected{Key: key, Exists: true, Error: textf("limit: it has %d bytes, and %d are shown already; all together may have %d", found.Size, shown, command.MaxValue)})
			continue
		}
		r.debug = append(r.debug, Inspected{Key: key, Exists: found.Exists, Value: found.Value()})
	}
}

// savepoint is a document under way as it was.
type savepoint struct {
	bench    *workbench
	doc      *world.Document
	keys     ledger.Keys
	timers   ledger.Timers
	changes  int
	keyLog   int
	timerLog int
}

func (d *workbench) save() savepoint {
	return savepoint{bench: d, doc: d.edit.Document(), keys: d.keys.Share(), timers: d.timers.Share(),
		changes: len(d.changes), keyLog: len(d.keyLog), timerLog: len(d.timeLog)}
}

func (s savepoint) restore() {
	d := s.bench
	d.edit.Reset(s.doc)
	d.keys, d.timers = s.keys, s.timers
	d.changes, d.keyLog, d.timeLog = d.changes[:s.changes], d.keyLog[:s.keyLog], d.timeLog[:s.timerLog]
}

func (r *run) save() []savepoint {
	out := make([]savepoint, len(r.docs))
	for i, d := range r.docs {
		out[i] = d.save()
	}
	return out
}

func (r *run) restore(points []savepoint) {
	for _, p := range points {
		p.restore()
	}
}

// finish adds the batch's fact and outcome to a decision.
func (r *run) finish(dec *Decision) {
	dec.Results, dec.Warnings, dec.Debug = joined(dec.Results, r.results), joined(dec.Warnings, r.warnings), r.debug
	fact := &Committed{Time: r.in.Now, BatchID: r.in.BatchID, TurnID: r.in.TurnID, By: r.in.By, Seq: int64(r.seq), Audit: r.audit,
		Request: r.in.Request, Answer: r.in.Answer, Warnings: r.in.Batch.Warnings, Debug: r.debug}
	next := r.state
	next.seq = r.seq
	for _, d := range r.docs {
		if part, ok := d.part(); ok {
			fact.Parts = append(fact.Parts, part)
			next = next.with(d.result(part))
		}
	}
	if r.seq == r.state.seq && len(fact.Parts) == 0 && r.in.Request == "" {
		return
	}
	dec.Facts = append(dec.Facts, fact)
	dec.Audit = joined(dec.Audit, r.audit)
	dec.Next = next
}

// joined is never nil, so that it shows as a list.
func joined[T any](a, b []T) []T {
	switch {
	case len(a) > 0:
		return append(a, b...)
	case b == nil:
		return []T{}
	}
	return slices.Clip(b)
}

// part is what of the document the fact must hold; none when nothing changed.
func (d *workbench) part() (Part, bool) {
	before := d.base.doc.Version()
	p := Part{Document: d.base.name, Before: before, After: before, Changes: d.changes, Keys: d.keyLog, Timers: d.timeLog}
	if len(d.changes) > 0 {
		p.After++
	}
	return p, len(d.changes)+len(d.keyLog)+len(d.timeLog) > 0
}

func (d *workbench) result(p Part) document {
	out := document{name: d.base.name, doc: d.base.doc, keys: d.keys.Share(), timers: d.timers.Share()}
	if p.After != p.Before {
		out.doc = d.edit.Document()
	}
	return out
}

// do carries out one operation on the document under way and notes it for the
// fact.
func (d *workbench) do(op world.Op, path world.Path, value any) *command.Fault {
	var raw protocol.Raw
	if op != world.OpDelete && op != world.OpRemove && op != world.OpBump {
		raw = protocol.Encode(value)
	}
	return d.doRaw(op, path, value, raw)
}

func (d *workbench) doRaw(op world.Op, path world.Path, value any, raw protocol.Raw) *command.Fault {
	if err := d.edit.Apply(op, path, value); err != nil {
		return faultOf(err)
	}
	d.changes = append(d.changes, world.Change{Op: op, Path: path, Value: raw, By: d.by, Reason: d.reason, Cause: d.cause})
	return nil
}
