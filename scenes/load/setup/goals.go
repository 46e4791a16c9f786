package setup

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/bus"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
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

// initialGoals reads the initial goals of an agent from the knowledge bases, and sets the
// rules that weigh them.
func (b *builder) initialGoals(d *agent.Definition, p *project.Profile, refs []profile.GoalReference) ([]goal.Goal, error) {
	var entries []*knowledge.Entry
	var goals []goal.Goal
	for _, ref := range refs {
		kb, ok := p.KnowledgeBase(ref.KBAliasOrID)
		if !ok {
			continue
		}
		base, ok := b.Bases.Base(kb.SourceID)
		if !ok {
			continue
		}
		if e, ok := base.Get(ref.CAIUID); ok {
			entries, goals = append(entries, e), append(goals, goalOf(e, kb, ref.ActivationPriority))
		}
	}
	var err error
	if d.Motive, err = p.Motivated(entries); err != nil || d.Motive == nil {
		return goals, err
	}
	expressions := 0
	for i, e := range entries {
		more := moreOf(e)
		if goals[i].More, err = more.Sealed(); err != nil {
			return nil, err
		}
		expressions += more.Expressions()
		if goals[i].Priority > 1 {
			goals[i].Priority = min(goals[i].Priority/10, 1)
		}
		goals[i].Status = string(e.Status())
	}
	if len(goals) > d.Limits.MaxGoals || expressions > goal.MaxExpressions {
		return nil, protocol.Errorf(protocol.KindLimit, "profile %s: %d initial goals with %d expressions; the limits are %d (custom_runtime_config.max_goals) and %d", d.Profile, len(goals), expressions, d.Limits.MaxGoals, goal.MaxExpressions)
	}
	return goals, nil
}

func goalOf(e *knowledge.Entry, kb profile.KnowledgeReference, priority *float64) goal.Goal {
	g := goal.Goal{ID: e.ID, KB: kb.Alias, Description: e.Description(), Priority: e.Priority, Status: string(e.Status())}
	if g.KB == "" {
		g.KB = kb.SourceID
	}
	if priority != nil {
		g.Priority = *priority
	}
	if g.Status == string(knowledge.GoalPending) {
		g.Status = string(knowledge.GoalActive) // an initial goal is active from the start
	}
	if content, err := protocol.Normalize(e.Content); err == nil && content != nil {
		g.Details = protocol.Encode(content)
	}
	return g
}

// moreOf is what rules need of a goal.
func moreOf(e *knowledge.Entry) *goal.More {
	m := &goal.More{Source: goal.Initial}
	if g := e.Goal; g != nil {
		m.Parent, m.CompletesBy, m.Exclusive = g.ParentGoalID, g.CompletesBy, g.Exclusive
		m.Preconditions, m.Completion, m.Failure = g.Preconditions, g.CompletionCriteria, g.FailureCriteria
		m.Within, m.Recurs = g.Deadline.Std(), g.Recurs.Std()
		m.Reward, m.Penalty = commandsOf(g.Rewards), commandsOf(g.Penalties)
	}
	return m
}

// commandsOf are the commands of a reward; nil = it has none.
func commandsOf(reward any) protocol.Raw {
	v, err := protocol.Normalize(knowledge.Commands(reward))
	if err != nil || v == nil {
		return nil
	}
	return protocol.Encode(v)
}
