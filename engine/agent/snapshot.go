package agent

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/statecmd"
	"tavernsim/protocol"
)

// snapshot is a State as stored.
type snapshot struct {
	Private      protocol.Raw
	Goals        []Goal
	Turn         uint64
	Heard        uint64
	Dropped      int64
	Inbox        []storedEvent
	History      []Utterance
	Observations []storedObservation
}

// snapshotWithMemory is the form of an agent that has used state commands.
type snapshotWithMemory struct {
	State  protocol.Raw // a snapshot
	Memory protocol.Raw // of statecmd; its document is empty
}

const memoryFields = 2

type storedEvent struct {
	Number uint64
	Event  protocol.Raw // an envelope
}

type storedObservation struct {
	Time  protocol.Time
	Kind  string
	Value protocol.Raw
}

// Snapshot encodes the state. Equal states have equal bytes.
func Snapshot(codec *protocol.Codec, s *State) (protocol.Raw, error) {
	snap := snapshot{
		Private: protocol.Encode(s.Private), Goals: s.Goals, Turn: s.Turn, Heard: s.heard, Dropped: s.dropped, History: s.history,
	}
	for _, h := range s.inbox {
		snap.Inbox = append(snap.Inbox, storedEvent{Number: h.Number, Event: h.Event.AppendMsg(nil)})
	}
	for _, o := range s.observations {
		snap.Observations = append(snap.Observations, storedObservation{Time: o.Time, Kind: o.Kind, Value: protocol.Encode(o.Value)})
	}
	raw, err := codec.Marshal(&snap)
	if err != nil || s.memory == nil {
		return raw, err
	}
	memory, err := s.memory.AppendSnapshot(nil)
	if err != nil {
		return nil, err
	}
	return codec.Marshal(&snapshotWithMemory{raw, memory})
}

// Restore reads what Snapshot wrote.
func Restore(codec *protocol.Codec, raw protocol.Raw) (State, error) {
	if n, _, err := msgp.ReadArrayHeaderBytes(raw); err != nil || n != memoryFields {
		return restoreState(codec, raw)
	}
	var both snapshotWithMemory
	if err := codec.Unmarshal(raw, &both); err != nil {
		return State{}, err
	}
	s, err := restoreState(codec, both.State)
	if err != nil {
		return s, err
	}
	memory, err := statecmd.ReadSnapshot(both.Memory)
	s.memory = &memory
	return s, err
}

func restoreState(codec *protocol.Codec, raw protocol.Raw) (State, error) {
	var snap snapshot
	if err := codec.Unmarshal(raw, &snap); err != nil {
		return State{}, err
	}
	s := State{Goals: snap.Goals, Turn: snap.Turn, heard: snap.Heard, dropped: snap.Dropped, history: snap.History}
	v, err := snap.Private.Value()
	if err != nil {
		return s, err
	}
	s.Private, _ = v.(map[string]any)
	for _, e := range snap.Inbox {
		env, err := protocol.ReadEnvelope(e.Event)
		if err != nil {
			return s, err
		}
		s.inbox = append(s.inbox, Heard{Number: e.Number, Event: env})
	}
	for _, o := range snap.Observations {
		v, err := o.Value.Value()
		if err != nil {
			return s, err
		}
		s.observations = append(s.observations, Observation{Time: o.Time, Kind: o.Kind, Value: v})
	}
	return s, nil
}
