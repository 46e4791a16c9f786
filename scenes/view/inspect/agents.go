package inspect

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
)

// AgentQuery chooses and orders agents; empty fields choose all.
type AgentQuery struct {
	Profile string
	State   string // idle, asleep, blocked, given_up
	Name    string // part of the instance id
	Failed  bool   // only those with failures
	Sort    string // id, turns, failures, calls, cost, last; "" = the order of the scene
	Limit   int    // 0 = all
}

// States of an agent.
const (
	StateIdle    = "idle"     // deliberates when it is due
	StateAsleep  = "asleep"   // until a time, or an event wakes it
	StateBlocked = "blocked"  // until those who have its events have had a turn
	StateGivenUp = "given_up" // failed too often
)

// AgentSorts lists the orders of the view "agents".
func AgentSorts() []string { return []string{"id", "turns", "failures", "calls", "cost", "last"} }

// AgentStates lists what an agent can be.
func AgentStates() []string { return []string{StateIdle, StateAsleep, StateBlocked, StateGivenUp} }

// AgentLine is one agent of the view "agents".
type AgentLine struct {
	Agent    string `json:"agent"`
	Profile  string `json:"profile"`
	State    string `json:"state"`          // idle, asleep, blocked, given_up
	Next     string `json:"next,omitempty"` // when it is woken without an event
	Turns    int64  `json:"turns"`
	Failures int64  `json:"failures"` // turns without a decision
	Calls    int64  `json:"calls"`
	Models   int64  `json:"model_calls"`
	Cost     *int64 `json:"cost,omitempty"`     // nano-dollars of answers of endpoints; nil = there are none
	Unpriced int64  `json:"unpriced,omitempty"` // answers whose price was not known; Cost is without them
	Heard    int64  `json:"events_perceived"`
	Waiting  int    `json:"inbox"`                 // events that were not perceived yet
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
	Found  int // that the query chooses, listed or not
	Total  int // of the scene
}

// Agents folds the run and counts the turns of every agent.
func (s *Scene) Agents(q AgentQuery) (*AgentList, error) {
	compare, err := q.order()
	if err != nil {
		return nil, err
	}
	if err := s.knownProfile(q.Profile); err != nil {
		return nil, err
	}
	lines, err := s.agentCounts()
	if err != nil {
		return nil, err
	}
	state, err := s.fold(s.journal.Durable().Number, machines.Agenda)
	if err != nil {
		return nil, err
	}
	list := top[AgentLine]{n: q.Limit, compare: compare}
	for i := range lines {
		if line := s.agentLine(state, lines[i], i); q.wants(&line) {
			list.offer(line)
		}
	}
	return &AgentList{Agents: list.list, Found: list.seen, Total: len(lines)}, nil
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
	if q.State != "" && !slices.Contains(AgentStates(), q.State) {
		return nil, protocol.Errorf(protocol.KindInvalid, "state %q: want %s", q.State, strings.Join(AgentStates(), ", "))
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

// agentCounts counts turns, by ordinal.
func (s *Scene) agentCounts() ([]AgentLine, error) {
	lines := make([]AgentLine, s.agents.Len())
	for in := range s.agents.All() {
		lines[in.Ordinal] = AgentLine{Agent: in.ID, Profile: in.Profile.Definition.ID, ordinal: in.Ordinal}
	}
	err := s.facts(persistence.Query{Kinds: []string{agentfact.FactTurnEnded, agenda.FactAgentFailed}}, func(r protocol.Record, fact protocol.Fact) error {
		switch x := fact.(type) {
		case *agentfact.TurnEnded:
			if int(x.Agent) < len(lines) {
				lines[x.Agent].count(x, r.Time)
			}
		case *agenda.AgentFailed:
			if int(x.Agent) < len(lines) {
				lines[x.Agent].Failures++
				lines[x.Agent].last = r.Time
			}
		}
		return nil
	})
	if m := s.Manifest(); err == nil && len(m.Endpoints)+m.Answers > 0 {
		err = s.agentCosts(lines)
	}
	return lines, err
}

// agentCosts adds what the answers of endpoints cost.
func (s *Scene) agentCosts(lines []AgentLine) error {
	use, err := history.UseByAgent(s.journal)
	for i := range lines {
		if u := use[lines[i].Agent]; u != nil {
			lines[i].use, lines[i].Cost, lines[i].Unpriced = *u, &u.Cost, u.Unpriced
		}
	}
	return err
}

func (a *AgentLine) count(x *agentfact.TurnEnded, at protocol.Time) {
	a.Turns++
	if x.Outcome != agentfact.OutcomeOK {
		a.Failures++
	}
	a.Calls += x.Calls
	a.Models += x.ModelCalls
	a.Heard += x.Perceived
	a.last = at
}

func (s *Scene) agentLine(state *machines.State, a AgentLine, ordinal int) AgentLine {
	st := state.Agenda.Standing(uint32(ordinal))
	a.State = StateName(st)
	a.Next, a.Last = moment(st.Next), moment(a.last)
	a.Waiting = state.Agents[ordinal].State.Waiting()
	return a
}

// StateName is the word for where an agent stands on the agenda.
func StateName(st agenda.Standing) string {
	switch {
	case st.GivenUp:
		return StateGivenUp
	case len(st.WaitsFor) > 0:
		return StateBlocked
	case st.Asleep:
		return StateAsleep
	}
	return StateIdle
}
