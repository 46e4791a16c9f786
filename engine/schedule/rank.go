package schedule

import "math/bits"

// Rank orders calls that wait for a slot: the smaller is made first.
type Rank struct {
	At    Tick    // of the turn that asks: who is late holds up others
	Rest  float64 // calls that the turn is expected to make yet
	Agent uint32
}

// Less reports whether a call goes before another.
func (r Rank) Less(than Rank) bool {
	if r.At != than.At {
		return r.At < than.At
	}
	if r.Rest != than.Rest {
		return r.Rest > than.Rest
	}
	return r.Agent < than.Agent
}

// Pace is how many calls the turns of a class make, by how many they have made. The
// zero value knows nothing.
type Pace [paceSteps]float64

const (
	paceSteps = 8 // calls made: 0, 1, 2 to 3, 4 to 7, … 64 and more
	paceShare = 1.0 / 16
)

// Rest is how many calls a turn that has made some is expected to make yet.
func (p *Pace) Rest(made int) float64 {
	return p[min(bits.Len(uint(max(made, 0))), paceSteps-1)]
}

// Learn moves the means by a turn that has ended.
func (p *Pace) Learn(calls int) {
	for i := range p {
		least := 1 << i >> 1 // calls made, at least, at this step
		if least >= calls {
			return
		}
		p[i] += paceShare * (float64(calls-least) - p[i])
	}
}

// Rank is that of the call that the running turn of an agent makes now.
func (s *State) Rank(a uint32) Rank {
	r := &s.rows[a]
	return Rank{At: r.run.at, Rest: s.pace[r.class].Rest(int(r.run.calls) - 1), Agent: a}
}
