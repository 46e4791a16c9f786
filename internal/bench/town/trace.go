package town

import (
	"tavernsim/engine/schedule"
)

// Trace is what happens in a town, step by step, whatever the order in which it is
// computed: where everybody is, and which calls each turn makes.
type Trace struct {
	Name   string // where it is from
	Agents int
	Steps  int

	Width, Height int32   // of the map, in cells
	Radius        int32   // within which an agent perceives others
	Speed         int32   // cells in a step, at most
	Base          float64 // seconds of a call before its first token
	PerToken      float64 // seconds of a token

	places []schedule.Cell // of step s and agent a: s*Agents + a; Steps+1 of each
	calls  []chain         // of step s and agent a
	tokens []uint16        // of all calls

	from  []uint32 // of step s and agent a: where its part of links begins
	links []int32
}

// chain are the calls of one turn, one after the other.
type chain struct {
	first uint32 // in Trace.tokens
	n     uint16
}

// Place is where an agent is at the beginning of a step.
func (t *Trace) Place(step, agent int) schedule.Cell { return t.places[step*t.Agents+agent] }

// Tokens are the lengths of the answers to a turn's calls.
func (t *Trace) Tokens(step, agent int) []uint16 {
	c := t.calls[step*t.Agents+agent]
	return t.tokens[c.first : c.first+uint32(c.n)]
}

// Seconds is how long a call takes.
func (t *Trace) Seconds(tokens uint16) float64 { return t.Base + t.PerToken*float64(tokens) }

// Calls is how many the trace has, and how long they take together.
func (t *Trace) Calls() (n int, seconds float64) {
	for _, k := range t.tokens {
		seconds += t.Seconds(k)
	}
	return len(t.tokens), seconds
}

func newTrace(agents, steps int) *Trace {
	return &Trace{Agents: agents, Steps: steps, Radius: 4, Speed: 1, Base: 0.15, PerToken: 0.04,
		places: make([]schedule.Cell, (steps+1)*agents), calls: make([]chain, steps*agents)}
}

func (t *Trace) put(step, agent int, tokens []uint16) {
	t.calls[step*t.Agents+agent] = chain{uint32(len(t.tokens)), uint16(len(tokens))}
	t.tokens = append(t.tokens, tokens...)
}

// sees reports whether an agent perceives another at the beginning of a step.
func (t *Trace) sees(step, a, b int) bool {
	return apart(t.Place(step, a), t.Place(step, b)) <= t.Radius
}

func apart(a, b schedule.Cell) int32 {
	x, y := a.X-b.X, a.Y-b.Y
	return max(x, -x, y, -y)
}

// reads are the agents that a turn really perceives, or whose last turn took them out
// of its view.
func (t *Trace) reads(step, a int) []int32 {
	t.link()
	k := step*t.Agents + a
	return t.links[t.from[k]:t.from[k+1]]
}

// link finds whom every turn reads.
func (t *Trace) link() {
	if t.from != nil {
		return
	}
	t.from = make([]uint32, t.Steps*t.Agents+1)
	g := newGrid(t)
	for s := range t.Steps {
		for a := range t.Agents {
			g.put(a, t.Place(s, a))
		}
		for a := range t.Agents {
			g.around(t.Place(s, a), t.Radius+2*t.Speed, func(b int) bool {
				if b != a && (t.sees(s, a, b) || s > 0 && apart(t.Place(s, a), t.Place(s-1, b)) <= t.Radius) {
					t.links = append(t.links, int32(b))
				}
				return true
			})
			t.from[s*t.Agents+a+1] = uint32(len(t.links))
		}
	}
}
