package town

import (
	"context"
	"math"

	"tavernsim/engine/schedule"
)

// Comparison is what each schedule made of one trace.
type Comparison struct {
	Trace     string   `json:"trace"`
	Agents    int      `json:"agents"`
	Steps     int      `json:"steps"`
	Calls     int      `json:"calls"`
	Slots     int      `json:"slots"`
	Schedules []Result `json:"schedules"`
	Played    []Played `json:"played,omitempty"`
}

// Result is what one schedule made of a trace.
type Result struct {
	Schedule  string  `json:"schedule"`
	Seconds   float64 `json:"seconds"`
	OfOracle  float64 `json:"of_oracle"`
	ToBarrier float64 `json:"to_barrier"`
	Made      int     `json:"calls_made"`
	Wasted    float64 `json:"wasted"`
	InFlight  float64 `json:"in_flight"`
	Turns     int64   `json:"turns,omitempty"`
	Undone    int64   `json:"turns_undone,omitempty"`
	Rollbacks int64   `json:"rollbacks,omitempty"`
}

// Played is what the engine made of a trace: a scene of its agents, with a real journal, whose
// model is a server that takes as long as the trace says, divided by the compression.
type Played struct {
	Schedule  string  `json:"schedule"`
	Seconds   float64 `json:"seconds"`    // that it took, times the compression
	ToPolicy  float64 `json:"to_policy"`  // those to the virtual ones of the same schedule
	ToBarrier float64 `json:"to_barrier"` // the virtual ones of the barrier to those
	Made      int     `json:"calls_made"`
	Wasted    float64 `json:"wasted"`
	Bare      float64 `json:"bare"` // what a bare client needs for some of the calls, one after the other, to what the trace says
	Digest    string  `json:"digest"`
}

// Playable are the schedules of the engine.
func Playable() []string { return []string{Barrier, Tracked, Speculative} }

// The schedules.
const (
	Serial       = "serial"
	Barrier      = "barrier"
	Published    = "published"
	Tracked      = "tracked"
	Speculative  = "speculative"
	Oracle       = "oracle"
	CriticalPath = "critical_path"
)

// Schedules are those that Compare computes, in order.
func Schedules() []string {
	return []string{Serial, Barrier, Published, Tracked, Speculative, Oracle, CriticalPath}
}

// Compare computes every schedule on one trace. It tells seen which one it is at, and
// which share of all it has.
func Compare(ctx context.Context, t *Trace, slots int, seen func(schedule string, share float64)) (Comparison, error) {
	c := Comparison{Trace: t.Name, Agents: t.Agents, Steps: t.Steps, Slots: slots}
	c.Calls, _ = t.Calls()
	at := map[string]float64{}
	for i, name := range Schedules() {
		r, err := Run(ctx, t, name, slots, func(turns int) {
			share := min(1, float64(turns)/float64(t.Agents*t.Steps))
			seen(name, (float64(i)+share)/float64(len(Schedules())))
		})
		if err != nil {
			return c, err
		}
		at[name] = r.Seconds
		c.Schedules = append(c.Schedules, r)
	}
	for i := range c.Schedules {
		r := &c.Schedules[i]
		r.OfOracle, r.ToBarrier = Ratio(at[Oracle], r.Seconds), Ratio(at[Barrier], r.Seconds)
	}
	return c, nil
}

// Ratio of times of a trace without calls is 1: every schedule takes no time.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// Run computes one schedule on a trace. It tells seen how many turns have ended.
func Run(ctx context.Context, t *Trace, name string, slots int, seen func(turns int)) (Result, error) {
	n, seconds := t.Calls()
	r := Result{Schedule: name, Seconds: seconds, Made: n, InFlight: 1}
	if name == Serial || n == 0 {
		return r, nil
	}
	if name == CriticalPath {
		slots = math.MaxInt
	}
	c := newClock(t, slots)
	p, m, err := policyOf(c, name)
	if err != nil {
		return r, err
	}
	if err := c.run(ctx, p, seen); err != nil {
		return r, err
	}
	if m != nil {
		if err := m.whole(); err != nil {
			return r, err
		}
		y := m.state.Tally()
		r.Turns, r.Undone, r.Rollbacks = y.Turns, y.Undone, y.Rollbacks
	}
	r.Seconds, r.Made, r.InFlight = c.now, c.made, Ratio(c.used, c.now)
	r.Wasted = float64(c.made-n) / float64(n)
	return r, nil
}

func policyOf(c *clock, name string) (policy, *ahead, error) {
	switch name {
	case Barrier:
		return &barrier{simple: simple{clock: c}}, nil, nil
	case Published:
		return newPublished(c), nil, nil
	case Tracked, Speculative:
		mode := schedule.Tracked
		if name == Speculative {
			mode = schedule.Speculative
		}
		m, err := newAhead(c, mode)
		return m, m, err
	}
	return newOracle(c), nil, nil
}
