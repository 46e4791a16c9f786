package turns

import (
	"maps"
	"slices"

	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// snapshot is a State as stored.
type snapshot struct {
	Seed    uint64
	Phase   uint8
	Round   int64
	Turn    int64
	Order   []uint32
	Next    int64
	Grants  []grant
	Out     []uint32
	Since   protocol.Time
	Stalled bool
	Taken   int64
	Lost    int64
}

// Snapshot encodes the state. Equal states have equal bytes.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	return codec.Marshal(&snapshot{
		Seed: s.seed, Phase: uint8(s.phase), Round: s.round, Turn: s.turn, Order: s.order, Next: int64(s.next), Grants: s.grants,
		Out: slices.Sorted(maps.Keys(s.out)), Since: s.since, Stalled: s.stalled, Taken: s.taken, Lost: s.lost,
	})
}

// Restore makes the state of a snapshot under rules.
func Restore(r *Rules, codec *protocol.Codec, raw protocol.Raw) (*State, error) {
	var x snapshot
	if err := grown.Unmarshal(codec, raw, &x); err != nil {
		return nil, err
	}
	s := NewState(r)
	s.seed, s.phase, s.round, s.turn, s.order, s.next = x.Seed, phase(x.Phase), x.Round, x.Turn, x.Order, int(x.Next)
	s.grants, s.since, s.stalled, s.taken, s.lost = x.Grants, x.Since, x.Stalled, x.Taken, x.Lost
	for i := range s.grants {
		s.place[s.grants[i].Agent] = i
	}
	for _, o := range x.Out {
		s.out[o] = true
	}
	if s.phase > over || s.next < 0 || s.next > len(s.order) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "turns: snapshot: phase %d, place %d of %d", s.phase, s.next, len(s.order))
	}
	return s, nil
}
