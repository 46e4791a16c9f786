package agenda

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agenda/pause"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// snapshot is a State as stored. Slots is a packed list: per agent due, heard,
// busy, wave, priority, wake level, flags, failures. Behind it stands who rests beyond that.
type snapshot struct {
	Now     protocol.Time
	Began   protocol.Time
	Wave    uint64
	Started bool
	Paused  bool
	Ended   string

	Count1, Count2, Count3, Count4 int64 // of older programs, which counted deliberations here; now 0

	Slots    []byte
	Deferred []EffectsDeferred
}

// blockingSnapshot is the stored form of a State with events in lanes that block. Any
// other State has the older form.
type blockingSnapshot struct {
	State  snapshot
	Unread []storedLane
	Waits  []storedWait
}

// blockingFields is the number of fields by which a blockingSnapshot is recognised.
const blockingFields = 3

// Flags of a stored slot.
const (
	flagAsleep   = 1
	flagGivenUp  = 2
	flagThinking = 4 // the two bits above are the priority of what it perceived: 0 = low
	flagResting  = 32
	shiftGates   = 6  // the bits from here on are the gates that are closed
	heldShift    = 16 // the three bits from here on are those of hold.go
	unreadShift  = 19 // the 32 bits from here on count unread events
)

// Snapshot encodes the state. Equal states have equal bytes.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	snap := snapshot{
		Now: s.Now, Began: s.began, Wave: s.Wave, Started: s.Started, Paused: s.Paused, Ended: s.Ended,
	}
	for i := range s.slots {
		snap.Slots = s.slots[i].append(snap.Slots, s.thinkingFlags(uint32(i))|s.unreadFlags(i))
	}
	snap.Slots = s.pauses.Append(snap.Slots)
	for _, d := range s.deferred {
		snap.Deferred = append(snap.Deferred, EffectsDeferred{Agent: d.Agent, Due: d.Due, Effects: d.Effects})
	}
	lanes, waits := s.blocking.store()
	if len(lanes)+len(waits) > 0 {
		return codec.Marshal(&blockingSnapshot{snap, lanes, waits})
	}
	return codec.Marshal(&snap)
}

// readSnapshot reads both forms.
func readSnapshot(codec *protocol.Codec, raw protocol.Raw) (snap blockingSnapshot, err error) {
	var into any = &snap.State
	if n, _, err := msgp.ReadArrayHeaderBytes(raw); err == nil && n == blockingFields {
		into = &snap
	}
	err = grown.Unmarshal(codec, raw, into)
	return snap, err
}

func (s *State) thinkingFlags(o uint32) int64 {
	urgency, ok := s.thinking[o]
	if !ok {
		return 0
	}
	return flagThinking | int64(urgency-protocol.Low)<<3
}

func (sl *slot) append(b []byte, flags int64) []byte {
	if sl.asleep {
		flags |= flagAsleep
	}
	if sl.givenUp {
		flags |= flagGivenUp
	}
	if sl.resting {
		flags |= flagResting
	}
	flags |= int64(sl.gates) << shiftGates
	flags |= int64(sl.held) << heldShift
	for _, v := range [...]int64{
		int64(sl.due), int64(sl.heard), int64(sl.busyUntil), int64(sl.heardWave),
		int64(sl.priority), int64(sl.wakeAbove), flags, int64(sl.failures),
	} {
		b = msgp.AppendInt64(b, v)
	}
	return b
}

// Restore makes the state of a snapshot for a scene of the same agents.
func Restore(cfg Config, codec *protocol.Codec, raw protocol.Raw) (*State, error) {
	stored, err := readSnapshot(codec, raw)
	if err != nil {
		return nil, err
	}
	snap, s := &stored.State, New(cfg)
	s.Now, s.began, s.Wave, s.Started, s.Paused, s.Ended = snap.Now, snap.Began, snap.Wave, snap.Started, snap.Paused, snap.Ended
	rest := snap.Slots
	for o := range s.slots {
		var err error
		var flags int64
		if flags, rest, err = s.slots[o].read(rest); err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "agenda: snapshot: agent %d of %d: %w", o, len(s.slots), err)
		}
		c := s.arrived(uint32(o)) // the last event put it on the agenda
		c.at, c.wokeWave = s.slots[o].heard, s.slots[o].heardWave
		if s.unread != nil {
			s.unread[o] = uint32(flags >> unreadShift)
		}
		if flags&flagThinking != 0 {
			s.think(uint32(o), Turn{BusyUntil: s.slots[o].busyUntil, Urgency: protocol.Low + protocol.Priority(flags>>3&3)})
		}
	}
	if s.pauses, err = pause.Read(rest, len(s.slots)); err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "agenda: snapshot: it is of more than %d agents, or of damaged ones: %w", len(s.slots), err)
	}
	for o := range s.slots {
		s.enqueue(uint32(o))
	}
	for _, d := range snap.Deferred {
		s.deferred = append(s.deferred, Deferred{Due: d.Due, Agent: d.Agent, Effects: d.Effects})
	}
	return s, s.restoreBlocking(stored.Unread, stored.Waits)
}

func (sl *slot) read(b []byte) (flags int64, rest []byte, err error) {
	var v [8]int64
	for i := range v {
		if v[i], b, err = msgp.ReadInt64Bytes(b); err != nil {
			return 0, b, err
		}
	}
	*sl = slot{
		due: protocol.Time(v[0]), heard: protocol.Time(v[1]), busyUntil: protocol.Time(v[2]), heardWave: uint64(v[3]),
		priority: protocol.Priority(v[4]), wakeAbove: protocol.Priority(v[5]),
		asleep: v[6]&flagAsleep != 0, givenUp: v[6]&flagGivenUp != 0, gates: Gate(v[6] >> shiftGates), resting: v[6]&flagResting != 0, failures: uint32(v[7]),
		held: uint8(v[6]>>heldShift) & (heldBack | heldAlert | heldMissed),
	}
	return v[6], b, nil
}

// TimesOf reads from a snapshot when the scene began, and its time.
func TimesOf(codec *protocol.Codec, raw protocol.Raw) (begun, now protocol.Time, err error) {
	snap, err := readSnapshot(codec, raw)
	return snap.State.Began, snap.State.Now, err
}
