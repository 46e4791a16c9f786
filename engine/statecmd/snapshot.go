package statecmd

import (
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

const snapshotFormat = 1

// snapshot is the stored form of a State.
type snapshot struct {
	Format int64
	Seq    int64
	Docs   []docSnapshot
}

type docSnapshot struct {
	Name   string
	World  protocol.Raw       // world.Document.AppendSnapshot
	Keys   []ledger.KeyRecord // oldest first
	Timers []ledger.TimerChange
}

// AppendSnapshot appends everything that deciding depends on.
func (s State) AppendSnapshot(b []byte) ([]byte, error) {
	out := snapshot{Format: snapshotFormat, Seq: int64(s.seq)}
	for i := range s.docs {
		d := &s.docs[i]
		doc := docSnapshot{Name: d.name, World: d.doc.AppendSnapshot(nil)}
		doc.Keys, doc.Timers = d.keys.Records(), d.timers.Changes()
		out.Docs = append(out.Docs, doc)
	}
	raw, err := protocol.NewCodec().Marshal(out)
	if err != nil {
		return b, protocol.Errorf(protocol.KindInternal, "statecmd: write snapshot: %w", err)
	}
	return append(b, raw...), nil
}

// ReadSnapshot reads what AppendSnapshot wrote.
func ReadSnapshot(raw protocol.Raw) (State, error) {
	var in snapshot
	if err := protocol.NewCodec().Unmarshal(raw, &in); err != nil {
		return State{}, protocol.Errorf(protocol.KindCorrupt, "statecmd: read snapshot: %w", err)
	}
	if in.Format != snapshotFormat {
		return State{}, protocol.Errorf(protocol.KindCorrupt, "statecmd: read snapshot: format %d; this program reads %d", in.Format, snapshotFormat)
	}
	s := State{seq: uint64(in.Seq)}
	for i := range in.Docs {
		d := &in.Docs[i]
		doc, err := world.ReadSnapshot(d.World)
		if err != nil {
			return State{}, err
		}
		out := document{name: d.Name, doc: doc}
		out.keys = ledger.LoadKeys(d.Keys)
		for _, t := range d.Timers {
			out.timers.Set(t.ID, t.Timer)
		}
		s = s.with(out)
	}
	return s, nil
}
