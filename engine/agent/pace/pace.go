// Package pace decides how an agent rests after a turn, beyond its deliberation frequency and the times of
// SleepTool: the pause that grows while it does nothing, its ceilings, and what wakes it early (§2.3.3, §3.2).
//
// # Promises
//
//  1. A pause grows with each idle turn in a row, up to its bound; a turn that did
//     something resets it.
//  2. A turn begins only while every ceiling has something left. An excess counts in the following
//     windows, so over many windows an agent stays within its ceilings.
//  3. The rest of an agent is a fold of its facts.
//
// # Not here
//
// When it is woken (engine/agenda), and what it watches of the world (engine/agent).
package pace

import (
	"cmp"
	"math"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/budget"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// Rules are what a profile says, with every default filled in.
type Rules struct {
	Idle   *Idling // nil = the pause stays
	Tokens int64   // most in an hour; 0 = no ceiling
	Nano   int64   // most nano-dollars in a day
	Share  int64   // of the slots of an endpoint, in thousandths; 0 = no ceiling
}

// Idling says how the pause grows.
type Idling struct {
	Turns  int64
	Factor float64
	Most   time.Duration
}

// Windows of the ceilings.
const (
	Hour = time.Hour
	Day  = 24 * time.Hour
)

// Names of the ceilings.
const (
	TokensPerHour = "tokens_per_hour"
	DollarsPerDay = "dollars_per_day"
)

// RulesOf reads a profile; nil = its agents rest as their times say.
func RulesOf(p *profile.Profile) *Rules {
	if p.Idle == nil && p.Ceilings == nil {
		return nil
	}
	r := &Rules{}
	if i := p.Idle; i != nil {
		r.Idle = &Idling{
			Turns: int64(cmp.Or(i.Turns, profile.DefaultIdleTurns)), Factor: cmp.Or(i.Factor, profile.DefaultIdleFactor),
			Most: time.Duration(cmp.Or(i.MaxSeconds, profile.DefaultIdleSeconds) * float64(time.Second)),
		}
	}
	if c := p.Ceilings; c != nil {
		r.Tokens, r.Nano, r.Share = c.TokensPerHour, int64(math.Round(c.DollarsPerDay*budget.Dollar)), c.Thousandths()
	}
	return r
}

// Pause is the time to the next turn after so many in a row that did nothing; period is that of
// the floor frequency. 0 = the period.
func (i *Idling) Pause(turns int64, period time.Duration) time.Duration {
	if turns < i.Turns || period <= 0 || period >= i.Most {
		return 0
	}
	pause := float64(period)
	for n := i.Turns; n <= turns && pause < float64(i.Most) && i.Factor > 1; n++ {
		pause *= i.Factor
	}
	return min(time.Duration(min(pause, float64(i.Most))), i.Most)
}

// Sleep is what wakes an agent early that sleeps.
type Sleep struct {
	Types []string       // of events
	When  goal.Condition // of the world; empty = nothing there
}

// Any reports whether anything does.
func (s *Sleep) Any() bool { return len(s.Types) > 0 || s.When.Expr != "" }

// Kept is what an agent keeps. The zero value keeps nothing.
type Kept struct {
	Idle  int64 // turns in a row that did nothing
	Hour  budget.Meter
	Day   budget.Meter
	Types []string // of Sleep
	When  string

	when goal.Condition
	said bool // the turn whose end follows has said how it rests
}

// Asleep is what wakes the agent early; nil keeps nothing.
func (k *Kept) Asleep() Sleep {
	if k == nil {
		return Sleep{}
	}
	return Sleep{k.Types, k.when}
}

// Sealed is a restored Kept with its condition compiled.
func (k *Kept) Sealed() (*Kept, error) {
	if k == nil || k.When == "" {
		return k, nil
	}
	var err error
	sealed := *k
	sealed.when, err = goal.Condition{Expr: k.When}.Compiled()
	return &sealed, err
}

// Paid counts a model's answer. One that an earlier run paid counts too, so that a run on recorded answers
// rests as that one did.
func (k *Kept) Paid(r *Rules, f *agentfact.ModelAnswered, at protocol.Time) *Kept {
	if r == nil || r.Tokens == 0 && r.Nano == 0 {
		return k
	}
	x, _ := f.Answered()
	took, saved := budget.Taken(&x.Model)
	took = took.Plus(saved)
	next := k.copy()
	if r.Tokens > 0 {
		next.Hour = next.Hour.Take(took.Tokens, at, Hour, r.Tokens)
	}
	if r.Nano > 0 {
		next.Day = next.Day.Take(took.Nano, at, Day, r.Nano)
	}
	return next
}

func (k *Kept) copy() *Kept {
	if k == nil {
		return &Kept{}
	}
	c := *k
	return &c
}

// Rests folds how the agent rests from the end of the turn, which follows.
func (k *Kept) Rests(f *agentfact.Rests) (*Kept, error) {
	next := k.copy()
	next.Idle, next.Types, next.When, next.said = f.Idle, f.WakeTypes, f.WakeWhen, true
	next.when = goal.Condition{} // that of an earlier sleep
	return next.Sealed()
}

// Ended folds the end of a turn; nil = nothing is kept.
func (k *Kept) Ended() *Kept {
	if k == nil {
		return nil
	}
	next := *k
	if !next.said {
		next.Idle, next.Types, next.When, next.when = 0, nil, "", goal.Condition{}
	}
	if next.said = false; next.Idle == 0 && len(next.Types) == 0 && next.When == "" && next.Hour == (budget.Meter{}) && next.Day == (budget.Meter{}) {
		return nil
	}
	return &next
}

// Decide decides how the agent rests after a turn with these facts, and sets in end when a pause that grew
// ends. sleep is what wakes it early. nil = as its times say.
func (k *Kept) Decide(r *Rules, facts []protocol.Fact, end *agentfact.TurnEnded, busy bool, period time.Duration, sleep Sleep, now protocol.Time) *agentfact.Rests {
	f := &agentfact.Rests{WakeTypes: sleep.Types, WakeWhen: sleep.When.Expr}
	if r != nil {
		r.idle(f, k, end, busy, period, now)
		for _, x := range facts {
			if answered, ok := x.(*agentfact.ModelAnswered); ok {
				k = k.Paid(r, answered, now)
			}
		}
		r.ceiling(f, k, now)
	}
	if f.Idle == 0 && f.Until == 0 && !sleep.Any() {
		return nil
	}
	return f
}

func (r *Rules) idle(f *agentfact.Rests, k *Kept, end *agentfact.TurnEnded, busy bool, period time.Duration, now protocol.Time) {
	if r.Idle == nil || period <= 0 {
		return
	}
	if k != nil {
		f.Idle = k.Idle
	}
	switch {
	case end.Outcome == agentfact.OutcomeIdle: // it goes on resting
		return
	case end.Outcome != agentfact.OutcomeOK || busy || end.Calls+end.Reflections > 0 || end.Changed:
		f.Idle = 0
		return
	}
	f.Idle++
	if pause := r.Idle.Pause(f.Idle, period); pause > 0 {
		end.Asleep, end.SleepUntil, end.WakeAbove = true, now.Add(pause), protocol.Low
	}
}

// ceiling sets until when the agent rests: until every ceiling has something left.
func (r *Rules) ceiling(f *agentfact.Rests, k *Kept, now protocol.Time) {
	if k == nil {
		return
	}
	if r.Tokens > 0 {
		if at := k.Hour.Opens(now, Hour, r.Tokens); at > f.Until {
			f.Until, f.Ceiling, f.Used, f.Limit = at, TokensPerHour, k.Hour.Used, r.Tokens
		}
	}
	if r.Nano > 0 {
		if at := k.Day.Opens(now, Day, r.Nano); at > f.Until {
			f.Until, f.Ceiling, f.Used, f.Limit = at, DollarsPerDay, k.Day.Used, r.Nano
		}
	}
}

// Observed is what the agent observes of a ceiling that it reached.
func Observed(f *agentfact.Rests) map[string]any {
	v := map[string]any{"ceiling": f.Ceiling, "until": f.Until.String()}
	if f.Ceiling == DollarsPerDay {
		v["used"], v["limit"] = float64(f.Used)/budget.Dollar, float64(f.Limit)/budget.Dollar
	} else {
		v["used"], v["limit"] = f.Used, f.Limit
	}
	return v
}
