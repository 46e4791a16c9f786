package ground

import (
	"container/heap"
	"fmt"
	"time"

	"tavernsim/protocol"
)

// A map without a grid is a row of cells, one for each place, in the order of their names: x
// is the number of the place, y is 0. A step goes through an exit and takes the time of the
// exit. The digit of a step is the number of the exit, by the name of where it leads.

// Bounds of maps without a grid.
const (
	MaxExits = 64                                    // of a place
	MaxHops  = 3                                     // of perception
	MaxTime  = protocol.Duration(7 * 24 * time.Hour) // of an exit
	maxPairs = 1 << 20                               // of places that perceive each other
)

type exit struct {
	to    uint32
	takes time.Duration
}

// Hop is a place and how many exits away it is.
type Hop struct {
	Place uint32
	Exits int
}

// Joined reports that there is no grid.
func (m *Map) Joined() bool { return m.exits != nil }

// Exits lists where the exits of a place lead, by name.
func (m *Map) Exits(place uint32) []string {
	names := make([]string, len(m.exits[place]))
	for i, e := range m.exits[place] {
		names[i] = m.Places[e.to].Name
	}
	return names
}

// Within lists the places that are at most perception.exits away, itself first.
func (m *Map) Within(place uint32) []Hop { return m.near[place] }

// join makes a map of places and exits.
func (c *compiler) join(d *Definition) *Map {
	names := protocol.SortedKeys(d.Places)
	n := len(names)
	m := &Map{Width: n, Height: 1, Speed: 1, types: d.Perception.Types, byName: map[string]int{}, across: n, within: map[uint32][]uint16{},
		blocked: make([]uint64, (n+63)/64), exits: make([][]exit, n)}
	for i, name := range names {
		p := d.Places[name]
		a := Area{Name: name, X: i, W: 1, H: 1, Capacity: int(p.Capacity)}
		if len(p.At) == 2 {
			a.At = &[2]int{clamped(p.At[0]), clamped(p.At[1])}
		}
		if !m.add(a) {
			c.fault(fmt.Sprintf("%d places, want at most %d", n, MaxPlaces), "", "places")
			return m
		}
	}
	for i, name := range names {
		c.exits(m, uint32(i), name, d.Places[name])
	}
	if len(c.faults) == 0 {
		c.perceive(m, int(d.Perception.Exits))
	}
	return m
}

func (c *compiler) exits(m *Map, i uint32, name string, p Place) {
	switch {
	case nameFault(name) != "":
		c.fault("the name of the place "+nameFault(name), "", "places", name)
	case p.Size != nil:
		c.fault("without a grid a place has no size", "take it out, or add grid", "places", name, "size")
	case p.At != nil && (len(p.At) != 2 || clamped(p.At[0]) != int(p.At[0]) || clamped(p.At[1]) != int(p.At[1]) || p.At[0] < 0 || p.At[1] < 0):
		c.fault(fmt.Sprintf("want two numbers, x and y, from 0 to %d: where the map is drawn has the place there", MaxSide), "such as at: [4, 7]", "places", name, "at")
	case len(p.Exits) > MaxExits:
		c.fault(fmt.Sprintf("%d exits, want at most %d", len(p.Exits), MaxExits), "", "places", name, "exits")
	}
	for _, to := range protocol.SortedKeys(p.Exits) {
		j, known := m.byName[to]
		switch takes := p.Exits[to]; {
		case !known:
			c.fault(fmt.Sprintf("there is no place %q", protocol.Short(to, 80)), "", "places", name, "exits", to)
		case uint32(j) == i:
			c.fault("the exit leads to where it begins", "", "places", name, "exits", to)
		case takes <= 0 || takes > MaxTime:
			c.fault(fmt.Sprintf("%v, want more than 0 and at most %v", takes.Std(), MaxTime.Std()), "such as 2m", "places", name, "exits", to)
		default:
			m.exits[i] = append(m.exits[i], exit{uint32(j), takes.Std()})
		}
	}
}

// perceive finds which places are near each other.
func (c *compiler) perceive(m *Map, exits int) {
	m.near = make([][]Hop, m.Width)
	pairs := 0
	for i := range m.near {
		list, seen := []Hop{{Place: uint32(i)}}, map[uint32]bool{uint32(i): true}
		for k := 0; k < len(list) && list[k].Exits < exits; k++ {
			for _, e := range m.exits[list[k].Place] {
				if !seen[e.to] {
					seen[e.to] = true
					list = append(list, Hop{e.to, list[k].Exits + 1})
				}
			}
		}
		if pairs += len(list); pairs > maxPairs {
			c.fault(fmt.Sprintf("more than %d pairs of places perceive each other", maxPairs), "lower it", "perception", "exits")
			return
		}
		m.near[i] = list
	}
}

// Way is a shortest way to a place.
type Way struct {
	Place uint32
	Exits int // that it goes through
	Takes time.Duration

	before uint32 // the place before it
	exit   byte   // of that place
}

// Ways gives the places by the time that the way to them takes, until more says no.
func (m *Map) Ways(from uint32, more func(Way) bool) {
	done := make(map[uint32]bool)
	for next := (ways{{Place: from}}); len(next) > 0; {
		w := heap.Pop(&next).(Way)
		if done[w.Place] {
			continue
		}
		done[w.Place] = true
		if !more(w) {
			return
		}
		for i, e := range m.exits[w.Place] {
			if !done[e.to] {
				heap.Push(&next, Way{e.to, w.Exits + 1, w.Takes + e.takes, w.Place, byte(i)})
			}
		}
	}
}

// through is the path of the shortest way.
func (m *Map) through(from, to uint32) (path string, ok bool) {
	found := map[uint32]Way{}
	m.Ways(from, func(w Way) bool {
		found[w.Place] = w
		return w.Place != to
	})
	w, ok := found[to]
	steps := make([]byte, w.Exits)
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i] = '0' + w.exit
		w = found[w.before]
	}
	return string(steps), ok
}

// ways is a heap: the shortest, then the fewest exits, then by place.
type ways []Way

func (h ways) Len() int      { return len(h) }
func (h ways) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h ways) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	if a.Takes != b.Takes {
		return a.Takes < b.Takes
	}
	if a.Exits != b.Exits {
		return a.Exits < b.Exits
	}
	if a.Place != b.Place {
		return a.Place < b.Place
	}
	return a.before < b.before
}

// Push implements heap.Interface.
func (h *ways) Push(x any) { *h = append(*h, x.(Way)) }

// Pop implements heap.Interface.
func (h *ways) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	*h = (*h)[:last]
	return w
}
