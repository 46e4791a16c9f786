package worldstate

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// document is the name of the world among the documents of statecmd.
const document = "world"

// State is everything that deciding depends on. It is a value.
type State struct {
	commands statecmd.State
	leases   world.Leases
}

// NewState begins with a world.
func NewState(doc *world.Document) State {
	return State{commands: statecmd.NewState(map[string]*world.Document{document: doc})}
}

// World is the document.
func (s State) World() *world.Document { return s.commands.Document(document) }

// Leases that were given and not taken back; some may have expired.
func (s State) Leases() world.Leases { return s.leases }

// Timers counts the values that wait to expire.
func (s State) Timers() int { return s.commands.Timers(document) }

// Keys counts the idempotency keys that are remembered.
func (s State) Keys() int { return s.commands.Keys(document) }

// NextExpiry is the first moment at which a value or a lease expires; 0 = never.
func (s State) NextExpiry() protocol.Time {
	value, lease := s.commands.NextExpiry(), s.leases.Next()
	if value == 0 || lease != 0 && lease < value {
		return lease
	}
	return value
}

const (
	snapshotFormat = 1
	snapshotFields = 3
)

// AppendSnapshot appends [format, commands, leases]. A world beside which
// nothing is remembered is written as package world does.
func (s State) AppendSnapshot(b []byte) ([]byte, error) {
	if s.plain() {
		return s.World().AppendSnapshot(b), nil
	}
	b = msgp.AppendArrayHeader(b, snapshotFields)
	b = protocol.AppendInt(b, snapshotFormat)
	b, err := s.commands.AppendSnapshot(b)
	return s.leases.AppendMsg(b), err
}

// plain: neither commands nor leases have ever been asked for.
func (s State) plain() bool { return s.commands.Operations() == 0 && s.leases.Empty() }

// ReadSnapshot reads what AppendSnapshot wrote.
func ReadSnapshot(raw protocol.Raw) (State, error) {
	if n, _, err := msgp.ReadArrayHeaderBytes(raw); err == nil && n != snapshotFields {
		doc, err := world.ReadSnapshot(raw)
		if err != nil {
			return State{}, err
		}
		return NewState(doc), nil
	}
	r := protocol.NewReader(raw, "snapshot of the world", snapshotFields)
	if format := r.Int(); r.Err() == nil && format != snapshotFormat {
		return State{}, protocol.Errorf(protocol.KindCorrupt, "worldstate: read snapshot: format %d; this program reads %d", format, snapshotFormat)
	}
	commands, leases := r.Raw(), r.Raw()
	if err := r.End(); err != nil {
		return State{}, err
	}
	s := State{}
	var err error
	if s.commands, err = statecmd.ReadSnapshot(commands); err != nil {
		return s, err
	}
	s.leases, err = world.ReadLeases(leases)
	return s, err
}
