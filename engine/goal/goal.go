package goal

import (
	"slices"
	"strings"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Where a goal stands.
const (
	Pending   = "pending"
	Active    = "active"
	Completed = "completed"
	Failed    = "failed"
	// Refused is what an agent says of a goal that it was given and does not take. The goal
	// has failed, without its penalty.
	Refused = "refused"
)

// Where a goal comes from.
const (
	Initial = "initial"
	Given   = "given"
	Self    = "self"
)

// How the children of a goal complete it.
const (
	ByAll = "all"
	ByAny = "any"
)

// Bounds of one goal, and of the drives of a profile.
const (
	MaxConditions = 256  // of each of the three lists
	MaxExpression = 1024 // bytes
	MaxExclusive  = 16
	MaxDrives     = 32

	MaxExpressions = 256 // in the conditions of all goals of an agent
	MaxServes      = 64
)

// Goal is a goal of an agent (§2.1.3).
type Goal struct {
	ID          string
	KB          string // alias of the knowledge base that defines it; "" = its own
	Description string
	Priority    float64
	Status      string
	Details     protocol.Raw

	// More is what only the goals of agents with Rules have; nil = the agent alone says
	// where the goal stands. It is shared and never written.
	More *More `msgpack:"-"`
}

// More is the rest of a goal. The fact agent.goal_changed has it as it is.
type More struct {
	Parent        string
	Source        string // initial, given, self
	GivenBy       string // instance id
	Preconditions []Condition
	Completion    []Condition
	Failure       []Condition
	Within        time.Duration // from Taken to the deadline; 0 = none
	Deadline      protocol.Time // 0 = none
	Exclusive     []string      // resources
	Progress      int64         // millionths
	Recurs        time.Duration // after an end it is pending again; 0 = never
	CompletesBy   string        // all, any: of its children; "" = they do not complete it
	Reward        protocol.Raw  // commands on the private state; empty = none
	Penalty       protocol.Raw
	Why           string        // the reason of its status
	Taken         protocol.Time // 0 = not yet
	Moved         protocol.Time // last progress, or when it became active
	Again         protocol.Time // when it recurs; 0 = it does not
	Aside         bool          // its agent set it aside
	Refused       bool          // its agent refused it
}

// Condition is prose for the model, or an expression over world, self, goals and now.
type Condition struct {
	Text string `json:"text,omitempty"`
	Expr string `json:"expr,omitempty"`

	program *expr.Program
}

// Roots are what expressions of conditions may read.
func Roots() []string { return []string{"world", "self", "goals", "now"} }

// Compiled is the condition with its program.
func (c Condition) Compiled() (Condition, error) {
	switch {
	case c.Expr != "" && c.Text != "":
		return c, protocol.Errorf(protocol.KindInvalid, "is text and expr; want one of them")
	case strings.TrimSpace(c.Expr+c.Text) == "":
		return c, protocol.Errorf(protocol.KindInvalid, "is empty; want text, or an object with expr")
	case len(c.Expr) > MaxExpression:
		return c, protocol.Errorf(protocol.KindLimit, "%d bytes; the limit of an expression is %d", len(c.Expr), MaxExpression)
	case c.Expr == "" || c.program != nil:
		return c, nil
	}
	p, err := expr.Compile(c.Expr, Roots()...)
	c.program = p
	return c, err
}

func (c *Condition) String() string { return c.Expr + c.Text }

// Sealed is the rest of a goal with its expressions compiled. It may be shared.
func (m More) Sealed() (*More, error) {
	for _, list := range []*[]Condition{&m.Preconditions, &m.Completion, &m.Failure} {
		*list = slices.Clone(*list)
		for i := range *list {
			c, err := (*list)[i].Compiled()
			if err != nil {
				return nil, err
			}
			(*list)[i] = c
		}
	}
	return &m, nil
}

// Expressions counts those in its conditions.
func (m *More) Expressions() (n int) {
	for _, list := range [][]Condition{m.Preconditions, m.Completion, m.Failure} {
		for i := range list {
			if list[i].Expr != "" {
				n++
			}
		}
	}
	return n
}

// Open reports whether the goal still drives behaviour.
func (g *Goal) Open() bool { return g.Status == Active || g.Status == Pending }

// Value is the goal as workflows see it.
func (g *Goal) Value() map[string]any {
	details, _ := g.Details.Value()
	v := map[string]any{
		"id": g.ID, "kb": g.KB, "description": g.Description,
		"priority": g.Priority, "status": g.Status, "details": details,
	}
	if m := g.More; m != nil {
		m.put(v)
	}
	return v
}

func (m *More) put(v map[string]any) {
	for key, text := range map[string]string{"parent": m.Parent, "source": m.Source, "given_by": m.GivenBy, "completes_by": m.CompletesBy, "why": m.Why} {
		if text != "" {
			v[key] = text
		}
	}
	for key, list := range map[string][]Condition{"preconditions": m.Preconditions, "completion_criteria": m.Completion, "failure_criteria": m.Failure} {
		if len(list) > 0 {
			texts := make([]any, len(list))
			for i := range list {
				texts[i] = list[i].String()
			}
			v[key] = texts
		}
	}
	if m.Deadline != 0 {
		v["deadline"] = m.Deadline.String()
	}
	if len(m.Exclusive) > 0 {
		v["exclusive"] = protocol.ListOf(m.Exclusive)
	}
	if m.Progress > 0 {
		v["progress"] = float64(m.Progress) / One
	}
}

// Put adds a goal to a list, replaces it by id, or removes it. The list stays as it is.
func Put(goals []Goal, g Goal, removed bool) []Goal {
	i := slices.IndexFunc(goals, func(have Goal) bool { return have.ID == g.ID })
	switch {
	case removed && i < 0:
		return goals
	case removed:
		return slices.Delete(slices.Clone(goals), i, i+1)
	case i < 0:
		return append(slices.Clip(goals), g)
	}
	next := slices.Clone(goals)
	next[i] = g
	return next
}

// Find finds a goal by id.
func Find(goals []Goal, id string) (Goal, bool) {
	i := slices.IndexFunc(goals, func(g Goal) bool { return g.ID == id })
	if i < 0 {
		return Goal{}, false
	}
	return goals[i], true
}

// Expressions counts those in the conditions of goals.
func Expressions(goals []Goal) (n int) {
	for i := range goals {
		if m := goals[i].More; m != nil {
			n += m.Expressions()
		}
	}
	return n
}

// Meet is a list of drives with one that was met.
func Meet(list []Met, m Met) []Met {
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(have Met) bool { return have.Drive == m.Drive })
	if i < 0 {
		return append(list, m)
	}
	list[i] = m
	return list
}
