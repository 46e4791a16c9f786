package world

import "tavernsim/protocol"

// Limits bound a document. A zero field takes the default.
type Limits struct {
	// MaxBytes bounds the document as canonical msgpack. A request that would
	// pass it is refused with CodeLimit. Default: what a snapshot can carry.
	MaxBytes int
	// MaxValue bounds one value, encoded. Default 1 MiB.
	MaxValue int
	// MaxRequests bounds one commit; those beyond are refused with CodeLimit.
	// Default 1,000,000.
	MaxRequests int
}

// Defaults of Limits.
const (
	DefaultMaxBytes    = protocol.MaxBytes / 2 // a snapshot also carries versions
	DefaultMaxValue    = 1 << 20
	DefaultMaxRequests = 1_000_000
)

func (l Limits) filled() Limits {
	fill := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	fill(&l.MaxBytes, DefaultMaxBytes)
	fill(&l.MaxValue, DefaultMaxValue)
	fill(&l.MaxRequests, DefaultMaxRequests)
	return l
}

// Machine holds the rules of one world. The zero Machine permits everything
// within the default limits.
type Machine struct {
	Limits      Limits
	Permissions *Permissions // nil permits every write
}

// Read is a place that a deliberation looked at and the version of the document
// it saw.
type Read struct {
	Path    Path
	Version int64
}

// Request asks for one write.
type Request struct {
	ID      string // names the request in its answer; the caller makes it unique
	By      string // instance id of who asks
	Profile string // of who asks; looked up in Permissions
	Reason  string
	Path    Path
	Op      Op
	Value   protocol.Raw // absent bytes are null; delete ignores it
	// Expected is the version that the writer believes the path to have: the
	// request is refused when something that could be seen there changed later.
	Expected *int64
	// Reads are further places that must not have changed.
	Reads []Read
	// Group joins neighbouring requests of equal, non-empty group into one
	// transaction: all or none. Their expectations are checked together, before
	// the first of them is carried out.
	Group string
	Cause Cause
}

// Commit is a list of requests in the order in which they count.
type Commit struct {
	Now      protocol.Time
	Requests []*Request
	Locks    Locks // nil locks nothing
}

// Locks keep writers from paths.
type Locks interface {
	// Check refuses a write of by, an instance id, at p.
	Check(now protocol.Time, by string, p Path) error
}

// Decision is what a commit led to: the facts to keep, and the document that
// folding them into the old one gives.
type Decision struct {
	Facts []protocol.Fact // *Refused in request order, then at most one *Committed
	Next  *Document
}

// Decide carries out a commit. It changes nothing that is visible elsewhere.
func (m Machine) Decide(doc *Document, c Commit) Decision {
	d := decider{machine: m, limits: m.Limits.filled(), now: c.Now, locks: c.Locks, doc: doc,
		edit: doc.Edit(doc.version + 1), changes: make([]Change, 0, len(c.Requests))}
	d.edit.build.strict = true
	for i := 0; i < len(c.Requests); {
		n := groupLen(c.Requests[i:])
		d.group(c.Requests[i:i+n], i+n > d.limits.MaxRequests)
		i += n
	}
	return d.decision()
}

// groupLen is the number of requests that stand or fall with the first.
func groupLen(r []*Request) int {
	n := 1
	for r[0].Group != "" && n < len(r) && r[n].Group == r[0].Group {
		n++
	}
	return n
}

type decider struct {
	machine Machine
	limits  Limits
	now     protocol.Time
	locks   Locks
	doc     *Document
	edit    *Editor
	changes []Change
	refused []protocol.Fact
}

func (d *decider) decision() Decision {
	if len(d.changes) == 0 {
		return Decision{Facts: d.refused, Next: d.doc}
	}
	next := d.edit.Document()
	if next == d.doc { // every delete found nothing: the answer is still owed
		next = &Document{root: d.doc.root, version: d.edit.version}
	}
	fact := &Committed{Time: d.now, Before: d.doc.version, After: next.version, Changes: d.changes}
	return Decision{Facts: append(d.refused, fact), Next: next}
}

func (d *decider) group(rs []*Request, over bool) {
	if over {
		d.refuseAll(rs, -1, faultf(CodeLimit, "a commit takes %d requests", d.limits.MaxRequests))
		return
	}
	for i := range rs {
		if err := d.check(rs[i]); err != nil {
			d.refuseAll(rs, i, err)
			return
		}
	}
	if len(rs) == 1 {
		if err := d.apply(rs[0]); err != nil {
			d.refuseAll(rs, 0, err)
		}
		return
	}
	d.transaction(rs)
}

func (d *decider) transaction(rs []*Request) {
	before, kept := d.edit.Document(), len(d.changes)
	for i := range rs {
		if err := d.apply(rs[i]); err != nil {
			d.edit.Reset(before)
			d.changes = d.changes[:kept]
			d.refuseAll(rs, i, err)
			return
		}
	}
}

// refuseAll refuses requests that stand or fall together; culprit is the one to
// blame, -1 for all.
func (d *decider) refuseAll(rs []*Request, culprit int, err error) {
	for i := range rs {
		fault := err
		if culprit >= 0 && i != culprit {
			fault = faultf(CodeUndone, "request %q of the same group was refused: %s", rs[culprit].ID, err)
		}
		d.refuse(rs[i], fault)
	}
}

func (d *decider) refuse(r *Request, err error) {
	f := &Refused{Time: d.now, Version: d.doc.version, Op: r.Op, Path: r.Path, By: r.By,
		Request: r.ID, Code: CodeOf(err), Message: err.Error(), Cause: r.Cause}
	d.refused = append(d.refused, f)
}

// check asks everything that does not need the write to be tried.
func (d *decider) check(r *Request) error {
	if !r.Op.Requestable() {
		return faultf(CodeInvalid, "operation %q is unknown; want set, add, push, delete or merge", r.Op)
	}
	if err := r.Path.CheckWrite(); err != nil {
		return faultf(CodeInvalidPath, "%s", err)
	}
	if len(r.Value) > d.limits.MaxValue {
		return faultf(CodeLimit, "path %q: the value has %d bytes; the limit is %d", r.Path.String(), len(r.Value), d.limits.MaxValue)
	}
	if p := d.machine.Permissions; p != nil {
		if err := p.check(d.edit.root, r.Profile, r.By, r.Op, r.Path, r.Value); err != nil {
			return err
		}
	}
	if d.locks != nil {
		if err := d.locks.Check(d.now, r.By, r.Path); err != nil {
			return err
		}
	}
	if r.Expected != nil {
		if *r.Expected > d.doc.version {
			return faultf(CodeConflict, "path %q was expected at version %d and the world is at version %d; read it again", r.Path.String(), *r.Expected, d.doc.version)
		}
		if err := d.unchanged("expected", r.Path, *r.Expected); err != nil {
			return err
		}
	}
	for i := range r.Reads {
		if err := d.unchanged("read", r.Reads[i].Path, r.Reads[i].Version); err != nil {
			return err
		}
	}
	return nil
}

func (d *decider) unchanged(how string, path Path, version int64) error {
	if at := d.edit.VersionOf(path); at > version {
		return faultf(CodeConflict, "path %q was %s at version %d and changed at version %d; read it again", path.String(), how, version, at)
	}
	return nil
}

func (d *decider) apply(r *Request) error {
	// An upper bound of the growth: the value, a header and an object per segment.
	room := len(r.Value) + 16
	for i := range r.Path {
		room += len(r.Path[i].Key) + 16
	}
	if d.edit.Size()+room > d.limits.MaxBytes {
		return d.applyTight(r)
	}
	return d.carryOut(r)
}

// applyTight tries the write and takes it back when the document grew too large.
func (d *decider) applyTight(r *Request) error {
	before, kept := d.edit.Document(), len(d.changes)
	size := before.Size()
	if err := d.carryOut(r); err != nil {
		return err
	}
	if now := d.edit.Size(); now > d.limits.MaxBytes && now > size {
		d.edit.Reset(before)
		d.changes = d.changes[:kept]
		return faultf(CodeLimit, "path %q: the document would have %d bytes; the limit is %d", r.Path.String(), now, d.limits.MaxBytes)
	}
	return nil
}

func (d *decider) carryOut(r *Request) error {
	if err := d.edit.Apply(r.Op, r.Path, r.Value); err != nil {
		return err
	}
	value := r.Value
	if r.Op == OpDelete {
		value = nil
	}
	d.changes = append(d.changes, Change{Op: r.Op, Path: r.Path, Value: value, By: r.By,
		Request: r.ID, Reason: r.Reason, Cause: r.Cause})
	return nil
}

// Apply folds a fact. An error means that the fact does not belong to this
// document: the journal is damaged, or another program wrote it.
func Apply(doc *Document, f protocol.Fact) (*Document, error) {
	c, ok := f.(*Committed)
	if !ok {
		return doc, nil
	}
	if c.Before != doc.version {
		return nil, protocol.Errorf(protocol.KindCorrupt, "world: apply %s: it begins at version %d; the document is at %d", c.FactKind(), c.Before, doc.version)
	}
	edit := doc.Edit(c.After)
	for i := range c.Changes {
		ch := &c.Changes[i]
		if err := edit.Apply(ch.Op, ch.Path, ch.Value); err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "world: apply %s version %d, change %d: %w", c.FactKind(), c.After, i, err)
		}
	}
	next := edit.Document()
	if next == doc {
		next = &Document{root: doc.root, version: c.After}
	}
	return next, nil
}
