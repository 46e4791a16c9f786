package setup

import (
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/bus"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

// watches are the subscriptions to the places that the conditions of goals read.
func watches(goals []goal.Goal) (out []bus.Subscription) {
	for _, p := range goal.Watched(goals) {
		out = append(out, bus.Subscription{Type: bus.TypeWorldWatched, Path: p})
	}
	return out
}

// beginning are the goals with which the agents of a class begin.
type beginning struct {
	goals []goal.Goal // of all of them, unless their texts differ

	entries []*knowledge.Entry // of the goals
	bases   []*knowledge.Base  // of the entries
	books   lore.Books         // that texts refer to
	differ  bool               // texts name what is in the private state of each agent
}

// initialGoals reads the initial goals of a class of agents from the knowledge bases, and sets the
// rules that weigh them.
func (b *builder) initialGoals(d *agent.Definition, p *project.Profile, refs []profile.GoalReference) (*beginning, error) {
	g, seen := &beginning{}, map[string]bool{}
	for _, ref := range refs {
		kb, ok := p.KnowledgeBase(ref.KBAliasOrID)
		if !ok {
			continue
		}
		base, ok := b.Bases.Base(kb.SourceID)
		if !ok {
			continue
		}
		if e, ok := base.Get(ref.CAIUID); ok && !seen[e.ID] { // two of one id are in runs of older programs
			seen[e.ID] = true
			g.entries, g.bases = append(g.entries, e), append(g.bases, base)
			g.goals = append(g.goals, goalOf(e, kb, ref.ActivationPriority))
		}
	}
	var err error
	if d.Motive, err = p.Motivated(g.entries); err != nil {
		return nil, err
	}
	d.Told = goal.Told{}
	for i, e := range g.entries {
		d.Told.Add(g.goals[i].KB, e.ID, says(e, d.Motive != nil))
	}
	if d.Motive != nil {
		err = g.weighed(d)
	}
	if err == nil && slices.ContainsFunc(g.entries, project.Refers) {
		g.books = lore.Books{Access: d.Knowledge, Bases: b.Bases}
		if g.books.World, err = world.FromValue(b.Def.Definition.InitialWorldState, 1); err == nil {
			g.goals, g.differ = g.filled(nil)
		}
	}
	return g, err
}

// weighed gives goals what rules need of them.
func (g *beginning) weighed(d *agent.Definition) (err error) {
	expressions := 0
	for i, e := range g.entries {
		more := moreOf(e)
		if g.goals[i].More, err = more.Sealed(); err != nil {
			return err
		}
		expressions += more.Expressions()
		if g.goals[i].Priority > 1 {
			g.goals[i].Priority = min(g.goals[i].Priority/10, 1)
		}
		g.goals[i].Status = string(e.Status())
	}
	if expressions > goal.MaxExpressions {
		return protocol.Errorf(protocol.KindLimit, "profile %s: %d expressions in the conditions of its initial goals; the limit is %d", d.Profile, expressions, goal.MaxExpressions)
	}
	return nil
}

// of are the goals with which an agent begins that has this private state.
func (g *beginning) of(own map[string]any) []goal.Goal {
	if !g.differ {
		return g.goals
	}
	goals, _ := g.filled(own)
	return goals
}

// filled are the goals with the references in their texts filled in. own tells that one names what is
// in the private state, and is not there.
func (g *beginning) filled(state map[string]any) (goals []goal.Goal, own bool) {
	books := g.books
	books.Own, goals = &private.State{Private: state}, slices.Clone(g.goals)
	for i, e := range g.entries {
		filled, warnings := books.Goal(e, g.bases[i], profile.Access{})
		goals[i].Description, goals[i].Details = filled.Description(), details(filled)
		own = own || slices.ContainsFunc(warnings, func(w knowledge.Warning) bool { return strings.HasPrefix(w.Key, "self") })
	}
	return goals, own
}

func goalOf(e *knowledge.Entry, kb profile.KnowledgeReference, priority *float64) goal.Goal {
	g := goal.Goal{ID: e.ID, KB: kb.Alias, Description: e.Description(), Priority: e.Priority, Status: string(e.Status()), Details: details(e)}
	if g.KB == "" {
		g.KB = kb.SourceID
	}
	if priority != nil {
		g.Priority = *priority
	}
	if e.Goal == nil || e.Goal.Status == "" {
		g.Status = goal.Active // an initial goal is active from the start, unless its entry says otherwise
	}
	return g
}

func details(e *knowledge.Entry) protocol.Raw { return encoded(e.Content) }

// says is what the entry of a goal says that the goal does not hold.
func says(e *knowledge.Entry, rules bool) map[string]any {
	if e.Goal == nil {
		return nil
	}
	v := map[string]any{}
	if m := moreOf(e); !rules {
		m.Source = ""
		v = m.Says()
	}
	for name, x := range map[string]any{"rewards": e.Goal.Rewards, "penalties": e.Goal.Penalties} {
		if x, err := protocol.Normalize(x); err == nil && x != nil {
			v[name] = x
		}
	}
	return v
}

// moreOf is what rules need of a goal.
func moreOf(e *knowledge.Entry) *goal.More {
	m := &goal.More{Source: goal.Initial}
	if g := e.Goal; g != nil {
		m.Parent, m.CompletesBy, m.Exclusive = g.ParentGoalID, g.CompletesBy, g.Exclusive
		m.Preconditions, m.Completion, m.Failure = g.Preconditions, g.CompletionCriteria, g.FailureCriteria
		m.Within, m.Recurs = g.Deadline.Std(), g.Recurs.Std()
		m.Reward, m.Penalty = encoded(knowledge.Commands(g.Rewards)), encoded(knowledge.Commands(g.Penalties))
	}
	return m
}

// encoded is a value of a file; nil = there is none.
func encoded(v any) protocol.Raw {
	v, err := protocol.Normalize(v)
	if err != nil || v == nil {
		return nil
	}
	return protocol.Encode(v)
}
