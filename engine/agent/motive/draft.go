// Package motive is a turn's draft of the goals. Its agent, events and the rules of its
// profile change them (agent architecture §2.1.3). The consequences of a change belong to the turn,
// so a turn without facts changes no goal.
//
// # Promises
//
//  1. A refused change leaves the goals unchanged, and no fact.
//  2. Only an assigned goal can be refused. The agent that assigned it is told its outcome once.
//  3. The goals after a fact are those that folding the fact gives.
//
// # Not here
//
// How the rules weigh and end goals: engine/goal. When a turn settles them: engine/agent.
package motive

import (
	"slices"
	"strconv"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/selfstate"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// Draft are the goals as a turn changes them.
type Draft struct {
	Goals   []goal.Goal
	Met     []goal.Met  // drives, of an agent with rules
	Rules   *goal.Rules // nil = the agent alone says where goals stand
	Told    goal.Told   // of the initial goals
	Most    int         // goals
	Access  profile.Accesses
	Now     protocol.Time
	Closing bool // the core workflow has ended

	looked int      // facts of the turn that were searched for met drives
	taken  []string // goals that this turn was given
	ended  int      // rewards and penalties so far
}

const typeAnswered = "agent.goal_answered" // event to the giver of a goal

// Reset drops all changes.
func (d *Draft) Reset(goals []goal.Goal, met []goal.Met) {
	*d = Draft{Goals: goals, Met: met, Rules: d.Rules, Told: d.Told, Most: d.Most, Access: d.Access, Now: d.Now}
}

// Settle decides where the goals stand. The caller notes the changes, and settles again until there is
// none.
func (d *Draft) Settle(env expr.Env, own *selfstate.Draft, out *outbox.Box) []goal.Change {
	d.meet(own, out)
	return d.Rules.Settle(d.Now, &goal.Book{Goals: d.Goals, Met: d.Met}, env)
}

// Due is when the agent must be woken for its goals.
func (d *Draft) Due(env expr.Env) protocol.Time {
	return d.Rules.Due(d.Now, &goal.Book{Goals: d.Goals, Met: d.Met}, env)
}

// Note keeps a change and carries out what follows from it. observe = the next round or deliberation
// observes it; err is what is wrong with the reward.
func (d *Draft) Note(c *goal.Change, by string, own *selfstate.Draft, out *outbox.Box) (f *agentfact.GoalChanged, observe bool, err error) {
	g := &c.Goal
	d.Goals = goal.Put(d.Goals, *g, false)
	out.Changed = true
	f = &agentfact.GoalChanged{Goal: *g, More: *g.More, From: c.From, Cause: c.Cause, By: by}
	f.Goal.More = nil
	observe = c.From != "" && c.From != g.Status && c.Cause != goal.CauseAgent && c.Cause != goal.CauseChosen
	f.Observe = observe && d.Closing
	out.Spend(outbox.EntryBytes)
	out.Note(f)
	switch {
	case c.Ends():
		err = d.reward(g, c.Cause, own, out)
		d.follow(g, out)
		if !slices.Contains(d.taken, g.ID) {
			answerGiver(g, g.Status, out)
		}
	case c.Cause == goal.CauseRecurs:
		d.follow(g, out)
	}
	return f, observe, err
}

// reward carries out what the end of a goal brings. A goal that was refused, or that ended
// because its parent did, has no penalty.
func (d *Draft) reward(g *goal.Goal, cause goal.Cause, own *selfstate.Draft, out *outbox.Box) error {
	commands := g.More.Reward
	if g.Status == goal.Failed {
		if commands = g.More.Penalty; cause == goal.CauseParent || g.More.Refused {
			return nil
		}
	}
	if len(commands) == 0 {
		return nil
	}
	d.ended++
	v, err := commands.Value()
	var did any
	if err == nil {
		did, err = own.Command(v, out.Name(".goal", strconv.Itoa(d.ended)), out)
	}
	if err == nil {
		err = private.Rejected(did)
	}
	return err
}

// follow writes the status into the entry that defines the goal, if the agent may.
func (d *Draft) follow(g *goal.Goal, out *outbox.Box) {
	if g.KB == "" {
		return
	}
	access, err := d.Access.Find(g.KB, func(k profile.Access) bool { return k.Write })
	if err != nil {
		return
	}
	q := knowledge.Request{ID: out.NextID(), By: out.Agent, KB: access.ID, Op: knowledge.OpUpdate, Mode: knowledge.ModeWrite, Permissions: []string{knowledge.PermitWrite},
		Entry: map[string]any{"id": g.ID, "goal": map[string]any{"status": g.Status}}}
	out.Request(knowledge.Service, q.AppendMsg)
}

// answerGiver tells the agent that gave a goal what became of it.
func answerGiver(g *goal.Goal, answer string, out *outbox.Box) {
	if g.More.GivenBy == "" || cast.OfScene(g.More.GivenBy) {
		return
	}
	v := map[string]any{"goal": g.ID, "answer": answer}
	if g.More.Why != "" {
		v["why"] = g.More.Why
	}
	out.Publish(protocol.Draft{EventHeader: protocol.EventHeader{Type: typeAnswered, Targets: []string{g.More.GivenBy}}, Body: protocol.Encode(v)})
}

// Answer tells the agents that gave goals to this turn what became of them.
func (d *Draft) Answer(out *outbox.Box) {
	for _, id := range d.taken {
		if g, ok := goal.Find(d.Goals, id); ok && g.More != nil {
			answer := "accepted"
			if !g.Open() {
				answer = g.Status
			}
			if g.More.Refused {
				answer = goal.Refused
			}
			answerGiver(&g, answer, out)
		}
	}
}

// meet notes the drives whose value was changed since it last looked.
func (d *Draft) meet(own *selfstate.Draft, out *outbox.Box) {
	for i := range d.Rules.Drives {
		drive := &d.Rules.Drives[i]
		known := slices.ContainsFunc(d.Met, func(m goal.Met) bool { return m.Drive == drive.ID })
		if known && !slices.ContainsFunc(out.Facts[d.looked:], func(f protocol.Fact) bool { return agentfact.Writes(f, drive.Path) }) {
			continue
		}
		level := int64(0)
		if v, ok := private.Lookup(own.Private, drive.Path); ok {
			n, _ := protocol.Number(v)
			level = goal.Millionths(n)
		}
		d.Met = goal.Meet(d.Met, goal.Met{Drive: drive.ID, At: d.Now, Level: level})
		out.Note(&agentfact.DriveMet{Drive: drive.ID, Level: level})
	}
	d.looked = len(out.Facts)
}

// Active are the open goals as workflows see them; with rules they have a rank, and the highest is
// first.
func (d *Draft) Active() []any {
	out := []any{}
	if d.Rules == nil {
		for i := range d.Goals {
			if g := &d.Goals[i]; g.Open() {
				out = append(out, d.Told.Value(g))
			}
		}
		return out
	}
	for _, r := range d.Rules.Ranked(d.Goals, d.Met, d.Now) {
		if r.Open() {
			v := d.Told.Value(&r.Goal)
			v["rank"] = float64(r.Rank) / goal.One
			out = append(out, v)
		}
	}
	return out
}
