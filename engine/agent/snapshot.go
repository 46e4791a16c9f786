package agent

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/repeat"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/statecmd"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// snapshot is a State as stored.
type snapshot struct {
	Private      protocol.Raw
	Goals        []goal.Goal
	Turn         uint64
	Heard        uint64
	Dropped      int64
	Inbox        []storedEvent
	History      []Utterance
	Observations []storedObservation
	More         protocol.Raw // a storedDelivery, nil for most
}

// fields are all fields, in their order.
func (s *snapshot) fields() []any {
	return []any{&s.Private, &s.Goals, &s.Turn, &s.Heard, &s.Dropped, &s.Inbox, &s.History, &s.Observations, &s.More}
}

// storedDelivery is a delivery as stored, and the marks of the inbox.
type storedDelivery struct {
	Marks    []storedMarks
	Handled  []string
	Drops    []agentfact.Drop
	Dropped  int64
	Refused  int64
	Flight   []storedEvent
	Flying   []storedMarks
	Tasks    []agentfact.Task
	Closed   []taskEnd
	Owed     []owed
	Requests []repeat.Answered
	Held     []agentfact.Held
	Goals    []storedGoal
	Met      []goal.Met
	Rest     rest
	Unheard  bool
	Kept     criteria.Kept
	Mind     *memory.Stored // nil for most
	Pace     *pace.Kept     // nil for most
}

// storedGoal is the rest of a goal.
type storedGoal struct {
	ID   string
	More goal.More
}

type storedMarks struct {
	Number      uint64
	After       protocol.Time
	Failures    uint16
	Interrupted uint8
	Held        bool
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
	return AppendSnapshot(codec, nil, s)
}

// AppendSnapshot is Snapshot onto the end of b.
func AppendSnapshot(codec *protocol.Codec, b []byte, s *State) (raw []byte, err error) {
	snap := snapshot{Goals: s.Goals, Turn: s.Turn, Heard: s.heard, Dropped: s.dropped, History: s.history, Inbox: storeEvents(s.inbox)}
	if more := storeDelivery(s); more != nil {
		if snap.More, err = codec.Marshal(more); err != nil {
			return nil, err
		}
	}
	for _, o := range s.observations {
		snap.Observations = append(snap.Observations, storedObservation{Time: o.Time, Kind: o.Kind, Value: protocol.Encode(o.Value)})
	}
	fields := snap.fields()
	fields[0] = &s.Private // for which the snapshot has its bytes
	if s.Memory() == nil {
		return grown.Append(codec, b, fields...)
	}
	if raw, err = grown.Append(codec, nil, fields...); err != nil {
		return nil, err
	}
	memory, err := s.Memory().AppendSnapshot(nil)
	if err != nil {
		return nil, err
	}
	return codec.Append(b, &snapshotWithMemory{raw, memory})
}

// Restore decodes the output of Snapshot, also that of older programs.
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
	s.own = s.WithMemory(memory)
	return s, err
}

func restoreState(codec *protocol.Codec, raw protocol.Raw) (State, error) {
	var snap snapshot
	if err := grown.Read(codec, raw, snap.fields()...); err != nil {
		return State{}, err
	}
	s := State{Goals: goal.Once(snap.Goals), Turn: snap.Turn, heard: snap.Heard, dropped: snap.Dropped, history: snap.History}
	v, err := snap.Private.Value()
	if err != nil {
		return s, err
	}
	s.Private, _ = v.(map[string]any)
	if s.inbox, err = loadEvents(snap.Inbox); err != nil {
		return s, err
	}
	s.bytes = s.weigh()
	if len(snap.More) > 0 {
		var more storedDelivery
		if err := grown.Unmarshal(codec, snap.More, &more); err != nil {
			return s, err
		}
		if err := s.loadDelivery(&more); err != nil {
			return s, err
		}
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

// storeEvents encodes events; an ephemeral one loses its payload.
func storeEvents(list []Heard) (out []storedEvent) {
	for i := range list {
		e := list[i].Event
		if e.Ephemeral && len(e.Body.Raw) > 0 {
			e = e.Bare()
		}
		out = append(out, storedEvent{Number: list[i].Number, Event: e.AppendMsg(nil)})
	}
	return out
}

func loadEvents(list []storedEvent) (out []Heard, err error) {
	for _, e := range list {
		env, err := protocol.ReadEnvelope(e.Event)
		if err != nil {
			return nil, err
		}
		out = append(out, Heard{Number: e.Number, Event: env, heardMarks: heardMarks{Lost: env.Ephemeral}})
	}
	return out, nil
}

func storeMarks(list []Heard) (out []storedMarks) {
	for i := range list {
		m := list[i].heardMarks
		m.Lost = false // a restart loses every ephemeral payload, so the mark depends on the event alone
		if m != (heardMarks{}) {
			out = append(out, storedMarks{list[i].Number, m.After, m.Failures, m.Interrupted, m.Held})
		}
	}
	return out
}

func loadMarks(list []Heard, marks []storedMarks) {
	for _, m := range marks {
		for i := range list {
			if h := &list[i]; h.Number == m.Number {
				h.After, h.Failures, h.Interrupted, h.Held = m.After, m.Failures, m.Interrupted, m.Held
			}
		}
	}
}

func storeDelivery(s *State) *storedDelivery {
	marks, goals := storeMarks(s.inbox), storeGoals(s.Goals)
	if s.more == nil && len(marks)+len(goals) == 0 {
		return nil
	}
	d := &delivery{}
	if s.more != nil {
		d = s.more
	}
	return &storedDelivery{
		Marks: marks, Handled: d.handled, Drops: d.drops, Dropped: d.dropped, Refused: d.refused,
		Flight: storeEvents(d.flight), Flying: storeMarks(d.flight), Tasks: d.tasks, Closed: d.closed, Owed: d.owed, Requests: d.requests, Held: d.held,
		Goals: goals, Met: d.met, Rest: d.rest, Unheard: d.unheard, Kept: d.kept, Mind: d.mind.Store(), Pace: d.pace,
	}
}

func storeGoals(goals []goal.Goal) (out []storedGoal) {
	for i := range goals {
		if m := goals[i].More; m != nil {
			out = append(out, storedGoal{goals[i].ID, *m})
		}
	}
	return out
}

func (s *State) loadGoals(list []storedGoal) error {
	for i := range list {
		m, err := list[i].More.Sealed()
		if err != nil {
			return err
		}
		for k := range s.Goals {
			if s.Goals[k].ID == list[i].ID {
				s.Goals[k].More = m
			}
		}
	}
	return nil
}

func (s *State) loadDelivery(d *storedDelivery) error {
	loadMarks(s.inbox, d.Marks)
	flight, err := loadEvents(d.Flight)
	if err != nil {
		return err
	}
	loadMarks(flight, d.Flying)
	mind, err := memory.Load(d.Mind)
	if err != nil {
		return err
	}
	rests, err := d.Pace.Sealed()
	if err != nil {
		return err
	}
	s.more = &delivery{
		handled: d.Handled, drops: d.Drops, dropped: d.Dropped, refused: d.Refused, flight: flight, tasks: d.Tasks, closed: d.Closed, owed: d.Owed, requests: d.Requests, held: d.Held,
		met: d.Met, rest: d.Rest, unheard: d.Unheard, kept: d.Kept, mind: mind, pace: rests,
	}
	s.slim()
	return s.loadGoals(d.Goals)
}
