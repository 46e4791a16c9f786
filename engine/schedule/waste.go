package schedule

import "math"

// waste is the ledger of calls made in vain.
type waste struct {
	theta, most float64
	calls       int64
	wasted      int64
	risky       float64 // calls that the risks taken and not settled are expected to waste
}

const (
	// margin is kept of the largest waste, for what was taken to be free of risk.
	margin = 0.9
	// early is how many calls may be wasted before there is a share to speak of: what a
	// run pays for learning.
	early = 20
	// hurry is the number of turns ahead at which a risk counts double: an agent far ahead holds up nobody, and
	// can make its call later, when less may come between.
	hurry = 10
	// tight is the share of what may be wasted from which on a lead counts more.
	tight = 0.8
)

func newWaste(c Config) waste { return waste{theta: c.Threshold, most: c.MaxWasted} }

// allows reports whether an agent that is some turns ahead may make a call at a risk: weighed
// by these, it is at most the threshold, and what is wasted is below the bound, with a quarter of what the open risks are expected
// to add. (All of it would be too careful: calls of one turn are lost together, and most
// are settled long before the bound is near.)
//
// A lead counts more than in proportion, so that an agent a few turns ahead may risk almost as much as the last one. Near
// the bound it counts without limit: what is left is kept for those that hold up others.
func (w *waste) allows(risk float64, ahead int) bool {
	if risk == 0 {
		return true
	}
	used := (float64(w.wasted) + w.risky/4) / (w.most*float64(w.calls)*margin + early)
	if used >= 1 {
		return false
	}
	lead := float64(ahead) / hurry
	lead *= math.Sqrt(lead) * max(1, used/(1-used)*(1-tight)/tight)
	return risk*(1+lead) <= w.theta
}

func (w *waste) ask(t *turn, risk float64) {
	t.risky += float32(risk)
	w.risky += float64(float32(risk))
	w.calls++
}

// lose counts the calls of a turn that is undone.
func (w *waste) lose(t *turn) {
	w.wasted += int64(t.calls)
	w.safe(t)
}

// safe ends the risk of a turn's calls: it became fact, or nobody can reach it any more.
func (w *waste) safe(t *turn) {
	w.risky -= float64(t.risky)
	t.risky = 0
}
