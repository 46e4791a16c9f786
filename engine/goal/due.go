package goal

import (
	"slices"
	"strings"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Ahead is how far Due looks for an hour at which a condition that reads now holds. After
// it the agent looks again.
const Ahead = 7 * 24 * time.Hour

// NowValue is the root now of conditions. It changes with the full hour only, so that the
// next time at which it is another is known.
func NowValue(t protocol.Time) map[string]any {
	at := t.Std()
	return map[string]any{
		"year": int64(at.Year()), "month": int64(at.Month()), "day": int64(at.Day()),
		"weekday": int64((at.Weekday()+6)%7) + 1, "hour": int64(at.Hour()),
	}
}

// Due is when the agent must be woken, if nothing else changes until then; 0 = never.
func (r *Rules) Due(now protocol.Time, b *Book, env expr.Env) (due protocol.Time) {
	note := func(at protocol.Time) {
		if at > now && (due == 0 || at < due) {
			due = at
		}
	}
	for i := range r.Drives {
		note(r.Drives[i].reaches(r.Drives[i].WakesAt, b.Met, now))
	}
	for i := range b.Goals {
		g := &b.Goals[i]
		if g.More == nil {
			continue
		}
		if !g.Open() {
			note(g.More.Again)
			continue
		}
		note(g.More.Deadline)
		note(r.forgotten(g, b.Met, now))
		for _, c := range g.timed() {
			note(flips(c, now, env))
		}
	}
	return due
}

// forgotten is when an active goal is abandoned, if it makes no progress; 0 = never.
func (r *Rules) forgotten(g *Goal, met []Met, now protocol.Time) protocol.Time {
	if r.Patience <= 0 || r.ForgetBelow <= 0 || g.Status != Active {
		return 0
	}
	for n := r.halvings(g, now) + 1; n <= 62; n++ {
		at := g.More.Moved.Add(time.Duration(n) * r.Patience)
		if at > protocol.LastTime || at < now {
			return 0
		}
		if r.Rank(g, met, at) < r.ForgetBelow {
			return at
		}
	}
	return 0
}

// timed are the conditions that read now and whose change would change the goal.
func (g *Goal) timed() (list []*expr.Program) {
	lists := [][]Condition{g.More.Failure, g.More.Completion}
	if g.Status == Pending {
		lists[1] = g.More.Preconditions
	}
	for _, conditions := range lists {
		for i := range conditions {
			if p := conditions[i].program; p != nil && p.Uses("now") {
				list = append(list, p)
			}
		}
	}
	return list
}

// at is an Env at another time.
type at struct {
	expr.Env
	now map[string]any
}

// Lookup implements expr.Env.
func (e at) Lookup(root string) (any, bool) {
	if root == "now" {
		return e.now, true
	}
	return e.Env.Lookup(root)
}

// flips is the next full hour at which a condition that does not hold would; 0 = it holds.
func flips(p *expr.Program, now protocol.Time, env expr.Env) protocol.Time {
	if ok, err := p.EvalBool(env); ok || err != nil {
		return 0
	}
	first := protocol.TimeOf(now.Std().Truncate(time.Hour))
	for d := time.Hour; d <= Ahead; d += time.Hour {
		t := first.Add(d)
		if ok, err := p.EvalBool(at{env, NowValue(t)}); ok && err == nil {
			return t
		}
	}
	return first.Add(Ahead)
}

// SelfNames are what conditions may read of self.
func SelfNames() []string {
	return []string{"drives", "instance_id", "name", "ordinal", privateState, "profile_id"}
}

const privateState = "private_state"

// Own reports whether the condition reads the private state of its agent. A name that self does not have is refused:
// the condition would never hold.
func (c *Condition) Own() (private bool, err error) {
	if c.program == nil {
		return false, nil
	}
	for _, keys := range c.program.Reads("self") {
		switch {
		case len(keys) == 0 || keys[0] == privateState:
			private = true
		case !slices.Contains(SelfNames(), keys[0]):
			return false, protocol.Errorf(protocol.KindInvalid, "self has no %s; want %s (self.private_state.%s is a variable of the private state)", keys[0], strings.Join(SelfNames(), ", "), keys[0])
		}
	}
	return private, nil
}

// Check refuses a condition that a new goal may not have.
func (c Condition) Check() error {
	compiled, err := c.Compiled()
	if err == nil {
		_, err = compiled.Own()
	}
	return err
}

// Watched lists the places of the world that the conditions of goals read, as patterns:
// a change there may change a goal.
func Watched(goals []Goal) (patterns []string) {
	for i := range goals {
		m := goals[i].More
		if m == nil || !goals[i].Open() && m.Recurs == 0 {
			continue
		}
		for _, conditions := range [][]Condition{m.Preconditions, m.Completion, m.Failure} {
			for k := range conditions {
				patterns = append(patterns, conditions[k].Watched()...)
			}
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// Holds reports whether the expression of a condition holds. Where it has none, and where it cannot be
// evaluated, it does not.
func (c *Condition) Holds(env expr.Env) bool {
	if c.program == nil {
		return false
	}
	ok, err := c.program.EvalBool(env)
	return ok && err == nil
}

// Flips is the next full hour at which a condition that does not hold may hold; 0 = time changes
// nothing of it.
func (c *Condition) Flips(now protocol.Time, env expr.Env) protocol.Time {
	if c.program == nil || !c.program.Uses("now") {
		return 0
	}
	return flips(c.program, now, env)
}

// Watched lists the places of the world that the condition reads, as patterns.
func (c *Condition) Watched() (patterns []string) {
	if c.program == nil {
		return nil
	}
	for _, keys := range c.program.Reads("world") {
		pattern := world.Pattern(world.P(keys[:min(len(keys), world.MaxPathDepth)]...))
		if len(pattern) == 0 {
			pattern = world.Pattern{{Kind: world.AnyDeep}}
		}
		patterns = append(patterns, pattern.String())
	}
	return patterns
}
