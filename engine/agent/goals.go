package agent

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// A turn of an agent with rules for its goals settles them twice: when it has perceived,
// and when all that it decided is carried out. What follows from a change is a part of the
// turn, so that a turn that leaves nothing leaves no change either.

// motives is what a turn keeps of the goals of such an agent.
type motives struct {
	met     []goal.Met
	looked  int      // facts of the turn that were searched for met drives
	stirred int      // events that told of a place that its goals watch
	taken   []string // goals that this turn was given
	closing bool     // the core workflow has ended
	idle    bool     // nothing of it was for the core workflow
	ended   int      // rewards and penalties so far
}

// rest is how an agent rests since its last turn that was not idle.
type rest struct {
	At     protocol.Time
	Until  protocol.Time
	Asleep bool
	Above  protocol.Priority
}

const (
	observedGoal = "goal_changed" // kind of an observation

	typeGoalAnswered = "agent.goal_answered" // event to the giver of a goal

	// maxSettling bounds how often a turn settles again because something followed from a
	// change. What is left is for the next turn.
	maxSettling = 16
)

// met are the drives as they were last met.
func (s *State) met() []goal.Met {
	if s.more == nil {
		return nil
	}
	return s.more.met
}

func (s *State) rested() rest {
	if s.more == nil {
		return rest{}
	}
	return s.more.rest
}

func (s *State) meet(f *agentfact.DriveMet, at protocol.Time) {
	s.change().met = goal.Meet(s.met(), goal.Met{Drive: f.Drive, At: at, Level: f.Level})
}

// rests notes how a turn left its agent.
func (s *State) rests(f *agentfact.TurnEnded, at protocol.Time) {
	d := s.change()
	if f.Outcome != agentfact.OutcomeIdle {
		d.rest = rest{At: at, Until: f.SleepUntil, Asleep: f.Asleep, Above: f.WakeAbove}
	}
	if f.Outcome != agentfact.OutcomeInterrupted && f.Outcome != agentfact.OutcomeCancelled {
		d.unheard = false // the turn has asked again
	}
}

func (m *Machine) applyGoal(f *agentfact.GoalChanged, at protocol.Time) error {
	more, err := f.More.Sealed()
	if err != nil {
		return err
	}
	g := f.Goal
	g.More = more
	m.State.Goals = goal.Put(m.State.Goals, g, false)
	if f.Observe {
		m.State.observations = append(m.State.observations, Observation{Time: at, Kind: observedGoal, Value: f.Observed()})
	}
	return nil
}

// openGoals takes the events out of what is perceived that only tell of watched places.
func (t *Turn) openGoals() {
	t.met = t.m.State.met()
	all := len(t.events)
	t.events = slices.DeleteFunc(t.events, func(e *protocol.Envelope) bool {
		return e.Type == bus.TypeWorldWatched && strings.HasPrefix(e.Source, "$")
	})
	t.stirred = all - len(t.events)
}

// perceiveGoals settles the goals before the core workflow; false = the turn is idle.
func (t *Turn) perceiveGoals() bool {
	if t.m.Def.Motive != nil {
		t.settleGoals()
	}
	r, now, sleep := t.m.State.rested(), t.wake.Now, t.m.State.pace().Asleep()
	due := r.At == 0 || r.Asleep && r.Until != 0 && r.Until <= now || !r.Asleep && t.m.Def.Period > 0 && r.At.Add(t.m.Def.Period) <= now
	asleep, news := r.Asleep && sleep.When.Expr != "", len(t.events)+len(t.observations)
	if asleep { // what waits for its end does not end it
		news = sleep.Waking(t.events, r.Above) + len(t.observations) - len(t.m.Shown(t.end.Seen))
	}
	t.idle = (t.stirred > 0 || asleep) && !due && news == 0 && len(t.facts) == 0 && t.wake.Workflow == "" && t.played == nil
	if asleep && !due && sleep.When.Holds(goalEnv{t}) {
		t.idle, t.observations = false, append(slices.Clip(t.observations), Observation{Time: now, Kind: pace.Woke, Value: sleep.Woken()})
	}
	if t.idle {
		t.end.Outcome, t.dozes = agentfact.OutcomeIdle, sleep
		t.end.Perceived, t.end.Seen = int64(t.stirred), 0
		if r.Asleep {
			t.end.Asleep, t.end.SleepUntil, t.end.WakeAbove = true, r.Until, r.Above
		}
	}
	return !t.idle
}

// settleGoals decides where the goals stand, until nothing follows any more.
func (t *Turn) settleGoals() {
	for range maxSettling {
		t.meetDrives()
		b := goal.Book{Goals: t.goals, Met: t.met}
		changes := t.m.Def.Motive.Settle(t.wake.Now, &b, goalEnv{t})
		for i := range changes {
			t.goalChanged(&changes[i], "")
		}
		if len(changes) == 0 {
			return
		}
	}
}

// goalChanged keeps a change and carries out what follows from it.
func (t *Turn) goalChanged(c *goal.Change, by string) {
	g := &c.Goal
	t.goals = goal.Put(t.goals, *g, false)
	t.end.Changed = true
	f := &agentfact.GoalChanged{Goal: *g, More: *g.More, From: c.From, Cause: c.Cause, By: by}
	f.Goal.More = nil
	if c.From != "" && c.From != g.Status && c.Cause != goal.CauseAgent && c.Cause != goal.CauseChosen {
		if f.Observe = t.closing; !t.closing {
			t.observations = append(slices.Clip(t.observations), Observation{Time: t.wake.Now, Kind: observedGoal, Value: f.Observed()})
		}
	}
	t.spend(entryBytes)
	t.facts = append(t.facts, f)
	switch {
	case c.Ends():
		t.reward(g, c.Cause)
		t.followGoal(g)
		if !slices.Contains(t.taken, g.ID) {
			t.answerGoal(g, g.Status)
		}
	case c.Cause == goal.CauseRecurs:
		t.followGoal(g)
	}
}

// reward carries out what the end of a goal brings. A goal that was refused, or that ended
// because its parent did, has no penalty.
func (t *Turn) reward(g *goal.Goal, cause goal.Cause) {
	commands := g.More.Reward
	if g.Status == goal.Failed {
		if commands = g.More.Penalty; cause == goal.CauseParent || g.More.Refused {
			return
		}
	}
	if len(commands) == 0 {
		return
	}
	t.ended++
	v, err := commands.Value()
	var out any
	if err == nil {
		out, err = t.commandOwn(v, t.m.ID.Instance+"/"+itoa(t.end.Turn)+".goal"+itoa(uint64(t.ended)))
	}
	if err == nil {
		err = private.Rejected(out)
	}
	if err != nil {
		t.problem("goal " + g.ID + ": what its end brings: " + err.Error())
	}
}

// followGoal writes the status into the entry that defines the goal, if the agent may.
func (t *Turn) followGoal(g *goal.Goal) {
	if g.KB == "" {
		return
	}
	access, err := t.m.Def.Knowledge.Find(g.KB, func(k profile.Access) bool { return k.Write })
	if err != nil {
		return
	}
	t.askKnowledge(knowledge.Request{KB: access.ID, Op: knowledge.OpUpdate, Mode: knowledge.ModeWrite, Permissions: []string{knowledge.PermitWrite},
		Entry: map[string]any{"id": g.ID, "goal": map[string]any{"status": g.Status}}})
}

// answerGoal tells the agent that gave a goal what became of it.
func (t *Turn) answerGoal(g *goal.Goal, answer string) {
	if g.More.GivenBy == "" || strings.HasPrefix(g.More.GivenBy, "$") {
		return
	}
	v := map[string]any{"goal": g.ID, "answer": answer}
	if g.More.Why != "" {
		v["why"] = g.More.Why
	}
	t.event(protocol.Draft{EventHeader: protocol.EventHeader{Type: typeGoalAnswered, Targets: []string{g.More.GivenBy}}, Body: protocol.Encode(v)})
}

// changeMotive carries out what the agent, or the author of an event, wants of a goal of an
// agent with rules for its goals. The rules may decide otherwise when the turn settles.
func (t *Turn) changeMotive(have goal.Goal, found bool, p tool.Params, source, by string) error {
	asked, refused := p, p.Text("status") == goal.Refused
	if refused {
		if !found || have.More == nil || have.More.Source != goal.Given || source != goal.Self {
			return protocol.Errorf(protocol.KindInvalid, "status refused: only a goal that you were given can be refused; want failed, or remove")
		}
		asked = p.Without("status")
	}
	next, err := goal.Asked(have, found, asked)
	if err == nil {
		err = t.roomForGoal(found)
	}
	if err != nil {
		return err
	}
	more, err := goal.AskedMore(have.More, p, t.wake.Now)
	if err != nil {
		return err
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
		m.Reopened(t.wake.Now)
	}
	next.More = &m
	if n := goal.Expressions(goal.Put(t.goals, next, false)); n > goal.MaxExpressions {
		return protocol.Errorf(protocol.KindLimit, "%d expressions in the conditions of your goals; the limit is %d", n, goal.MaxExpressions)
	}
	if source == goal.Given && !slices.Contains(t.taken, next.ID) {
		t.taken = append(t.taken, next.ID)
	}
	c := goal.Change{Goal: next, Cause: cause}
	if found {
		c.From = have.Status
	}
	if c.Ends() && m.Recurs > 0 {
		m.Again = t.wake.Now.Add(m.Recurs)
	}
	t.goalChanged(&c, by)
	return nil
}

// closeGoals settles the goals after all that the turn has decided, and asks for what follows
// from where they stand.
func (t *Turn) closeGoals() {
	if t.closing = true; t.idle {
		return
	}
	if t.m.Def.Motive != nil {
		t.settleGoals()
	}
	for _, id := range t.taken {
		if g, ok := goal.Find(t.goals, id); ok && g.More != nil {
			answer := "accepted"
			if !g.Open() {
				answer = g.Status
			}
			if g.More.Refused {
				answer = goal.Refused
			}
			t.answerGoal(&g, answer)
		}
	}
	t.watchGoals()
}

// watchGoals subscribes to the places that conditions read since this turn, and no more to
// those that none reads.
func (t *Turn) watchGoals() {
	sleep := t.m.State.pace().Asleep()
	before, after := sleep.Watched(goal.Watched(t.m.State.Goals)), t.dozes.Watched(goal.Watched(t.goals))
	change := bus.Change{Agent: t.m.ID.Instance}
	if t.m.State.more != nil && t.m.State.more.unheard {
		before = nil // the channel leaves out what it has
	}
	for _, p := range after {
		if !slices.Contains(before, p) {
			change.Add = append(change.Add, bus.Subscription{Type: bus.TypeWorldWatched, Path: p})
		}
	}
	for _, p := range before {
		if !slices.Contains(after, p) {
			change.Remove = append(change.Remove, bus.Subscription{Type: bus.TypeWorldWatched, Path: p})
		}
	}
	if len(change.Add)+len(change.Remove) > 0 {
		t.request(bus.Service, change.AppendMsg)
	}
}

// wakeForGoals finds when the agent must be woken for its goals.
func (t *Turn) wakeForGoals(wake func(protocol.Time)) {
	b := goal.Book{Goals: t.goals, Met: t.met}
	wake(t.m.Def.Motive.Due(t.wake.Now, &b, goalEnv{t}))
}

// meetDrives notes the drives whose value was changed since it last looked.
func (t *Turn) meetDrives() {
	drives := t.m.Def.Motive.Drives
	for i := range drives {
		d := &drives[i]
		known := slices.ContainsFunc(t.met, func(m goal.Met) bool { return m.Drive == d.ID })
		if known && !slices.ContainsFunc(t.facts[t.looked:], func(f protocol.Fact) bool { return agentfact.Writes(f, d.Path) }) {
			continue
		}
		level := int64(0)
		if v, ok := private.Lookup(t.Private, d.Path); ok {
			n, _ := protocol.Number(v)
			level = goal.Millionths(n)
		}
		t.met = goal.Meet(t.met, goal.Met{Drive: d.ID, At: t.wake.Now, Level: level})
		t.facts = append(t.facts, &agentfact.DriveMet{Drive: d.ID, Level: level})
	}
	t.looked = len(t.facts)
}

// rankedGoals are the open goals as workflows see them, the highest rank first.
func (t *Turn) rankedGoals() []any {
	out := []any{}
	for _, r := range t.m.Def.Motive.Ranked(t.goals, t.met, t.wake.Now) {
		if r.Open() {
			v := t.m.Def.Told.Value(&r.Goal)
			v["rank"] = float64(r.Rank) / goal.One
			out = append(out, v)
		}
	}
	return out
}

// Goals lists the goals, the highest rank first; without rules they have no rank.
func (m *Machine) Goals(now protocol.Time) []goal.Ranked {
	if m.Def.Motive != nil {
		return m.Def.Motive.Ranked(m.State.Goals, m.State.met(), now)
	}
	list := make([]goal.Ranked, len(m.State.Goals))
	for i, g := range m.State.Goals {
		list[i].Goal = g
	}
	return list
}

// Drives lists how strong the drives are.
func (m *Machine) Drives(now protocol.Time) map[string]int64 { return m.drives(m.State.met(), now) }

func (m *Machine) drives(met []goal.Met, now protocol.Time) map[string]int64 {
	if m.Def.Motive == nil || len(m.Def.Motive.Drives) == 0 {
		return nil
	}
	levels := map[string]int64{}
	for i := range m.Def.Motive.Drives {
		d := &m.Def.Motive.Drives[i]
		levels[d.ID] = d.Level(met, now)
	}
	return levels
}

// goalEnv gives conditions of goals what they read.
type goalEnv struct{ *Turn }

// Lookup implements expr.Env.
func (e goalEnv) Lookup(root string) (any, bool) {
	t := e.Turn
	switch root {
	case "world":
		if t.world.Document == nil {
			return nil, false
		}
		return t.world.Value(), true
	case "self":
		self := t.self()
		drives := map[string]any{}
		for id, level := range t.m.drives(t.met, t.wake.Now) {
			drives[id] = float64(level) / goal.One
		}
		self["private_state"], self["drives"] = t.Private, drives
		return self, true
	case "goals":
		list := make([]any, len(t.goals))
		for i := range t.goals {
			list[i] = t.m.Def.Told.Value(&t.goals[i])
		}
		return list, true
	case "now":
		return goal.NowValue(t.wake.Now), true
	}
	return nil, false
}
