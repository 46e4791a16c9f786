package agent

import (
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// State commands on the private state. The private state stays a plain object. From
// the first command on, a statecmd.State with an empty document holds the versions,
// idempotency keys and timers. An agent that never uses commands has a nil pointer.

const (
	ownDocument = "self"
	ownPrefix   = "self."
)

// ownEngine carries out commands on the private state of a definition.
func (d *Definition) ownEngine() (*statecmd.Engine, error) {
	guard := &statecmd.Guard{}
	if d.Check != nil {
		guard.Validate = func(_ world.Path, state any) error {
			whole, _ := state.(map[string]any)
			return d.Check(whole)
		}
	}
	return statecmd.New(statecmd.Settings{
		Mounts: []statecmd.Mount{
			{Prefix: ownPrefix, Document: ownDocument, Guard: guard},
			{Prefix: statecmd.DefaultPrefix, Document: ownDocument, Guard: guard},
		},
		MaxDocument: d.Limits.MaxStateBytes,
	})
}

// withState puts the private state into the memory as its document.
func withState(memory *statecmd.State, own map[string]any) (statecmd.State, error) {
	var s statecmd.State
	version := int64(0)
	if memory != nil {
		s, version = *memory, memory.Document(ownDocument).Version()
	}
	var v any
	if own != nil {
		v = own
	}
	doc, err := world.FromValue(v, version)
	if err != nil {
		return s, err
	}
	return s.Replace(ownDocument, doc), nil
}

// memoryOf takes the private state out of the memory again.
func memoryOf(s statecmd.State) (memory *statecmd.State, own map[string]any, err error) {
	doc := s.Document(ownDocument)
	empty, err := world.FromValue(nil, doc.Version())
	if err != nil {
		return nil, nil, err
	}
	rest := s.Replace(ownDocument, empty)
	return &rest, doc.Value(), nil
}

// touch drops the timers of the values that a plain change of the private state
// wrote.
func touch(e *statecmd.Engine, memory *statecmd.State, path world.Path, op string, value protocol.Raw) *statecmd.State {
	if memory == nil || memory.Timers(ownDocument) == 0 {
		return memory
	}
	change := world.Change{Op: world.Op(op), Path: path, Value: value}
	next := e.Adopt(*memory, ownDocument, []world.Change{change}, memory.Document(ownDocument))
	return &next
}

// updateByCommands carries out commands on the draft of the private state.
func (t *Turn) updateByCommands(v any) (any, error) {
	batch, err := decodeCommands(v)
	if err != nil {
		return nil, err
	}
	if key, ok := worldstate.Foreign(&batch, worldstate.Prefix); ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "key %s is of the world: send it with %s; nothing was done, for no transaction spans both", tool.Cut(key), toolRequestWorld)
	}
	state, err := withState(t.memory, t.Private)
	if err != nil {
		return nil, err
	}
	dec := t.m.Def.commands.Decide(state, statecmd.Input{
		Now: t.wake.Now, Batch: batch, BatchID: t.m.ID.Instance + "/" + itoa(t.end.Turn) + "." + itoa(uint64(t.end.Calls)),
		TurnID: itoa(t.end.Turn), By: t.m.ID.Instance, Profile: t.m.Def.Profile,
	})
	for _, r := range dec.Results {
		t.end.Changed = t.end.Changed || r.Changed
	}
	if err := t.take(dec); err != nil {
		return nil, err
	}
	return statecmd.OutcomeValue(dec.Results, dec.Warnings, dec.Debug), nil
}

// expireOwn removes the values that have expired since the last turn.
func (t *Turn) expireOwn() error {
	if t.memory == nil {
		return nil
	}
	if at := t.memory.NextExpiry(); at == 0 || at > t.wake.Now {
		return nil
	}
	state, err := withState(t.memory, t.Private)
	if err != nil {
		return err
	}
	return t.take(t.m.Def.commands.Advance(state, t.wake.Now))
}

// take adds a decision about the private state to the turn.
func (t *Turn) take(dec statecmd.Decision) error {
	memory, own, err := memoryOf(dec.Next)
	if err != nil {
		return err
	}
	t.facts = append(t.facts, dec.Facts...)
	t.memory, t.Private, t.size = memory, own, private.Size(dec.Next.Document(ownDocument).Size())
	return nil
}

// applyCommands folds a fact of commands on the private state.
func (m *Machine) applyCommands(f *statecmd.Committed) error {
	state, err := withState(m.State.memory, m.State.Private)
	if err != nil {
		return err
	}
	if state, err = m.Def.commands.Apply(state, f); err != nil {
		return err
	}
	m.State.size = private.Size(state.Document(ownDocument).Size())
	m.State.memory, m.State.Private, err = memoryOf(state)
	return err
}
