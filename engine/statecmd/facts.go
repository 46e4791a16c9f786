package statecmd

import (
	"errors"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/memory"
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
}

// FactKind implements protocol.Fact.
func (*Committed) FactKind() string { return "state.committed" }

// Part is the change of one document. Before equals After when only its timers
// or idempotency keys changed.
type Part struct {
	Document      string
	Before, After int64
	Changes       []world.Change
	Keys          []memory.KeyRecord
	Timers        []memory.TimerChange
}

// ReadCommitted decodes the fact.
func ReadCommitted(raw protocol.Raw) (*Committed, error) {
	f := &Committed{}
	if err := protocol.NewCodec().Unmarshal(raw, f); err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "statecmd: read state.committed: %w", err)
	}
	return f, nil
}

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
	d := document{name: name, doc: emptyDocument()}
	if old := s.find(name); old != nil {
		d.doc, d.keys, d.timers = old.doc, old.keys.Frozen(), old.timers.Frozen()
	}
	doc, err := world.Apply(d.doc, c)
	if err != nil {
		return s, err
	}
	d.doc = doc
	for i := range c.Changes {
		ch := &c.Changes[i]
		deep := ch.Op == world.OpSet || ch.Op == world.OpDelete || ch.Op == world.OpMerge
		for _, id := range d.timers.Below(ch.Path, deep) {
			d.timers.Clear(id)
		}
	}
	return s.with(d), nil
}

// faultOf turns a refusal of the document into a fault of the command.
func faultOf(err error) *command.Fault {
	code := command.InvalidValue
	var f *world.Fault
	if errors.As(err, &f) {
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
