package private

import (
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Prefix begins the keys of state commands on a private state.
const Prefix = "self."

// document is what the engine of state commands calls a private state.
const document = "self"

// State is a private state. It stays a plain object. From the first command on, a
// statecmd.State with an empty document holds the versions, idempotency keys and
// timers; an agent that never uses commands has none.
type State struct {
	Private map[string]any
	size    Size
	memory  *statecmd.State // nil until the first command
}

// Size is an upper bound of the bytes of the state.
func (s State) Size() Size { return s.size }

// Memory is what commands have left beside the state; nil = no command was carried out.
func (s State) Memory() *statecmd.State { return s.memory }

// WithMemory is the state with a memory that was read from a snapshot.
func (s State) WithMemory(memory statecmd.State) State {
	s.memory = &memory
	return s
}

// Engine changes the private states of the agents of one profile.
type Engine struct {
	commands *statecmd.Engine
	check    func(state map[string]any) error // nil accepts every state
	limit    int
}

// NewEngine makes an engine for states of at most limit bytes. check validates a whole
// state; nil accepts every state.
func NewEngine(check func(state map[string]any) error, limit int) (*Engine, error) {
	guard := &statecmd.Guard{}
	if check != nil {
		guard.Validate = func(_ world.Path, state any) error {
			whole, _ := state.(map[string]any)
			return check(whole)
		}
	}
	commands, err := statecmd.New(statecmd.Settings{
		Mounts: []statecmd.Mount{
			{Prefix: Prefix, Document: document, Guard: guard},
			{Prefix: statecmd.DefaultPrefix, Document: document, Guard: guard},
		},
		MaxDocument: limit,
	})
	return &Engine{commands, check, limit}, err
}

// ParsePath reads a path of the private state, which paths remembers; no text is the whole.
func ParsePath(text string, paths *world.Paths) (world.Path, error) {
	if text == "" {
		return nil, nil
	}
	return paths.Parse(text)
}

// CheckWrite refuses a path that nobody may write, and a value that is nested too deep there. The
// empty path is the whole state.
func CheckWrite(path world.Path, value any) error {
	const pushed = 1 // levels of the list that a value may be put into
	if len(path) > 0 {
		if err := path.CheckWrite(); err != nil {
			return err
		}
	}
	if most := protocol.MaxNested - pushed - len(path); protocol.Deeper(value, most) {
		return protocol.Errorf(protocol.KindInvalid, "the value is nested deeper than %d, which is the most at %s", most, place(path))
	}
	return nil
}

// Change is the state after one plain change. It takes the value from its encoded form, as
// a fold does. text is the path as it was written. Neither the limit nor the check of the
// engine is applied.
func (e *Engine) Change(s State, text string, path world.Path, op string, encoded protocol.Raw) (State, error) {
	value, err := encoded.Value()
	if err != nil {
		return s, err
	}
	next, err := Patch(s.Private, path, op, value)
	if err != nil {
		return s, err
	}
	// Beside the path and the value there may be the headers of new parents and keys, the longer
	// header of what grew, and a sum that is longer than what was added.
	most := len(text) + len(encoded) + 16 + 8*len(path)
	size := s.size.After(next, most, e.limit)
	return State{next, size, e.touch(s.memory, path, op, encoded)}, nil
}

// Check refuses a state that the check of the engine does not accept, or that is too large.
func (e *Engine) Check(s State) error {
	if e.check != nil {
		if err := e.check(s.Private); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the state would break initial_private_state_schema: %w", err)
		}
	}
	if int(s.Size()) > e.limit {
		return protocol.Errorf(protocol.KindLimit, "the state would have %d bytes, more than %d (custom_runtime_config.max_state_bytes)", s.Size(), e.limit)
	}
	return nil
}

// touch drops the timers of the values that a plain change wrote.
func (e *Engine) touch(memory *statecmd.State, path world.Path, op string, value protocol.Raw) *statecmd.State {
	if memory == nil || memory.Timers(document) == 0 {
		return memory
	}
	change := world.Change{Op: world.Op(op), Path: path, Value: value}
	next := e.commands.Adopt(*memory, document, []world.Change{change}, memory.Document(document))
	return &next
}

// Decide carries out commands. The second result is the state after them.
func (e *Engine) Decide(s State, in statecmd.Input) (statecmd.Decision, State, error) {
	full, err := s.full()
	if err != nil {
		return statecmd.Decision{}, s, err
	}
	dec := e.commands.Decide(full, in)
	next, err := of(dec.Next)
	return dec, next, err
}

// Expire removes the values whose time is over.
func (e *Engine) Expire(s State, now protocol.Time) (facts []protocol.Fact, next State, err error) {
	if s.memory == nil {
		return nil, s, nil
	}
	if at := s.memory.NextExpiry(); at == 0 || at > now {
		return nil, s, nil
	}
	full, err := s.full()
	if err != nil {
		return nil, s, err
	}
	dec := e.commands.Advance(full, now)
	next, err = of(dec.Next)
	return dec.Facts, next, err
}

// Apply folds a fact of commands.
func (e *Engine) Apply(s State, f *statecmd.Committed) (State, error) {
	full, err := s.full()
	if err != nil {
		return s, err
	}
	if full, err = e.commands.Apply(full, f); err != nil {
		return s, err
	}
	return of(full)
}

// full is the memory with the private state as its document.
func (s State) full() (full statecmd.State, err error) {
	version := int64(0)
	if s.memory != nil {
		full, version = *s.memory, s.memory.Document(document).Version()
	}
	var v any
	if s.Private != nil {
		v = s.Private
	}
	doc, err := world.FromValue(v, version)
	if err != nil {
		return full, err
	}
	return full.Replace(document, doc), nil
}

// of is the reverse of full.
func of(full statecmd.State) (State, error) {
	doc := full.Document(document)
	empty, err := world.FromValue(nil, doc.Version())
	if err != nil {
		return State{}, err
	}
	rest := full.Replace(document, empty)
	return State{doc.Value(), Size(doc.Size()), &rest}, nil
}
