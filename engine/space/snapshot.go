package space

import (
	"encoding/binary"
	"time"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// snapshot is a State as stored.
type snapshot struct {
	Cells []byte // of each agent, four bytes: one more than its cell; up to the last that is anywhere
	Walks []keptWalk
}

type keptWalk struct {
	Agent, Done uint32
	Waits       uint8
	Due         protocol.Time
	Goal        uint32
	To, Path    string
}

// Snapshot encodes the state. Equal states have equal bytes.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	s.compact()
	x := snapshot{Walks: make([]keptWalk, len(s.walks))}
	for o := range s.pos.top() {
		x.Cells = binary.LittleEndian.AppendUint32(x.Cells, s.pos.get(o))
	}
	for n := len(x.Cells); n >= 4 && binary.LittleEndian.Uint32(x.Cells[n-4:]) == 0; n -= 4 {
		x.Cells = x.Cells[:n-4]
	}
	if len(x.Cells) == 0 {
		x.Cells = nil // nil and empty would be other bytes
	}
	for i := range s.walks {
		w := &s.walks[i]
		x.Walks[i] = keptWalk{w.agent, w.done, w.waits, w.due, w.goal, w.to, w.path}
	}
	return codec.Marshal(&x)
}

// Restore makes the state of a snapshot.
func Restore(m *ground.Map, cast Cast, tick time.Duration, codec *protocol.Codec, raw protocol.Raw) (*State, error) {
	var x snapshot
	if err := grown.Unmarshal(codec, raw, &x); err != nil {
		return nil, err
	}
	starts := make([]uint32, len(x.Cells)/4)
	for o := range starts {
		starts[o] = binary.LittleEndian.Uint32(x.Cells[4*o:])
		if int64(starts[o]) > int64(m.Width*m.Height) {
			return nil, corrupt(uint32(o))
		}
	}
	if len(starts) > cast.Size() {
		return nil, corrupt(uint32(len(starts) - 1))
	}
	s := NewState(m, starts, cast, tick)
	for i := range x.Walks {
		w := &x.Walks[i]
		cell, is := s.cellOf(w.Agent)
		gx, gy := m.At(w.Goal)
		if !is || int(w.Done) > len(w.Path) || !m.In(gx, gy) || !m.Follows(cell, w.Path[w.Done:], gx, gy) {
			return nil, corrupt(w.Agent)
		}
		s.begin(walk{agent: w.Agent, done: w.Done, waits: w.Waits, due: w.Due, goal: w.Goal, to: w.To, path: w.Path})
	}
	return s, nil
}

func corrupt(o uint32) error {
	return protocol.Errorf(protocol.KindCorrupt, "space: snapshot: agent %d cannot be where it is: the snapshot is of another project", o)
}
