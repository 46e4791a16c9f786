// Package team chooses the member of a group of subscribers that hears an event (seed 004 §5.3):
// the one with the fewest waiting events, then the lowest ordinal.
//
// The keeper of the agenda knows how many events wait for each agent. The counts come with the
// requests of a wave, and deliveries of the wave are added.
package team

import (
	"maps"
	"slices"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/bus/ordinals"
	"tavernsim/protocol"
)

// Load is how much waits for agents, by ordinal. Nothing waits for who is not in it.
type Load map[uint32]int64

// Number marks a Load among the requests to the channel (engine/bus).
const Number = 5

// AppendMsg writes the request.
func (l Load) AppendMsg(b []byte) []byte {
	b = msgp.AppendInt(msgp.AppendArrayHeader(b, 2), Number)
	b = msgp.AppendArrayHeader(b, uint32(2*len(l)))
	for _, o := range slices.Sorted(maps.Keys(l)) {
		b = protocol.AppendInt(msgp.AppendUint32(b, o), l[o])
	}
	return b
}

// Read reads what stands behind the number of the request.
func Read(r *protocol.Reader) Load {
	n, _ := r.Count(1)
	l := make(Load, n/2)
	for range n / 2 {
		o := r.Uint32()
		l[o] = r.Int()
	}
	return l
}

// Add counts a delivery to each receiver.
func (l Load) Add(to ordinals.Ranges) {
	for o := range to.All() {
		l[o]++
	}
}

// Teams are groups of which somebody would hear an event.
type Teams []group

type group struct {
	name    string
	members ordinals.Ranges
}

// Add adds members of a group that would hear the event.
func (t *Teams) Add(name string, members ordinals.Ranges) {
	if len(members) == 0 {
		return
	}
	if i := slices.IndexFunc(*t, func(g group) bool { return g.name == name }); i >= 0 {
		(*t)[i].members = (*t)[i].members.And(members)
		return
	}
	*t = append(*t, group{name, members})
}

// Pick appends the one member of each group that hears the event. Groups choose in the order
// in which they were added.
func (t Teams) Pick(l Load, sets []ordinals.Ranges) []ordinals.Ranges {
	for _, g := range t {
		sets = append(sets, ordinals.Ranges{{From: least(g.members, l), Count: 1}})
	}
	return sets
}

func least(members ordinals.Ranges, l Load) (best uint32) {
	fewest := int64(-1)
	for o := range members.All() {
		if n := l[o]; fewest < 0 || n < fewest {
			best, fewest = o, n
		}
		if fewest == 0 {
			break
		}
	}
	return best
}
