package agent

import (
	"slices"

	"tavernsim/engine/agent/memory"
)

// Readers of a state outside of the machine. The caller owns the lists; their
// elements point to shared memory that is read-only.

// Inbox lists the events that the agent has not perceived yet, in the order of
// arrival.
func (s *State) Inbox() []Heard { return slices.Clone(s.inbox) }

// History lists the interactions that the agent remembers, oldest first.
func (s *State) History() []Utterance { return slices.Clone(s.said()) }

// said is that list; the caller does not change it.
func (s *State) said() []Utterance {
	if talk := s.Mind().Spoken(); talk != nil {
		return mapped(talk, func(x memory.Spoken) Utterance { return Utterance{x.At, x.Who, x.Type, x.Text} })
	}
	return s.history
}

// Observations lists the observations for the next deliberation, oldest first.
func (m *Machine) Observations() []Observation {
	return slices.Clone(m.Shown(int64(len(m.State.observations))))
}

// Shown lists what a deliberation is shown that began when there were so many
// observations: the newest of them, up to max_observations.
func (m *Machine) Shown(seen int64) []Observation {
	list := m.State.observations[:min(int(seen), len(m.State.observations))]
	return list[max(0, len(list)-m.Def.Limits.MaxObservations):]
}
