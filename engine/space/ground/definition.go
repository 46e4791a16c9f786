package ground

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/bus/eventtype"
	"tavernsim/protocol"
)

// Bounds.
const (
	MaxSide   = 4096 // cells
	MaxPlaces = 10_000
	MaxRadius = 256
	MaxSpeed  = 64
	MaxTypes  = 1000
	MaxName   = 200 // bytes of the name of a place
)

// Definition is the block space of a scene.
type Definition struct {
	Grid       *Grid            `json:"grid,omitempty"`
	Places     map[string]Place `json:"places,omitempty"`
	Perception Perception       `json:"perception,omitzero"`
	Speed      int64            `json:"speed,omitempty"` // cells per tick; default 1
}

// Grid is the ground.
type Grid struct {
	Width    int64  `json:"width"`
	Height   int64  `json:"height"`
	Blocked  string `json:"blocked,omitempty"`  // file: a line for each row, # is blocked, . is free
	Cell     string `json:"cell,omitempty"`     // what the side of a cell is, for readers
	Capacity int64  `json:"capacity,omitempty"` // agents in one cell; 0 = any number
}

// Place is a rectangle with a name; without a grid, a place that exits join to others.
type Place struct {
	At       []int64                      `json:"at,omitempty"`   // x, y of its north-western cell; without a grid, where it is drawn
	Size     []int64                      `json:"size,omitempty"` // width, height; default one cell
	Capacity int64                        `json:"capacity,omitempty"`
	Exits    map[string]protocol.Duration `json:"exits,omitempty"` // without a grid: where they lead, and the time that takes
}

// Perception says what reaches only who is near.
type Perception struct {
	Radius int64    `json:"radius,omitempty"` // cells
	Types  []string `json:"types,omitempty"`  // of events; NAME.* = all that begin so
	Exits  int64    `json:"exits,omitempty"`  // without a grid: how many exits away
}

// Words beside the directions that say where to go.
const (
	Stay = "stay"    // ends a walk
	Gone = "nowhere" // off the map; only at once
)

// Fault is what is wrong with a field of a definition.
type Fault struct {
	Steps         []any
	Message, Hint string
}

// Map is a definition for the agents of a scene. It is immutable.
type Map struct {
	Width, Height int
	Radius, Speed int
	Capacity      int    // of a cell; 0 = any number
	Side          string // of a cell, for readers
	Places        []Area // by name

	types   []string
	blocked []uint64
	byName  map[string]int
	shift   uint // of coordinates, to those of a bucket
	across  int  // buckets in a row
	within  map[uint32][]uint16
	exits   [][]exit // of each place; nil = there is a grid
	near    [][]Hop  // of each place, where there are exits
}

// Area is a place of a map.
type Area struct {
	Name       string
	X, Y, W, H int
	Capacity   int     // 0 = any number
	At         *[2]int // without a grid: where it is drawn; nil = that is not said
}

// Has reports whether a cell lies in the place.
func (a *Area) Has(x, y int) bool { return x >= a.X && x < a.X+a.W && y >= a.Y && y < a.Y+a.H }

// New compiles a definition. ground is the text of the file of blocked cells; nil = there is
// none. The map is nil if there are faults.
func New(d *Definition, ground []byte) (*Map, []Fault) {
	c := compiler{}
	c.check(d)
	g := d.Grid
	switch {
	case len(c.faults) > 0:
		return nil, c.faults
	case g == nil:
		m := c.join(d)
		if len(c.faults) > 0 {
			return nil, c.faults
		}
		return m, nil
	}
	m := &Map{Width: int(g.Width), Height: int(g.Height), Radius: int(d.Perception.Radius), Speed: max(1, int(d.Speed)), Capacity: int(g.Capacity),
		Side: g.Cell, types: d.Perception.Types, byName: map[string]int{}, within: map[uint32][]uint16{}}
	if m.Width < 1 || m.Height < 1 || m.Width > MaxSide || m.Height > MaxSide {
		c.fault(fmt.Sprintf("%d × %d cells, want 1 to %d each", g.Width, g.Height, MaxSide), "", "grid")
		return nil, c.faults
	}
	m.shift = min(max(2, uint(bits.Len(uint(max(m.Radius, 1)-1)))), 6)
	m.across = (m.Width-1)>>m.shift + 1
	m.blocked = make([]uint64, (m.Width*m.Height+63)/64)
	if ground != nil {
		c.ground(m, string(ground))
	}
	for _, name := range protocol.SortedKeys(d.Places) {
		c.place(m, name, d.Places[name])
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return m, nil
}

type compiler struct{ faults []Fault }

func (c *compiler) fault(message, hint string, steps ...any) {
	c.faults = append(c.faults, Fault{steps, message, hint})
}

// check names what does not go together.
func (c *compiler) check(d *Definition) {
	switch {
	case d.Grid == nil && len(d.Places) == 0:
		c.fault("there is no grid, and there are no places", "add grid with width and height, or places with exits")
	case d.Grid == nil && d.Speed != 0:
		c.fault("without a grid there is no speed: an exit takes its own time", "take it out, or add grid", "speed")
	case d.Grid == nil && d.Perception.Radius != 0:
		c.fault("without a grid there is no radius", "use exits, or add grid", "perception", "radius")
	case d.Grid != nil && d.Perception.Exits != 0:
		c.fault("on a grid who is near is a matter of cells", "use radius, or take out grid", "perception", "exits")
	case d.Perception.Exits < 0 || d.Perception.Exits > MaxHops:
		c.fault(fmt.Sprintf("%d, want 0 to %d", d.Perception.Exits, MaxHops), "", "perception", "exits")
	}
	for _, name := range protocol.SortedKeys(d.Places) {
		if d.Grid != nil && len(d.Places[name].Exits) > 0 {
			c.fault("on a grid agents walk from place to place, without exits", "take exits out and give the place at, or take out grid", "places", name, "exits")
		}
	}
	for i, typ := range d.Perception.Types {
		if strings.Contains(strings.TrimSuffix(typ, ".*"), "*") {
			c.fault(fmt.Sprintf("the event type %q: want a type, or its beginning and .*", typ), "", "perception", "types", i)
		}
	}
}

// ground reads which cells are blocked.
func (c *compiler) ground(m *Map, text string) {
	rows := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if len(rows) != m.Height {
		c.fault(fmt.Sprintf("the file has %d rows; grid.height is %d", len(rows), m.Height), "", "grid", "blocked")
		return
	}
	for y, row := range rows {
		if len(row) != m.Width {
			c.fault(fmt.Sprintf("row %d has %d characters; grid.width is %d", y+1, len(row), m.Width), "", "grid", "blocked")
			return
		}
		for x := range len(row) {
			switch row[x] {
			case '#':
				i := y*m.Width + x
				m.blocked[i>>6] |= 1 << (i & 63)
			case '.':
			default:
				c.fault(fmt.Sprintf("row %d, character %d is %q; want # for a blocked cell or . for a free one", y+1, x+1, row[x]), "", "grid", "blocked")
				return
			}
		}
	}
}

// place adds a place to a map.
func (c *compiler) place(m *Map, name string, p Place) {
	w, h := 1, 1
	switch {
	case nameFault(name) != "":
		c.fault("the name of the place "+nameFault(name), "", "places", name)
		return
	case len(p.At) != 2:
		c.fault("want two numbers, x and y", "such as at: [4, 7]", "places", name, "at")
		return
	case p.Size != nil && len(p.Size) != 2:
		c.fault("want two numbers, width and height", "such as size: [6, 4]", "places", name, "size")
		return
	case p.Size != nil:
		w, h = clamped(p.Size[0]), clamped(p.Size[1])
	}
	a := Area{Name: name, X: clamped(p.At[0]), Y: clamped(p.At[1]), W: w, H: h, Capacity: int(p.Capacity)}
	if a.X < 0 || a.Y < 0 || w < 1 || h < 1 || a.X+w > m.Width || a.Y+h > m.Height {
		c.fault(fmt.Sprintf("the place lies outside of the grid of %d × %d cells", m.Width, m.Height), "", "places", name)
		return
	}
	if !m.add(a) {
		c.fault("the place overlaps another one: "+m.overlapped(a), "", "places", name)
	} else if m.room(&m.Places[len(m.Places)-1]) == 0 {
		c.fault("every cell of the place is blocked", "", "places", name)
	}
}

func clamped(n int64) int { return int(min(max(n, -1), MaxSide+1)) }

// add adds a place that overlaps no other.
func (m *Map) add(a Area) bool {
	if m.overlapped(a) != "" || len(m.Places) >= MaxPlaces {
		return false
	}
	i := uint16(len(m.Places))
	m.Buckets(a.X, a.Y, a.X+a.W-1, a.Y+a.H-1, func(b uint32) { m.within[b] = append(m.within[b], i) })
	m.byName[a.Name] = int(i)
	m.Places = append(m.Places, a)
	return true
}

func (m *Map) overlapped(a Area) (name string) {
	m.Buckets(a.X, a.Y, a.X+a.W-1, a.Y+a.H-1, func(b uint32) {
		for _, i := range m.within[b] {
			o := &m.Places[i]
			if a.X < o.X+o.W && o.X < a.X+a.W && a.Y < o.Y+o.H && o.Y < a.Y+a.H {
				name = o.Name
			}
		}
	})
	return name
}

// room is the number of free cells of a place.
func (m *Map) room(a *Area) (n int) {
	for y := a.Y; y < a.Y+a.H; y++ {
		for x := a.X; x < a.X+a.W; x++ {
			if m.Free(x, y) {
				n++
			}
		}
	}
	return n
}

// nameFault says what is wrong with the name of a place; "" = nothing. Agents say where to
// go by one text, so a name is no direction, no cell and not what ends a walk.
func nameFault(name string) string {
	_, _, cell := ParseCell(name)
	switch {
	case name == "" || len(name) > MaxName:
		return fmt.Sprintf("is empty or has more than %d bytes", MaxName)
	case cell:
		return "reads as a cell"
	case slices.Contains(Directions(), name), name == Stay, name == Gone:
		return "is a word of MoveTool"
	case strings.ContainsAny(name, " \t\n,:*\""):
		return "has a space, a comma, a colon, a star or a quote"
	}
	return ""
}

// ParseCell reads "4,7".
func ParseCell(text string) (x, y int, ok bool) {
	left, right, both := strings.Cut(text, ",")
	if !both {
		return 0, 0, false
	}
	x, errX := strconv.Atoi(strings.TrimSpace(left))
	y, errY := strconv.Atoi(strings.TrimSpace(right))
	return x, y, errX == nil && errY == nil
}

// In reports whether a cell is on the map.
func (m *Map) In(x, y int) bool { return x >= 0 && y >= 0 && x < m.Width && y < m.Height }

// Free reports whether a cell is on the map and not blocked.
func (m *Map) Free(x, y int) bool {
	if !m.In(x, y) {
		return false
	}
	i := y*m.Width + x
	return m.blocked[i>>6]&(1<<(i&63)) == 0
}

// Cell is the number of a cell.
func (m *Map) Cell(x, y int) uint32 { return uint32(y*m.Width + x) }

// At is the place of a cell.
func (m *Map) At(cell uint32) (x, y int) { return int(cell) % m.Width, int(cell) / m.Width }

// Text is a cell for readers: "x,y", or the name of the place where there is no grid.
func (m *Map) Text(cell uint32) string {
	x, y := m.At(cell)
	if m.Joined() {
		return m.NameAt(x, y)
	}
	return strconv.Itoa(x) + "," + strconv.Itoa(y)
}

// Bucket is the number of the square of cells that a cell is indexed in.
func (m *Map) Bucket(x, y int) uint32 { return uint32(y>>m.shift*m.across + x>>m.shift) }

// Buckets yields those that a rectangle of cells touches; its ends are inside.
func (m *Map) Buckets(x0, y0, x1, y1 int, yield func(uint32)) {
	x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, m.Width-1), min(y1, m.Height-1)
	for by := y0 >> m.shift; by <= y1>>m.shift; by++ {
		for bx := x0 >> m.shift; bx <= x1>>m.shift; bx++ {
			yield(uint32(by*m.across + bx))
		}
	}
}

// Place finds the place of a name.
func (m *Map) Place(name string) (*Area, bool) {
	i, ok := m.byName[name]
	if !ok {
		return nil, false
	}
	return &m.Places[i], true
}

// PlaceAt is the index of the place that a cell lies in; -1 = none.
func (m *Map) PlaceAt(x, y int) int {
	if len(m.Places) == 0 {
		return -1
	}
	for _, i := range m.within[m.Bucket(x, y)] {
		if m.Places[i].Has(x, y) {
			return int(i)
		}
	}
	return -1
}

// NameAt is the name of the place that a cell lies in; "" = none.
func (m *Map) NameAt(x, y int) string {
	if i := m.PlaceAt(x, y); i >= 0 {
		return m.Places[i].Name
	}
	return ""
}

// Bounded reports whether events of a type reach only who is near.
func (m *Map) Bounded(typ string) bool {
	return slices.ContainsFunc(m.types, func(pattern string) bool { return eventtype.Matches(pattern, typ) })
}
