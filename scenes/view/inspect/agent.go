package inspect

import (
	"cmp"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/goal"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/memories"
)

// lastTurns is how many deliberations the view "agent" lists.
const lastTurns = 8

// AgentView is the view "agent": one agent as it was at the end of a wave.
type AgentView struct {
	Agent         string            `json:"agent"`
	Profile       string            `json:"profile"`
	Name          string            `json:"name"`
	Ordinal       uint32            `json:"ordinal"`
	Wave          uint64            `json:"wave"` // the state is that of its end
	Time          string            `json:"time"`
	State         string            `json:"state"`
	Next          string            `json:"next,omitempty"`
	WakeAbove     string            `json:"wake_above,omitempty"` // asleep: lowest priority that wakes
	BusyUntil     string            `json:"busy_until,omitempty"`
	WaitsFor      []string          `json:"waits_for,omitempty"` // blocked: receivers that must have a turn first
	Failures      int               `json:"failures_in_a_row"`
	Turns         uint64            `json:"turns"`
	Private       any               `json:"private_state"`
	Goals         []factjson.Object `json:"goals"`
	Drives        []Driven          `json:"drives,omitempty"`
	Inbox         []Inboxed         `json:"inbox"`
	Observations  []factjson.Object `json:"observations"` // that the next deliberation is shown
	History       []Spoken          `json:"history"`
	Memory        *memories.View    `json:"memory,omitempty"`
	Subscriptions []Subscribed      `json:"subscriptions"`
	Last          []TurnSummary     `json:"deliberations"` // the last ones, newest first
}

// Driven is a drive, and how strong it is at the moment of the view.
type Driven struct {
	ID     string   `json:"id"`
	Level  float64  `json:"level"` // 0 to 1
	Serves []string `json:"serves"`
}

// Inboxed is an event that was not perceived yet.
type Inboxed struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Source   string `json:"source"`
	Priority string `json:"priority"`
	Time     string `json:"time"`
	Payload  any    `json:"payload"`
}

// Spoken is an entry of the interaction history.
type Spoken struct {
	Time string `json:"time"`
	Who  string `json:"who"`
	Type string `json:"type,omitempty"` // of the event; none: own speech
	Text string `json:"text"`
}

// Subscribed is a subscription.
type Subscribed struct {
	Type   string `json:"type"`
	Filter string `json:"filter_condition,omitempty"`
	Path   string `json:"path,omitempty"`
}

// TurnSummary is a deliberation in one line.
type TurnSummary struct {
	Turn    uint64 `json:"turn"`
	Seq     uint64 `json:"seq"` // of its last fact
	Time    string `json:"time"`
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	Events  int64  `json:"events_perceived"`
	Calls   int64  `json:"calls"`
	Models  int64  `json:"model_calls"`
	Changed bool   `json:"changed"`
}

// Agent folds the run to the wave that at means and shows one agent there.
func (s *Scene) Agent(id, at string) (*AgentView, error) {
	if err := s.agent(id); err != nil {
		return nil, err
	}
	wave, err := s.Cut(at)
	if err != nil {
		return nil, err
	}
	state, o, err := s.withAgent(wave, id)
	if err != nil {
		return nil, err
	}
	seen := &glance.Seen{Wave: wave.Number, Now: state.Agenda.Now, Standing: state.Agenda.Standing(o), Subscriptions: state.Subscriptions(o)}
	for _, r := range seen.Standing.WaitsFor {
		seen.WaitsFor = append(seen.WaitsFor, state.Name(r))
	}
	v := agentView(state.Agents[o], seen)
	v.Last, err = s.lastTurns(id, wave)
	return v, err
}

// Shown shows one agent as the run that is under way shows it. Of its deliberations it reads the newest
// facts alone.
func (s *Scene) Shown(id string, seen *glance.Seen) (*AgentView, error) {
	if err := s.agent(id); err != nil {
		return nil, err
	}
	made, err := s.made()
	if err != nil {
		return nil, err
	}
	o, _ := made.Ordinal(id)
	m := made.Machine(o)
	if m.State, err = agent.Restore(s.codec, seen.Raw); err != nil {
		return nil, err
	}
	v, last := agentView(m, seen), s.journal.Durable().Last
	v.Last, err = s.turns(id, max(last, Newest)-Newest+1, last)
	slices.Reverse(v.Last)
	return v, err
}

// withAgent is the state of the scene at the end of a wave; of the agents, only that of one is
// sure to be true.
func (s *Scene) withAgent(wave persistence.Wave, id string) (*machines.State, uint32, error) {
	made, err := s.made()
	if err != nil {
		return nil, 0, err
	}
	o, _ := made.Ordinal(id)
	stage, err := s.stageAt(wave)
	if err != nil {
		return nil, 0, err
	}
	if stage == nil {
		state, err := s.fold(wave.Number, id)
		return state, o, err
	}
	state, err := history.AgentOf(made, s.journal, o, stage, s.reading())
	return state, o, err
}

func agentView(m *agent.Machine, st *glance.Seen) *AgentView {
	v := &AgentView{
		Agent: m.ID.Instance, Profile: m.Def.Profile, Name: m.Def.Name, Ordinal: m.ID.Ordinal, Wave: st.Wave, Time: st.Now.String(), WaitsFor: st.WaitsFor,
		State: st.State(), Next: moment(st.Next), BusyUntil: moment(st.BusyUntil), Failures: st.Failures, Turns: m.State.Turn, Private: factjson.JSON(Private(m)), Goals: goals(m, st.Now), Drives: drives(m, st.Now), Inbox: inboxed(m.State.Inbox()), Observations: observations(m.Observations()), History: spoken(m), Memory: memories.Of(m), Subscriptions: []Subscribed{},
	}
	if st.Asleep {
		v.WakeAbove = st.WakeAbove.String()
	}
	for _, sub := range st.Subscriptions {
		v.Subscriptions = append(v.Subscriptions, Subscribed{sub.Type, sub.FilterCondition, sub.Path})
	}
	return v
}

// Private is the private state as a value: an empty object when there is none.
func Private(m *agent.Machine) map[string]any {
	if m.State.Private == nil {
		return map[string]any{}
	}
	return m.State.Private
}

func inboxed(heard []agent.Heard) []Inboxed {
	list := []Inboxed{}
	for _, h := range heard {
		e := h.Event
		list = append(list, Inboxed{ID: e.ID, Type: e.Type, Source: e.Source, Priority: e.Priority.String(), Time: e.Time.String(), Payload: factjson.Value(e.Body.Raw)})
	}
	return list
}

func observations(seen []agent.Observation) []factjson.Object {
	list := []factjson.Object{}
	for _, o := range seen {
		list = append(list, factjson.Object{{Name: "time", Value: o.Time.String()}, {Name: "kind", Value: o.Kind}, {Name: "value", Value: factjson.JSON(o.Value)}})
	}
	return list
}

func goals(m *agent.Machine, now protocol.Time) []factjson.Object {
	list := []factjson.Object{}
	for _, g := range m.Goals(now) {
		list = append(list, factjson.RankedGoal(g, m.Def.Told))
	}
	return list
}

func drives(m *agent.Machine, now protocol.Time) (list []Driven) {
	if m.Def.Motive == nil {
		return nil
	}
	levels := m.Drives(now)
	for i := range m.Def.Motive.Drives {
		d := &m.Def.Motive.Drives[i]
		list = append(list, Driven{d.ID, float64(levels[d.ID]) / goal.One, append([]string{}, d.Serves...)})
	}
	return list
}

func spoken(m *agent.Machine) []Spoken {
	list := []Spoken{}
	for _, u := range m.State.History() {
		list = append(list, Spoken{Time: u.Time.String(), Who: cmp.Or(u.Who, m.ID.Instance), Type: u.Type, Text: secret.Text(u.Text)})
	}
	return list
}

// moment is a time, or "" when there is none.
func moment(t protocol.Time) string {
	if t == 0 {
		return ""
	}
	return t.String()
}

// lastTurns lists the last deliberations of an agent up to a wave, newest first. It reads
// backwards, twice as far each time, until it has found enough.
func (s *Scene) lastTurns(id string, through persistence.Wave) ([]TurnSummary, error) {
	list := []TurnSummary{}
	for to, span := through.Last, uint64(Newest); to > 0 && len(list) < lastTurns; span *= 2 {
		from := max(to, span) - span + 1
		part, err := s.turns(id, from, to)
		if err != nil {
			return nil, err
		}
		slices.Reverse(part)
		list, to = append(list, part...), from-1
	}
	return list[:min(len(list), lastTurns)], nil
}

// turns lists the last deliberations of an agent among some facts.
func (s *Scene) turns(id string, from, to uint64) ([]TurnSummary, error) {
	last := ring[TurnSummary]{n: lastTurns}
	o, _ := s.agents.Find(id)
	// The failure of an actor is a fact of the scene, so both are read.
	err := s.Scan(persistence.Query{From: from, To: to, Kinds: []string{agentfact.FactTurnEnded, agenda.FactAgentFailed}}, func(r protocol.Record) error {
		if r.Actor != id && r.Kind == agentfact.FactTurnEnded {
			return nil
		}
		fact, err := s.Fact(r)
		switch x := fact.(type) {
		case *agentfact.TurnEnded:
			last.add(TurnSummary{Turn: x.Turn, Seq: r.Seq, Time: r.Time.String(), Outcome: string(x.Outcome), Error: secret.Text(x.Error), Events: x.Perceived, Calls: x.Calls, Models: x.ModelCalls, Changed: x.Changed})
		case *agenda.AgentFailed:
			if int(x.Agent) == o {
				last.add(TurnSummary{Seq: r.Seq, Time: r.Time.String(), Outcome: "actor failed", Error: secret.Text(x.Error)})
			}
		}
		return err
	})
	return last.all(), err
}
