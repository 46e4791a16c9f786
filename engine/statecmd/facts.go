package statecmd

import (
	"cmp"
	"errors"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Committed says what a batch, a moment or a restore did, and what was tried in
// vain (the audit). Version 1 of this fact.
type Committed struct {
	Time    protocol.Time
	BatchID string
	TurnID  string
	By      string
	Seq     int64  // operations so far, these included
	Parts   []Part // documents that changed, in the order in which they were opened
	Audit   []Record
	// What else the answer to a request says; see Outcome.
	Request  string            // "" = nobody asked, or it was answered at once
	Answer   bool              // the asker wants to hear of success, too
	Warnings []command.Warning // of the batch; those of entries stand in their records
	Debug    []Inspected
}

// FactCommitted is the kind of the package's fact.
const FactCommitted = "state.committed"

// FactKind implements protocol.Fact.
func (*Committed) FactKind() string { return FactCommitted }

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{protocol.ByHand(ReadCommitted).Traced(5, protocol.Each, 3, protocol.Each, 6, 0)}
}

// Answers implements protocol.Answering. Success wakes only those who asked to hear
// of it.
func (c *Committed) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: c.By, Kind: "world_commands", Wakes: c.Answer || c.Failed()}, c.Request != ""
}

// Told implements protocol.Answering.
func (c *Committed) Told() map[string]any {
	results, warnings := c.Outcome()
	v := OutcomeValue(results, warnings, c.Debug)
	v["request_id"] = c.Request
	return v
}

// Part is the change of one document. Before equals After when only its timers
// or idempotency keys changed.
type Part struct {
	Document      string
	Before, After int64
	Changes       []world.Change
	Keys          []ledger.KeyRecord
	Timers        []ledger.TimerChange
}

// BatchName is the request that brought the batch, or the batch's own id.
func (c *Committed) BatchName() string { return cmp.Or(c.Request, c.BatchID) }

// Apply folds a fact. An error means that the fact does not belong to this
// state.
func (e *Engine) Apply(s State, f protocol.Fact) (State, error) {
	a, ok := f.(*Committed)
	if !ok {
		return s, nil
	}
	for i := range a.Parts {
		d, err := e.applyPart(s, a, &a.Parts[i])
		if err != nil {
			return s, err
		}
		s = s.with(d)
	}
	s.seq = uint64(a.Seq)
	return s, nil
}

func (e *Engine) applyPart(s State, a *Committed, p *Part) (document, error) {
	d := document{name: p.Document, doc: emptyDocument()}
	if old := s.find(p.Document); old != nil {
		d.doc, d.keys, d.timers = old.doc, old.keys.Frozen(), old.timers.Frozen()
	}
	if p.After != p.Before {
		doc, err := world.Apply(d.doc, &world.Committed{Time: a.Time, Before: p.Before, After: p.After, Changes: p.Changes})
		if err != nil {
			return d, protocol.Errorf(protocol.KindCorrupt, "statecmd: apply state.committed to %q: %w", p.Document, err)
		}
		d.doc = doc
	}
	for _, k := range p.Keys {
		d.keys.Add(k, e.set.MaxKeys, e.set.KeyAge)
	}
	for _, t := range p.Timers {
		d.timers.Apply(t)
	}
	return d, nil
}

// ApplyWorld folds a commit that reached a document past the commands. Timers of
// what it wrote are cleared, as a command without ttl would.
func (e *Engine) ApplyWorld(s State, name string, c *world.Committed) (State, error) {
	doc, err := world.Apply(s.Document(name), c)
	if err != nil {
		return s, err
	}
	return e.Adopt(s, name, c.Changes, doc), nil
}

// Adopt is ApplyWorld for one who has the document already.
func (e *Engine) Adopt(s State, name string, changes []world.Change, next *world.Document) State {
	d := document{name: name, doc: next}
	if old := s.find(name); old != nil {
		d.keys, d.timers = old.keys.Frozen(), old.timers.Frozen()
	}
	for i := 0; i < len(changes) && d.timers.Len() > 0; i++ {
		d.clearTimers(&changes[i])
	}
	return s.with(d)
}

// clearTimers drops the timers of what a change wrote: of a merge that is its
// fields, of a write everything below it.
func (d *document) clearTimers(c *world.Change) {
	if c.Op == world.OpMerge {
		v, _ := c.Value.Value()
		fields, _ := v.(map[string]any)
		for _, k := range protocol.SortedKeys(fields) {
			d.clearBelow(c.Path.Key(k), true)
		}
		return
	}
	d.clearBelow(c.Path, c.Op == world.OpSet || c.Op == world.OpDelete)
}

func (d *document) clearBelow(path world.Path, deep bool) {
	for _, id := range d.timers.Below(path, deep) {
		d.timers.Clear(id)
	}
}

// faultOf turns a refusal of the document into a fault of the command.
func faultOf(err error) *command.Fault {
	code := command.InvalidValue
	if f, ok := errors.AsType[*world.Fault](err); ok {
		switch f.Code {
		case world.CodeInvalidPath:
			code = command.OutOfRange
		case world.CodeWrongType:
			code = command.WrongType
		case world.CodeLimit:
			code = command.Limit
		case world.CodeDenied:
			code = command.Denied
		}
	}
	return &command.Fault{Code: code, Message: err.Error()}
}
