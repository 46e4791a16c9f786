package motive

import (
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// Change is what the agent, or the author of an event, wants of a goal. With rules it gives the
// change, which the caller notes; without, or if the goal is forgotten, it is carried out.
func (d *Draft) Change(p tool.Params, source, by string, out *outbox.Box) (*goal.Change, error) {
	have, found := goal.Find(d.Goals, p.Text("id"))
	remove := p.Flag("remove")
	if d.Rules != nil && !remove {
		return d.asked(have, found, p, source, by)
	}
	next, err := goal.Asked(have, found, p)
	if err == nil {
		err = d.room(found || remove)
	}
	if err != nil {
		return nil, err
	}
	out.Changed = out.Changed || found || !remove
	d.Goals = goal.Put(d.Goals, next, remove)
	next.More = nil
	out.Note(&agentfact.GoalsUpdated{Goal: next, Removed: remove})
	return nil, nil
}

func (d *Draft) room(there bool) error {
	if !there && len(d.Goals) >= d.Most {
		return protocol.Errorf(protocol.KindLimit, "more than %d goals (custom_runtime_config.max_goals)", d.Most)
	}
	return nil
}

// asked is the change of a goal of an agent with rules for its goals. The rules may decide otherwise
// when the turn settles.
func (d *Draft) asked(have goal.Goal, found bool, p tool.Params, source, by string) (*goal.Change, error) {
	asked, refused := p, p.Text("status") == goal.Refused
	if refused {
		if !found || have.More == nil || have.More.Source != goal.Given || source != goal.Self {
			return nil, protocol.Errorf(protocol.KindInvalid, "status refused: only a goal that you were given can be refused; want failed, or remove")
		}
		asked = p.Without("status")
	}
	next, err := goal.Asked(have, found, asked)
	if err == nil {
		err = d.room(found)
	}
	if err != nil {
		return nil, err
	}
	more, err := goal.AskedMore(have.More, p, d.Now)
	if err != nil {
		return nil, err
	}
	m := *more
	if m.Source == "" || source == goal.Given {
		m.Source, m.GivenBy = source, by
	}
	cause, status := goal.CauseAgent, p.Text("status")
	if source == goal.Given {
		cause = goal.CauseGiven
	}
	if refused {
		next.Status, m.Refused = goal.Failed, true
	}
	if status != "" {
		m.Why, m.Aside = p.Text("why"), status == goal.Pending && source == goal.Self
	}
	if !found && status == "" || found && status == goal.Active && have.Status != goal.Active {
		next.Status = goal.Pending // until the rules choose it
	}
	if reopened := found && !have.Open() && next.Open(); reopened {
		m.Reopened(d.Now)
	}
	next.More = &m
	if n := goal.Expressions(goal.Put(d.Goals, next, false)); n > goal.MaxExpressions {
		return nil, protocol.Errorf(protocol.KindLimit, "%d expressions in the conditions of your goals; the limit is %d", n, goal.MaxExpressions)
	}
	if source == goal.Given && !slices.Contains(d.taken, next.ID) {
		d.taken = append(d.taken, next.ID)
	}
	c := &goal.Change{Goal: next, Cause: cause}
	if found {
		c.From = have.Status
	}
	if c.Ends() && m.Recurs > 0 {
		m.Again = d.Now.Add(m.Recurs)
	}
	return c, nil
}
