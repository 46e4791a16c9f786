package schedule

import (
	"math"

	"tavernsim/protocol"
)

// Tick is a moment of the scene on the grid of its tick. An agent has at most one
// turn in a tick.
type Tick int64

// Never is the time of an agent that has no more turns.
const Never Tick = math.MaxInt64

// Cell is a place on the map. Distances are those of a king in chess: the larger of
// the two differences.
type Cell struct{ X, Y int32 }

func apart(a, b Cell) int64 {
	return max(abs(int64(a.X)-int64(b.X)), abs(int64(a.Y)-int64(b.Y)))
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// Mode says which turns run ahead.
type Mode uint8

const (
	// Tracked runs a turn ahead only if nothing unfinished can reach what it reads.
	Tracked Mode = iota
	// Speculative also runs it ahead if a wasted call is unlikely.
	Speculative
)

// Config is what a scene says about its schedule.
type Config struct {
	Mode    Mode
	Classes []Class // at least one, at most MaxClasses

	// Window is how many turns an agent may be ahead of the committed run; 0 = 240,
	// at most MaxWindow. Memory grows with it, by 40 bytes an agent and turn.
	Window int
	// Threshold is the largest risk at which an agent makes a paid call that is not ahead yet;
	// 0 = 0.95. It is half of that for one that is 10 turns ahead, a quarter at 20.
	Threshold float64
	// MaxWasted is the largest share of wasted calls; 0 = 0.10.
	MaxWasted float64

	// Width and Height are the size of the map in cells; 0 = as large as the first
	// places need. Places outside of it are allowed, but found more slowly.
	Width, Height int32
}

// Bounds of a Config.
const (
	MaxClasses = 1000
	MaxWindow  = 10_000
	MaxReach   = 1 << 20 // cells: radius, reach and speed
)

// Class is what agents of one kind read and write. A nil list means everything: who
// declares nothing waits for everybody.
type Class struct {
	Space *Space // nil = without a place: neither sees nor is seen there

	Perceives, Writes []string // patterns of the world, with {self} and {place}
	Hears             []string // types of events; a type may end in ".*", and "*" is every type
	Publishes         []Publish
	Consults, Edits   []string // bases that it reads, and those that it may write
}

// Space is how far an agent sees, speaks and moves.
type Space struct {
	Radius int32 // within which it perceives others, in cells
	Reach  int32 // within which others hear what it says, in cells
	Speed  int32 // cells in a tick, at most
}

// Publish is a type of events that a class may publish, or all that a prefix names.
type Publish struct {
	Type  string
	Delay Tick // an event is heard this many ticks later than the next, at least
}

// Agent is where an agent begins.
type Agent struct {
	Class int
	Next  Tick // the time of its first turn
	Place Cell
}

func (c Config) withDefaults() Config {
	if c.Window == 0 {
		c.Window = 240
	}
	if c.Threshold == 0 {
		c.Threshold = 0.95
	}
	if c.MaxWasted == 0 {
		c.MaxWasted = 0.10
	}
	return c
}

func (c Config) check(agents []Agent) error {
	bad := func(format string, args ...any) error {
		return protocol.Errorf(protocol.KindInvalid, "schedule: "+format, args...)
	}
	switch {
	case c.Mode > Speculative:
		return bad("there is no mode %d", c.Mode)
	case len(c.Classes) == 0 || len(c.Classes) > MaxClasses:
		return bad("%d classes: want 1 to %d", len(c.Classes), MaxClasses)
	case c.Window < 0 || c.Window > MaxWindow:
		return bad("a window of %d turns: want 1 to %d", c.Window, MaxWindow)
	case !(c.Threshold >= 0 && c.Threshold < 1) || !(c.MaxWasted >= 0 && c.MaxWasted < 1):
		return bad("threshold %v and largest waste %v: want shares below 1", c.Threshold, c.MaxWasted)
	case c.Width < 0 || c.Height < 0:
		return bad("a map of %d × %d cells", c.Width, c.Height)
	case int64(len(agents)) > math.MaxInt32:
		return bad("%d agents: want at most %d", len(agents), math.MaxInt32)
	}
	for i, k := range c.Classes {
		if p := k.Space; p != nil && (min(p.Radius, p.Reach, p.Speed) < 0 || max(p.Radius, p.Reach, p.Speed) > MaxReach) {
			return bad("class %d has radius %d, reach %d, speed %d: want 0 to %d cells", i, p.Radius, p.Reach, p.Speed, MaxReach)
		}
		for _, e := range k.Publishes {
			if e.Delay < 0 {
				return bad("class %d publishes %q %d ticks before it is heard: want 0 or more", i, e.Type, e.Delay)
			}
		}
	}
	for i, a := range agents {
		if a.Class < 0 || a.Class >= len(c.Classes) {
			return bad("agent %d is of class %d: there are %d", i, a.Class, len(c.Classes))
		}
	}
	return nil
}
