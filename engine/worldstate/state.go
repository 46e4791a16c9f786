package worldstate

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/cast"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/protocol"
)

// document is the name of the world among the documents of statecmd.
const document = "world"

// State is the state of the service. It is a value.
type State struct {
	commands statecmd.State
	leases   lease.Leases
}

// NewState makes a state with a world and nothing else.
func NewState(doc *world.Document) State {
	return State{commands: statecmd.NewState(map[string]*world.Document{document: doc})}
}

// World is the document.
func (s State) World() *world.Document { return s.commands.Document(document) }

// Leases are the leases that were granted and not ended; some may have expired.
func (s State) Leases() lease.Leases { return s.leases }

// locks are the leases as decisions about writes see them; nil = none.
func (s State) locks() world.Locks {
	if s.leases.Empty() {
		return nil
	}
	return locks{s.leases}
}

// locks stop agents, never the scene.
type locks struct{ lease.Leases }

func (l locks) Check(now protocol.Time, by string, p world.Path) error {
	if cast.OfScene(by) {
		return nil
	}
	return l.Leases.Check(now, by, p)
}

// Timers counts the values that wait to expire.
func (s State) Timers() int { return s.commands.Timers(document) }

// Keys counts the idempotency keys that are remembered.
func (s State) Keys() int { return s.commands.Keys(document) }

// NextExpiry is the first moment at which a value or a lease expires; 0 = never.
func (s State) NextExpiry() protocol.Time {
	value, lock := s.commands.NextExpiry(), s.leases.Next()
	if value == 0 || lock != 0 && lock < value {
		return lock
	}
	return value
}

const (
	snapshotFormat = 1
	snapshotFields = 3
)

// AppendSnapshot appends [format, commands, leases]. A world without keys, timers and
// leases has the form of package world.
func (s State) AppendSnapshot(b []byte) ([]byte, error) {
	if s.plain() {
		return s.World().AppendSnapshot(b), nil
	}
	b = msgp.AppendArrayHeader(b, snapshotFields)
	b = protocol.AppendInt(b, snapshotFormat)
	b, err := s.commands.AppendSnapshot(b)
	return s.leases.AppendMsg(b), err
}

// plain reports that there have never been commands or leases.
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
	s.leases, err = lease.Read(leases)
	return s, err
}
