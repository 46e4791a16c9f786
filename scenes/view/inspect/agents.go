package inspect

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/roster"
)

// AgentQuery chooses and orders agents; empty fields choose all.
type AgentQuery struct {
	Profile string
	State   string // as agenda.States
	Name    string // part of the instance id
	Failed  bool   // only those with failures
	Sort    string // id, turns, failures, calls, cost, last; "" = the order of the scene
	Limit   int    // 0 = all
	Newest  bool   // read what came since the newest note, and count neither inboxes nor costs
}

// AgentSorts lists the orders of the view "agents".
func AgentSorts() []string { return []string{"id", "turns", "failures", "calls", "cost", "last"} }

// AgentLine is one agent of the view "agents".
type AgentLine struct {
	Agent    string `json:"agent"`
	Profile  string `json:"profile"`
	State    string `json:"state"`          // as agenda.States
	Next     string `json:"next,omitempty"` // when it is woken without an event
	Turns    int64  `json:"turns"`
	Failures int64  `json:"failures"` // turns without a decision
	Calls    int64  `json:"calls"`
	Models   int64  `json:"model_calls"`
	Cost     *int64 `json:"cost,omitempty"`     // nano-dollars of answers of endpoints; nil = there are none
	Unpriced int64  `json:"unpriced,omitempty"` // answers whose price was not known; Cost is without them
	Heard    int64  `json:"events_perceived"`
	Waiting  *int   `json:"inbox,omitempty"`       // events that were not perceived yet; nil = they were not counted
	Last     string `json:"last_active,omitempty"` // end of its last turn

	ordinal int
	last    protocol.Time
	use     history.ModelUse
}

// Price says in words what the agent's answers cost.
func (a *AgentLine) Price() string { return a.use.Price() }

// AgentList is what the view "agents" found.
type AgentList struct {
	Agents []AgentLine
	Found  int  // that the query chooses, listed or not
	Total  int  // of the scene
	Whole  bool // inboxes and costs were counted
}

// Agents lists agents with what they did. An order by cost needs all facts.
func (s *Scene) Agents(q AgentQuery) (*AgentList, error) {
	compare, err := q.order()
	if err != nil {
		return nil, err
	}
	if err := s.knownProfile(q.Profile); err != nil {
		return nil, err
	}
	stage, agents, err := s.staged(q.Newest && q.Sort != "cost")
	if err != nil {
		return nil, err
	}
	lines, err := s.agentLines(stage, agents)
	if err != nil {
		return nil, err
	}
	list := top[AgentLine]{n: q.Limit, compare: compare}
	for i := range lines {
		if q.wants(&lines[i]) {
			list.offer(lines[i])
		}
	}
	return &AgentList{Agents: list.list, Found: list.seen, Total: len(lines), Whole: agents != nil}, nil
}

// staged is the stage at the end of the journal: folded with the inboxes of the agents, or
// alone, from where it was last noted. agents is nil if their inboxes were not folded.
func (s *Scene) staged(newest bool) (stage *machines.StageState, agents []*agent.Machine, err error) {
	if newest {
		if stage, err = s.stageAt(s.journal.Durable()); stage != nil || err != nil {
			return stage, nil, err
		}
	}
	state, err := s.fold(s.journal.Durable().Number, machines.Agenda)
	if err != nil {
		return nil, nil, err
	}
	return state.StageState, state.Agents, nil
}

// stageAt is the stage at the end of a wave, made of the newest note before; nil = there is none.
func (s *Scene) stageAt(wave persistence.Wave) (*machines.StageState, error) {
	note, after, err := s.noted(wave.Last, func(n *machines.Note) bool { return len(n.Scene) > 0 })
	if err != nil || note == nil {
		return nil, err
	}
	made, err := s.made()
	if err != nil {
		return nil, err
	}
	return history.FoldStage(made, s.journal, note, after, wave, s.reading())
}

// noted finds the newest note up to a fact that has something, and the last fact of its wave;
// nil = there is none. A note that cannot be read is passed over.
func (s *Scene) noted(at uint64, has func(*machines.Note) bool) (*machines.Note, uint64, error) {
	for at > 0 {
		last, raw, err := s.journal.NoteAt(at)
		if err != nil || last == 0 {
			return nil, 0, err
		}
		if n, bad := machines.ReadNote(s.codec, raw); bad == nil && has(&n) {
			return &n, last, nil
		}
		at = last - 1
	}
	return nil, 0, nil
}

// agentLines tells of every agent. A roster is missing in a run that began with a program
// that kept none.
func (s *Scene) agentLines(stage *machines.StageState, agents []*agent.Machine) (lines []AgentLine, err error) {
	worked := stage.Roster
	if worked == nil {
		if worked, err = s.roster(); err != nil {
			return nil, err
		}
	}
	use := map[string]*history.ModelUse{}
	if m := s.Manifest(); agents != nil && len(m.Endpoints)+m.Answers > 0 {
		if use, err = history.UseByAgent(s.journal); err != nil {
			return nil, err
		}
	}
	lines = make([]AgentLine, s.agents.Len())
	for in := range s.agents.All() {
		w, st := worked[in.Ordinal], stage.Agenda.Standing(uint32(in.Ordinal))
		a := AgentLine{
			Agent: in.ID, Profile: in.Profile.Definition.ID, State: st.State(), Next: moment(st.Next), Last: moment(w.Last),
			Turns: int64(w.Turns), Failures: int64(w.Failures), Calls: int64(w.Calls), Models: int64(w.Models), Heard: int64(w.Heard),
			ordinal: in.Ordinal, last: w.Last,
		}
		if agents != nil {
			waiting := agents[in.Ordinal].State.Waiting()
			a.Waiting = &waiting
		}
		if u := use[in.ID]; u != nil {
			a.use, a.Cost, a.Unpriced = *u, &u.Cost, u.Unpriced
		}
		lines[in.Ordinal] = a
	}
	return lines, nil
}

// roster counts the turns that the journal has.
func (s *Scene) roster() (roster.Roster, error) {
	list := make(roster.Roster, s.agents.Len())
	err := s.facts(persistence.Query{Kinds: []string{agentfact.FactTurnEnded, agenda.FactAgentFailed}}, func(r protocol.Record, fact protocol.Fact) error {
		list.Count(r, fact)
		return nil
	})
	return list, err
}

func (q *AgentQuery) order() (func(a, b AgentLine) int, error) {
	place := func(a, b AgentLine) int { return cmp.Compare(a.ordinal, b.ordinal) }
	by := map[string]func(a, b AgentLine) int{
		"":         place,
		"id":       func(a, b AgentLine) int { return strings.Compare(a.Agent, b.Agent) },
		"turns":    func(a, b AgentLine) int { return cmp.Compare(b.Turns, a.Turns) },
		"failures": func(a, b AgentLine) int { return cmp.Compare(b.Failures, a.Failures) },
		"calls":    func(a, b AgentLine) int { return cmp.Compare(b.Calls, a.Calls) },
		"cost":     func(a, b AgentLine) int { return cmp.Compare(b.use.Cost, a.use.Cost) },
		"last":     func(a, b AgentLine) int { return cmp.Compare(b.last, a.last) },
	}[q.Sort]
	if q.State != "" && !slices.Contains(agenda.States(), q.State) {
		return nil, protocol.Errorf(protocol.KindInvalid, "state %q: want %s", q.State, strings.Join(agenda.States(), ", "))
	}
	if by == nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "sort %q: want %s", q.Sort, strings.Join(AgentSorts(), ", "))
	}
	return func(a, b AgentLine) int { return cmp.Or(by(a, b), place(a, b)) }, nil
}

func (q *AgentQuery) wants(a *AgentLine) bool {
	return (q.Profile == "" || q.Profile == a.Profile) && (q.State == "" || q.State == a.State) &&
		strings.Contains(a.Agent, q.Name) && (!q.Failed || a.Failures > 0)
}

// knownProfile checks the name of a profile.
func (s *Scene) knownProfile(id string) error {
	if id == "" {
		return nil
	}
	seen := map[string]bool{}
	for in := range s.agents.All() {
		seen[in.Profile.Definition.ID] = true
	}
	if seen[id] {
		return nil
	}
	return unknown("profile", id, "the scene has", slices.Values(protocol.SortedKeys(seen)))
}
