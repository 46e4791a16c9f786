package goal

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// One is a whole in millionths.
const One = 1_000_000

// Millionths rounds a number from 0 to 1; what is outside counts as the end.
func Millionths(f float64) int64 {
	if !(f > 0) {
		return 0
	}
	return int64(math.Round(min(f, 1) * One))
}

// Rules say how the agents of a profile weigh goals.
type Rules struct {
	MaxActive   int           // goals without completes_by
	Patience    time.Duration // without progress, after which a rank halves; 0 = never
	ForgetBelow int64         // millionths: a goal whose rank has decayed below is abandoned
	Drives      []Drive
}

// DefaultMaxActive is how many goals are active at once.
const DefaultMaxActive = 3

// Drive is a need that grows by itself until it is met.
type Drive struct {
	ID      string
	Path    world.Path // of the private state: the level at its last change
	PerHour int64      // millionths of scene time
	Serves  []string   // goals that it raises
	WakesAt int64      // millionths: the level at which it wakes the agent
}

// Met says when the value of a drive was last changed.
type Met struct {
	Drive string
	At    protocol.Time
	Level int64 // millionths
}

// Book is what an agent wants.
type Book struct {
	Goals []Goal
	Met   []Met
}

// Level is how strong a drive is: 0 to One.
func (d *Drive) Level(met []Met, now protocol.Time) int64 {
	i := slices.IndexFunc(met, func(m Met) bool { return m.Drive == d.ID })
	if i < 0 || now <= met[i].At {
		if i >= 0 {
			return met[i].Level
		}
		return 0
	}
	grown := scaled(uint64(now-met[i].At), uint64(d.PerHour), uint64(time.Hour))
	return min(One, met[i].Level+min(One, grown))
}

// scaled is a×b/c, rounded down, at most the largest number.
func scaled(a, b, c uint64) int64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, c)
	return int64(min(q, math.MaxInt64))
}

// reaches is when a drive has a level; 0 = never, or it has it already.
func (d *Drive) reaches(level int64, met []Met, now protocol.Time) protocol.Time {
	have := d.Level(met, now)
	if have >= level || d.PerHour <= 0 {
		return 0
	}
	i := slices.IndexFunc(met, func(m Met) bool { return m.Drive == d.ID })
	if i < 0 {
		return 0
	}
	at := scaled(uint64(level-met[i].Level), uint64(time.Hour), uint64(d.PerHour))
	t := met[i].At.Add(time.Duration(at))
	for d.Level(met, t) < level && t < protocol.LastTime {
		t++ // what was rounded down
	}
	return t
}

// Urgency is one half without a deadline and when the goal is taken, and one at its deadline.
func (g *Goal) Urgency(now protocol.Time) int64 {
	m := g.More
	if m == nil || m.Deadline == 0 {
		return One / 2
	}
	if now >= m.Deadline {
		return One
	}
	if now <= m.Taken {
		return One / 2
	}
	return One/2 + scaled(uint64(now-m.Taken), One/2, uint64(m.Deadline-m.Taken))
}

// Need is the level of the strongest drive that serves the goal; one without such a drive.
func (r *Rules) Need(g *Goal, met []Met, now protocol.Time) int64 {
	need := int64(-1)
	for i := range r.Drives {
		if slices.Contains(r.Drives[i].Serves, g.ID) {
			need = max(need, r.Drives[i].Level(met, now))
		}
	}
	if need < 0 {
		return One
	}
	return need
}

// halvings is how often the patience with an active goal has passed.
func (r *Rules) halvings(g *Goal, now protocol.Time) int64 {
	if r.Patience <= 0 || g.More == nil || g.Status != Active || now <= g.More.Moved {
		return 0
	}
	return int64(now-g.More.Moved) / int64(r.Patience)
}

// Rank is priority × urgency × need, with a tenth more for an active goal, halved for each
// patience without progress.
func (r *Rules) Rank(g *Goal, met []Met, now protocol.Time) int64 {
	rank := Millionths(g.Priority) * g.Urgency(now) / One * r.Need(g, met, now) / One
	if g.Status == Active {
		rank += rank / 10
	}
	return rank >> min(r.halvings(g, now), 62)
}

// Ranked is a goal with its rank.
type Ranked struct {
	Goal
	Rank int64
}

// Ranked lists goals, the highest rank first, equal ones by id.
func (r *Rules) Ranked(goals []Goal, met []Met, now protocol.Time) []Ranked {
	list := make([]Ranked, len(goals))
	for i := range goals {
		list[i] = Ranked{goals[i], r.Rank(&goals[i], met, now)}
	}
	slices.SortFunc(list, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Rank, a.Rank), strings.Compare(a.ID, b.ID)) })
	return list
}
