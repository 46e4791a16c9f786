package space

import (
	"slices"
	"strings"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// View is a state as others see it between two decisions. It is immutable.
type View struct {
	where
	cast   Cast
	beyond func() // of a [Glimpse]; nil = all agents are in it
}

// Share gives the state as it is now.
func (s *State) Share() *View { return &View{where: s.where.share(), cast: s.cast} }

// How far an event reaches, by the words of PublishEventTool.
const (
	ReachNear  = "near"
	ReachPlace = "place"
	ReachScene = "scene"
)

// Reaches lists them.
func Reaches() []string { return []string{ReachNear, ReachPlace, ReachScene} }

// MaxNear is how many neighbours an agent is told of.
const MaxNear = 32

// Map is the map.
func (v *View) Map() *ground.Map { return v.m }

// Cast are the agents of the scene.
func (v *View) Cast() Cast { return v.cast }

// Where is the cell of an agent; false = it is nowhere.
func (v *View) Where(o uint32) (x, y int, ok bool) {
	cell, ok := v.cellOf(o)
	if !ok {
		return 0, 0, false
	}
	x, y = v.m.At(cell)
	return x, y, true
}

// Goal is the cell that an agent walks to; false = it stands.
func (v *View) Goal(o uint32) (x, y int, ok bool) {
	d := v.dest.get(o)
	if d == 0 {
		return 0, 0, false
	}
	x, y = v.m.At(d - 1)
	return x, y, true
}

// Inside counts the agents in a place, by its number.
func (v *View) Inside(place int) int { return int(v.inside.get(uint32(place))) }

// Near lists the nearest neighbours of an agent, at most n, and counts all.
func (v *View) Near(o uint32, n int) (list []Neighbour, all int) { return v.around(o, n) }

// Check refuses requests of which one could not be carried out, in their order.
func (v *View) Check(requests []Request) error {
	if v == nil {
		return protocol.Errorf(protocol.KindInvalid, "the scene has no space")
	}
	w := v.where.share()
	var find ground.Finder
	for i := range requests {
		q := &requests[i]
		t, err := w.resolve(v.cast, &find, q)
		switch {
		case err != nil:
			return protocol.Errorf(protocol.KindOf(err), "%s: %w", q.Agent, err)
		case t.gone:
			w.remove(t.agent)
		case q.Put:
			w.put(t.agent, t.cell)
		}
	}
	return nil
}

// Surroundings is what an agent perceives of where it is; nil = it is nowhere.
func (v *View) Surroundings(o uint32) map[string]any {
	x, y, ok := v.Where(o)
	if !ok {
		return nil
	}
	list, all := v.Near(o, MaxNear)
	near := make([]any, len(list))
	for i, n := range list {
		near[i] = map[string]any{"agent": v.cast.Name(n.Agent), "distance": int64(n.Distance), "cell": v.cellValue(n.X, n.Y), "place": nameOrNil(v.m.NameAt(n.X, n.Y))}
	}
	s := map[string]any{"cell": v.cellValue(x, y), "place": nameOrNil(v.m.NameAt(x, y)), "near": near, "more": int64(all - len(list)), "exits": v.exits(x, y), "walking_to": nil}
	switch gx, gy, walks := v.Goal(o); {
	case walks && v.m.Joined():
		s["walking_to"] = v.m.NameAt(gx, gy)
	case walks:
		s["walking_to"] = v.cellValue(gx, gy)
	}
	return s
}

// exits are the words for one step.
func (v *View) exits(x, y int) []any {
	list := []any{}
	if v.m.Joined() {
		for _, name := range v.m.Exits(v.m.Cell(x, y)) {
			list = append(list, name)
		}
		return list
	}
	for d, name := range ground.Directions() {
		if v.m.Open(x, y, d) {
			list = append(list, name)
		}
	}
	return list
}

// Look is Surroundings with the nearest places.
func (v *View) Look(o uint32) map[string]any {
	s := v.Surroundings(o)
	if s == nil {
		return nil
	}
	if v.beyond != nil {
		v.beyond()
	}
	x, y, _ := v.Where(o)
	if v.m.Joined() {
		s["places"] = v.ways(v.m.Cell(x, y))
		return s
	}
	var list []Neighbour
	for i := range v.m.Places {
		a := &v.m.Places[i]
		d := ground.Distance(x, y, min(max(x, a.X), a.X+a.W-1), min(max(y, a.Y), a.Y+a.H-1))
		list = keepNearest(list, Neighbour{uint32(i), a.X, a.Y, d}, MaxNear)
	}
	places := make([]any, len(list))
	for i, n := range list {
		places[i] = map[string]any{"place": v.m.Places[n.Agent].Name, "distance": int64(n.Distance), "agents": int64(v.Inside(int(n.Agent)))}
	}
	s["places"] = places
	return s
}

// ways are the places that are reached first from one.
func (v *View) ways(from uint32) []any {
	list := []any{}
	v.m.Ways(from, func(w ground.Way) bool {
		list = append(list, map[string]any{"place": v.m.Places[w.Place].Name, "distance": int64(w.Exits), "seconds": w.Takes.Seconds(), "agents": int64(v.Inside(int(w.Place)))})
		return len(list) < MaxNear
	})
	return list
}

// cellValue is a cell for readers; nil = there is no grid.
func (v *View) cellValue(x, y int) any {
	if v.m.Joined() {
		return nil
	}
	return []any{int64(x), int64(y)}
}

func nameOrNil(name string) any {
	if name == "" {
		return nil
	}
	return name
}

// Hearers are the agents that an event can reach, ascending, with those that are nowhere;
// bounded = no others. reach is "" or one of [Reaches].
func (v *View) Hearers(typ, source, reach string) (list []uint32, bounded bool, err error) {
	near := v.m.Bounded(typ)
	if reach != "" && !slices.Contains(Reaches(), reach) {
		return nil, false, protocol.Errorf(protocol.KindInvalid, "reach %q: want one of %s", protocol.Short(reach, 80), strings.Join(Reaches(), ", "))
	}
	if reach == "" && !near {
		return nil, false, nil
	}
	if reach == ReachScene {
		if near {
			return nil, false, protocol.Errorf(protocol.KindInvalid, "events of the type %s reach only who is near (space.perception.types); reach scene cannot widen it", typ)
		}
		return nil, false, nil
	}
	o, ok := v.cast.Ordinal(source)
	x, y, there := v.Where(o)
	switch {
	case !ok || !there:
		if reach == "" {
			return nil, false, nil
		}
		return nil, false, protocol.Errorf(protocol.KindInvalid, "reach %s: %s is nowhere on the map", reach, source)
	case reach == ReachPlace:
		name := v.m.NameAt(x, y)
		if name == "" {
			return nil, false, protocol.Errorf(protocol.KindInvalid, "reach place: the cell %s lies in no place", v.m.Text(v.m.Cell(x, y)))
		}
		list = v.InPlace(name)
	default:
		v.nearby(v.m.Cell(x, y), func(n Neighbour) { list = append(list, n.Agent) })
		slices.Sort(list)
	}
	if reach == ReachPlace && near && !v.m.Joined() { // a type that is bounded stays so
		list = v.nearOnly(list, x, y)
	}
	return merged(list, v.outside), true, nil
}

// PlaceOf names the place that an agent is in; "" = it is in none.
func (v *View) PlaceOf(o uint32) string {
	x, y, ok := v.Where(o)
	if !ok {
		return ""
	}
	return v.m.NameAt(x, y)
}

// InPlace are the agents in a place, ascending.
func (v *View) InPlace(name string) []uint32 {
	a, ok := v.m.Place(name)
	if !ok {
		return nil
	}
	return v.In(a.X, a.Y, a.X+a.W-1, a.Y+a.H-1)
}

func (v *View) nearOnly(list []uint32, x, y int) []uint32 {
	return slices.DeleteFunc(list, func(o uint32) bool {
		ox, oy, _ := v.Where(o)
		return ground.Distance(x, y, ox, oy) > v.m.Radius
	})
}

// merged joins two ascending lists without a common number.
func merged(a, b []uint32) []uint32 {
	if len(b) == 0 {
		return a
	}
	list := append(slices.Clip(a), b...)
	slices.Sort(list)
	return list
}
