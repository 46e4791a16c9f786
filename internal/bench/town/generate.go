package town

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tavernsim/engine/schedule"
)

// Hour is how much goes on in a generated town.
type Hour string

// The hours.
const (
	Busy  Hour = "busy"
	Quiet Hour = "quiet"
)

// habits are the chances and lengths of an hour. Lengths are in steps.
type habits struct {
	asleep              float64 // share of people who neither think nor walk
	stayLeast, stayMore int     // at a place
	plan                [2]int  // calls when it leaves, from and to
	arrive              [2]int  // calls when it has come
	notice              float64 // chance to think about somebody who has come into view
	talk                float64 // chance to talk with such a one
	idle                float64 // chance of a thought in a step of rest
	replan              float64 // chance to plan anew after a talk
}

func habitsOf(h Hour) habits {
	if h == Quiet {
		return habits{asleep: 0.5, stayLeast: 60, stayMore: 200, plan: [2]int{1, 4}, arrive: [2]int{2, 6}, notice: 0.3, talk: 0.08, idle: 0.09, replan: 0.3}
	}
	return habits{stayLeast: 20, stayMore: 80, plan: [2]int{2, 6}, arrive: [2]int{3, 9}, notice: 0.6, talk: 0.4, idle: 0.14, replan: 0.5}
}

// A village is one part of a town; towns of more agents are more villages, side by
// side.
const (
	villagers     = 25
	villageWidth  = 140
	villageHeight = 100
	villagePlaces = 14
	// StepsOfAnHour is how many steps of ten seconds it has.
	StepsOfAnHour = 360
)

const (
	forget   = 60 // steps after which somebody in view is news again
	talkLong = 40 // calls of the longest talk
)

// Generate makes the trace of a town: villages of 25 agents that walk between 14
// places, see each other within 4 cells, talk and plan anew.
func Generate(agents, steps int, hour Hour, seed uint64) *Trace {
	t := newTrace(agents, steps)
	t.Name = fmt.Sprintf("%s, seed %d", hour, seed)
	villages := (agents + villagers - 1) / villagers
	columns := int(math.Ceil(math.Sqrt(float64(villages))))
	rows := (villages + columns - 1) / columns
	t.Width, t.Height = int32(columns*villageWidth), int32(rows*villageHeight)
	var towns []*village
	for v := range villages {
		first := v * villagers
		corner := schedule.Cell{X: int32(v%columns) * villageWidth, Y: int32(v/columns) * villageHeight}
		towns = append(towns, newVillage(t, first, min(villagers, agents-first), corner, habitsOf(hour), rand.New(rand.NewPCG(seed, uint64(v)))))
	}
	for s := range steps {
		for _, v := range towns {
			v.step(s)
		}
	}
	return t
}

type village struct {
	trace  *Trace
	first  int // agent of the trace
	corner schedule.Cell
	habits habits
	rand   *rand.Rand
	places []schedule.Cell
	people []person
}

type person struct {
	sleeps bool
	lively float64 // how much more or less than others it thinks and talks
	at     schedule.Cell
	target schedule.Cell
	until  int // it rests until this step
	walks  bool
	talks  int // it talks until this step
	think  int // calls that its next turn makes because of a talk
	seen   []int
}

func newVillage(t *Trace, first, n int, corner schedule.Cell, h habits, r *rand.Rand) *village {
	v := &village{trace: t, first: first, corner: corner, habits: h, rand: r, people: make([]person, n)}
	for range villagePlaces {
		v.places = append(v.places, schedule.Cell{X: 8 + r.Int32N(villageWidth-16), Y: 6 + r.Int32N(villageHeight-12)})
	}
	for i := range v.people {
		p := &v.people[i]
		p.at = v.spot()
		p.sleeps = r.Float64() < h.asleep
		p.lively = min(3, math.Exp(0.6*r.NormFloat64()-0.18))
		p.until = r.IntN(h.stayLeast + h.stayMore)
		p.seen = make([]int, n)
		for j := range p.seen {
			p.seen[j] = -forget * r.IntN(2) // half of them know that the other is there
		}
		if r.Float64() < 0.4 && !p.sleeps {
			p.walks, p.target = true, v.spot()
		}
		v.put(0, i)
	}
	return v
}

// spot is a cell at one of the places.
func (v *village) spot() schedule.Cell {
	c := v.places[v.rand.IntN(len(v.places))]
	return schedule.Cell{X: c.X + v.rand.Int32N(15) - 7, Y: c.Y + v.rand.Int32N(11) - 5}
}

func (v *village) put(step, i int) {
	p := v.people[i].at
	v.trace.places[step*v.trace.Agents+v.first+i] = schedule.Cell{X: v.corner.X + p.X, Y: v.corner.Y + p.Y}
}

// step has every turn of a step, as each sees the others at its beginning.
func (v *village) step(s int) {
	busy := make([]bool, len(v.people)) // they were drawn into a talk in this step
	for i := range v.people {
		v.trace.put(s, v.first+i, v.answers(v.turn(s, i, busy)))
	}
	for i := range v.people {
		v.walk(s, i)
		v.put(s+1, i)
	}
}

// turn is how many calls a person makes in a step.
func (v *village) turn(s, i int, busy []bool) (calls int) {
	p, h := &v.people[i], &v.habits
	if p.sleeps {
		return 0
	}
	calls, p.think = p.think, 0
	if s < p.talks {
		return calls
	}
	if !p.walks && s >= p.until {
		p.walks, p.target = true, v.spot()
		calls += v.between(h.plan)
	} else if !p.walks && v.rand.Float64() < h.idle*p.lively {
		calls += 1 + v.rand.IntN(3)
	}
	for j := range v.people {
		if j == i || !v.trace.sees(s, v.first+i, v.first+j) {
			continue
		}
		news := s-p.seen[j] >= forget
		p.seen[j] = s
		if !news || s < p.talks {
			continue
		}
		if v.rand.Float64() < h.notice {
			calls += 1 + v.rand.IntN(3)
		}
		if o := &v.people[j]; !o.sleeps && s >= o.talks && !busy[i] && !busy[j] && v.rand.Float64() < h.talk*p.lively {
			calls += v.talk(s, i, j)
			busy[i], busy[j] = true, true
		}
	}
	return calls
}

// talk makes two people stand for as long as their words take; the one that began has
// all calls.
func (v *village) talk(s, i, j int) (calls int) {
	calls = 8 + v.rand.IntN(talkLong-8)
	for _, k := range [...]int{i, j} {
		p := &v.people[k]
		p.talks = s + 1 + calls/4
		p.until = max(p.until, p.talks)
		p.think = 1 + v.rand.IntN(3)
		if v.rand.Float64() < v.habits.replan {
			p.think += v.between(v.habits.plan)
		}
	}
	return calls
}

func (v *village) walk(s, i int) {
	p := &v.people[i]
	if !p.walks || s < p.talks {
		return
	}
	p.at.X += sign(p.target.X - p.at.X)
	p.at.Y += sign(p.target.Y - p.at.Y)
	if p.at == p.target {
		p.walks = false
		p.until = s + 1 + v.habits.stayLeast + v.rand.IntN(v.habits.stayMore)
		p.think += v.between(v.habits.arrive)
	}
}

func sign(n int32) int32 {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

func (v *village) between(of [2]int) int { return of[0] + v.rand.IntN(of[1]-of[0]+1) }

// answers draws the lengths of so many answers: half of them are below 22 tokens, and
// the mean is 28.
func (v *village) answers(n int) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		out[i] = uint16(min(200, max(3, 22*math.Exp(0.7*v.rand.NormFloat64()))))
	}
	return out
}
