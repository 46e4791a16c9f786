package goal

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Cause is why a goal stands where it does.
type Cause string

// Causes of changes.
const (
	CauseInitial   Cause = "initial"   // the agent's first turn has taken it on
	CauseAgent     Cause = "agent"     // the agent said so
	CauseGiven     Cause = "given"     // somebody else gave it
	CauseCriterion Cause = "criterion" // an expression holds
	CauseDeadline  Cause = "deadline"
	CauseChosen    Cause = "chosen"   // its rank is high enough
	CauseConflict  Cause = "conflict" // another goal is higher, and has the resource or the place
	CauseParent    Cause = "parent"   // its children completed it, or its parent ended
	CauseAbandoned Cause = "abandoned"
	CauseRecurs    Cause = "recurs"
)

// Change is one change of a goal.
type Change struct {
	Goal  Goal // after it
	From  string
	Cause Cause
}

// Ends reports whether the change ended the goal.
func (c *Change) Ends() bool { return !c.Goal.Open() && c.From != c.Goal.Status }

// Settle decides where goals stand now. It changes the book and lists what it changed, in
// the order of the goals. Whoever carried out what follows from the changes asks again, for
// they may change what conditions read.
func (r *Rules) Settle(now protocol.Time, b *Book, env expr.Env) []Change {
	p := pass{Rules: r, now: now, book: b, env: env, goals: slices.Clone(b.Goals), changes: map[string]*Change{}}
	for i := range p.goals {
		p.begin(&p.goals[i])
	}
	for i := range p.goals {
		p.end(&p.goals[i])
	}
	for i := range p.goals {
		p.family(&p.goals[i])
	}
	p.choose()
	var list []Change
	for i := range p.goals {
		if c := p.changes[p.goals[i].ID]; c != nil {
			c.Goal = p.goals[i]
			list = append(list, *c)
		}
	}
	b.Goals = p.goals
	return list
}

// pass is one call of Settle.
type pass struct {
	*Rules
	now     protocol.Time
	book    *Book
	env     expr.Env
	goals   []Goal
	changes map[string]*Change
}

// to changes a goal. The first cause of a goal in a pass counts; an end is said with its
// own.
func (p *pass) to(g *Goal, status string, cause Cause, why string, args ...any) {
	c := p.changes[g.ID]
	if c == nil {
		c = &Change{From: g.Status, Cause: cause}
		p.changes[g.ID] = c
	}
	m := *g.More
	m.Why = fmt.Sprintf(why, args...)
	if status == Active && g.Status != Active {
		m.Moved = p.now
	}
	ends := g.Open() && status != Active && status != Pending
	if ends {
		c.Cause = cause
		if m.Again = 0; m.Recurs > 0 {
			m.Again = p.now.Add(m.Recurs)
		}
	}
	g.Status, g.More = status, &m
}

// begin takes on a goal of the start, and one that recurs.
func (p *pass) begin(g *Goal) {
	m := More{Source: Initial}
	if g.More != nil {
		m = *g.More
	}
	switch {
	case m.Taken == 0 && g.Open():
		p.changes[g.ID] = &Change{Cause: CauseInitial}
		if m.Source == "" {
			m.Source = Initial
		}
	case m.Again != 0 && m.Again <= p.now && !g.Open():
		p.changes[g.ID] = &Change{From: g.Status, Cause: CauseRecurs}
		g.Status, m.Progress, m.Aside, m.Why = Pending, 0, false, ""
	default:
		if g.More == nil {
			g.More = &m
		}
		return
	}
	m.Reopened(p.now)
	g.More = &m
}

// Reopened begins a goal anew.
func (m *More) Reopened(now protocol.Time) {
	m.Again, m.Refused, m.Taken, m.Moved, m.Deadline = 0, false, now, now, 0
	if m.Within > 0 {
		m.Deadline = now.Add(m.Within)
	}
}

// end ends a goal whose criteria or deadline say so.
func (p *pass) end(g *Goal) {
	if !g.Open() || p.fresh(g) { // one that begins ends in the next pass, with a change of its own
		return
	}
	m := g.More
	for i := range m.Failure {
		if p.holds(&m.Failure[i]) {
			p.to(g, Failed, CauseCriterion, "%s", m.Failure[i].Expr)
			return
		}
	}
	if g.Status == Active && len(m.Completion) > 0 && p.all(m.Completion, false) == nil {
		p.to(g, Completed, CauseCriterion, "%s", m.Completion[len(m.Completion)-1].Expr)
		return
	}
	if m.Deadline != 0 && m.Deadline <= p.now {
		p.to(g, Failed, CauseDeadline, "its deadline was %s", m.Deadline)
		return
	}
	if r := p.Rank(g, p.book.Met, p.now); p.halvings(g, p.now) > 0 && r < p.ForgetBelow {
		p.to(g, Failed, CauseAbandoned, "no progress since %s: its rank is %d, below %d", m.Moved, r, p.ForgetBelow)
	}
}

// holds evaluates a condition. Prose, and what cannot be evaluated, does not hold.
func (p *pass) holds(c *Condition) bool {
	if c.program == nil {
		return false
	}
	ok, err := c.program.EvalBool(p.env)
	return ok && err == nil
}

// all finds the first condition that does not hold; nil = all hold. Prose is left out, or
// does not hold.
func (p *pass) all(list []Condition, withoutProse bool) *Condition {
	for i := range list {
		if withoutProse && list[i].program == nil {
			continue
		}
		if !p.holds(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// family ends a parent by its children, and the children of a parent that has ended.
func (p *pass) family(g *Goal) {
	if !g.Open() || p.fresh(g) {
		return
	}
	if m := g.More; m.Parent != "" {
		if parent, ok := Find(p.goals, m.Parent); ok && !parent.Open() {
			p.to(g, Failed, CauseParent, "%s has %s", parent.ID, parent.Status)
			return
		}
	}
	if g.More.CompletesBy == "" {
		return
	}
	var children, completed, failed []string
	for i := range p.goals {
		if c := &p.goals[i]; c.More.Parent == g.ID && c.ID != g.ID {
			children = append(children, c.ID)
			switch c.Status {
			case Completed:
				completed = append(completed, c.ID)
			case Failed:
				failed = append(failed, c.ID)
			}
		}
	}
	any, n := g.More.CompletesBy == ByAny, len(children)
	switch {
	case n == 0:
	case any && len(completed) > 0, len(completed) == n:
		p.to(g, Completed, CauseParent, "completed: %s", strings.Join(completed, ", "))
	case !any && len(failed) > 0, len(failed) == n:
		p.to(g, Failed, CauseParent, "failed: %s", strings.Join(failed, ", "))
	}
}

// choose makes goals active, the highest rank first.
func (p *pass) choose() {
	order, places := p.Ranked(p.goals, p.book.Met, p.now), make(map[string]int, len(p.goals))
	for i := range p.goals {
		places[p.goals[i].ID] = i
	}
	taken, active := map[string]string{}, 0
	for i := range order {
		g := &p.goals[places[order[i].ID]]
		if !g.Open() {
			continue
		}
		m := g.More
		if m.Aside && g.Status == Pending {
			continue
		}
		unmet := p.all(m.Preconditions, true)
		if unmet != nil && (g.Status == Pending || p.fresh(g)) {
			p.wait(g, CauseCriterion, "waits for "+unmet.Expr)
			continue
		}
		if why := p.blocked(g, taken, active); why != "" {
			p.wait(g, CauseConflict, why)
			continue
		}
		for _, resource := range m.Exclusive {
			taken[resource] = g.ID
		}
		if m.CompletesBy == "" {
			active++
		}
		if g.Status != Active {
			p.to(g, Active, p.chosen(m), "")
		}
	}
}

// fresh reports whether the goal was taken on in this pass: then the status that it was
// written with does not count as having begun.
func (p *pass) fresh(g *Goal) bool {
	c := p.changes[g.ID]
	return c != nil && (c.Cause == CauseInitial || c.Cause == CauseRecurs)
}

// chosen is why a goal becomes active.
func (p *pass) chosen(m *More) Cause {
	for i := range m.Preconditions {
		if m.Preconditions[i].program != nil {
			return CauseCriterion
		}
	}
	return CauseChosen
}

// wait makes or leaves a goal pending, and says why.
func (p *pass) wait(g *Goal, cause Cause, why string) {
	if g.Status != Pending || g.More.Why != why {
		p.to(g, Pending, cause, "%s", why)
	}
}

// blocked says why a goal cannot be active beside those that are; "" = it can.
func (p *pass) blocked(g *Goal, taken map[string]string, active int) string {
	for _, resource := range g.More.Exclusive {
		if by := taken[resource]; by != "" {
			return by + " has " + resource
		}
	}
	if most := p.MaxActive; g.More.CompletesBy == "" && active >= most {
		return fmt.Sprintf("max_active is %d, and others are higher", most)
	}
	return ""
}
