package agent

import (
	"slices"

	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// State is what an agent keeps between deliberations. It changes in Apply,
// Hear and Observe only. Everything it points to is shared and read-only: a
// change makes a new map or slice.
type State struct {
	own
	Goals        []goal.Goal
	Turn         uint64 // deliberations begun and ended
	inbox        []Heard
	history      []Utterance
	observations []Observation
	bytes        int       // of the payloads in the inbox, at most; counted when they might be too many
	heard        uint64    // number of the last event in the inbox
	dropped      int64     // events that found the inbox full since the last turn
	more         *delivery // nil for most agents
}

// Fork is a copy that goes its own way: what one of the two learns does not reach the other.
func (s *State) Fork() State {
	c := *s
	c.inbox, c.history, c.observations = slices.Clip(c.inbox), slices.Clip(c.history), slices.Clip(c.observations)
	return c
}

// Pack is the state with which the agent goes to another scene, and how many open tasks, of it
// and for it, stay behind with the events that are for it here.
func (s *State) Pack() (p State, tasks int) {
	p = *s
	p.inbox, p.heard, p.dropped, p.more = nil, 0, 0, nil
	if d := s.more; d != nil {
		tasks = len(d.tasks) + len(d.owed) + len(d.held)
		p.more = &delivery{requests: d.requests, met: d.met, rest: d.rest, kept: d.kept, mind: d.mind, pace: d.pace}
		p.slim()
	}
	return p, tasks
}

// own is the private state.
type own = private.State

// Utterance is one entry of the interaction history.
type Utterance struct {
	Time protocol.Time
	Who  string // instance id; "" = the agent itself
	Type string // event type; "" = own speech
	Text string
}

// Observation is what became of something the agent did or asked for.
type Observation struct {
	Time  protocol.Time
	Kind  string // call_result, goal_changed, ceiling_reached, world_refused, knowledge_refused, event_refused, event_undelivered, task_timeout, failure, restart, inbox_overflow, unknown_outcome
	Value any    // a value
}

// own: the agent observed it of its own turn; others told the rest.
func (o *Observation) own() bool {
	return o.Kind == "call_result" || o.Kind == "unknown_outcome" || o.Kind == "failure" || o.Kind == observedGoal || o.Kind == pace.Reached
}

// maxHistoryBytes bounds the texts of the history, beside the newest.
const maxHistoryBytes = 16 << 20

// remember adds to the history, unless the agent's memory keeps it.
func (m *Machine) remember(u Utterance) {
	s, limit := &m.State, m.Def.Limits.MaxHistory
	if limit <= 0 || m.Def.Memory != nil && m.Def.Memory.History != nil {
		return
	}
	first, room := max(0, len(s.history)-limit+1), maxHistoryBytes-len(u.Text)
	for i := len(s.history) - 1; i >= first; i-- {
		if room -= len(s.history[i].Text); room < 0 {
			first = i + 1
		}
	}
	if first > 0 {
		s.history = slices.Clone(s.history[first:])
	}
	s.history = append(s.history, u)
}
