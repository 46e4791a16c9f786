package agent

import (
	"slices"
	"strconv"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/goal"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Identity names an agent in its scene.
type Identity struct {
	Instance string
	Ordinal  uint32
}

// Machine is one agent: what it keeps, and the deliberation in flight.
//
// A deliberation in flight is volatile: it leaves facts when it ends, and a
// crash before that leaves none, so it starts again from the same inbox. That
// is sound because the log of effects (scenes/outside) keeps what it asks of the
// outside, with the answers, unless asking again always gives the same. Every other
// request waits for the scene.
type Machine struct {
	Def   *Definition
	ID    Identity
	State State

	turn  *Turn
	space *Space // of the turn in flight, and until Release after it

	known   map[string]any // what workflows know of the agent
	knownBy *Definition    // its definition of then
}

// Space is the working memory of one deliberation. The owner of many agents lends it.
type Space struct {
	turn Turn
	free []*activeRun

	paths   world.Paths    // of calls
	outputs map[string]any // of the workflow that ended last
	nothing any            // an empty list
}

// NewSpace makes an empty one.
func NewSpace() *Space { return &Space{outputs: map[string]any{}, nothing: []any{}} }

// Lend gives the machine the working memory for its next deliberation. Without it the
// machine makes its own. It does nothing while a deliberation is in flight.
func (m *Machine) Lend(s *Space) {
	if m.turn == nil {
		m.space = s
	}
}

// Release gives the working memory of an ended deliberation back. What Decide
// returned is void from then on: encode it first. It does nothing while a
// deliberation is in flight; nil = there is none to give back.
func (m *Machine) Release() *Space {
	s := m.space
	if s == nil || m.turn != nil {
		return nil
	}
	m.space = nil
	s.turn.clear()
	clear(s.outputs) // the space may lie idle for long
	return s
}

// Inputs of the machine, besides events and observations.
type (
	// Wake begins a deliberation.
	Wake struct {
		Now  protocol.Time
		Wave uint64
		View View // of the services; nil = they show nothing
		Draw protocol.Draw

		// Workflow replaces the core workflow for this once: the scene's
		// lifecycle runs so. Inputs are added to the usual ones.
		Workflow string
		Inputs   map[string]any

		// Lost are failures of requests of this very turn that a kill cut off
		// (protocol.ModelBudget.Cut).
		Lost []*effect.Answered
		// Left gives such failures of requests to models whose answers this turn does not take: of
		// those that it has dropped, by their numbers, and of those that it has not made, but had before it failed. tools is
		// what such calls of tools took; their numbers have budget.ToolNumbers.
		// It is asked when the turn ends, or is cancelled. waits = answers are to come yet, and it is asked again at the
		// next one. nil = there are none.
		Left func(dropped []int) (list []*effect.Answered, tools block.Spent, waits bool)

		// Before says what had arrived when the deliberation began, of a history that
		// is decided again; nil = everything that is there.
		Before *Arrived
		// Recorded: answers come in the order of a history that is decided again, and count in it.
		Recorded bool

		Trace lore.Trace // of what knowledge is active; nil = nobody looks
	}
	// View is what each service, by name, shows between two waves: the world a
	// worldstate.State, the knowledge bases a knowledge.State. It is immutable.
	View interface{ Shown(service string) any }
	// Arrived says how much had reached the agent: on the realtime clock more comes
	// while a deliberation is in flight.
	Arrived struct {
		Through uint64 // number of the last event
		Seen    int64  // observations
	}
	// Cancel stops the deliberation in flight between two of its nodes.
	Cancel struct {
		Reason string
		// Interrupt says that a more urgent event is the reason: the turn leaves
		// nothing of its effects, and what it perceived is kept as the profile says.
		Interrupt bool

		// Tools is what the turn has spent on tools at least. Older programs counted calls under a budget there that were out.
		Tools block.Spent
	}
	// Sent says that the effects of the last decision have left. A turn on the virtual clock whose wake has Left takes
	// no further answer before.
	Sent struct{}
)

// Decide takes one input. Without facts in the decision the deliberation goes
// on: it waits for the effects' results.
func (m *Machine) Decide(in any) (protocol.Decision, error) {
	switch x := in.(type) {
	case *Wake:
		if m.turn != nil {
			return protocol.Decision{}, protocol.Errorf(protocol.KindConflict, "agent %s: woken while it deliberates", m.ID.Instance)
		}
		switch {
		case m.space == nil:
			m.space = NewSpace()
		case m.space.turn.m != nil: // nobody has released it: it has the facts of the last turn
			m.space.turn.clear()
		}
		m.turn = begin(m, x, m.space)
		return m.advance(), nil
	case *effect.Answered:
		if m.turn == nil || !m.turn.answer(x) && m.turn.wake.Left == nil {
			return protocol.Decision{}, nil // late or double: it changes nothing, unless the turn waits for what it dropped, or for Sent
		}
		return m.advance(), nil
	case Sent:
		if m.turn == nil {
			return protocol.Decision{}, nil
		}
		return m.advance(), nil
	case *Cancel:
		if m.turn == nil {
			return protocol.Decision{}, nil
		}
		m.turn.noteLeft()
		end := &m.turn.end
		end.ToolCalls, end.ToolCost = max(end.ToolCalls, x.Tools.Calls), max(end.ToolCost, x.Tools.Cost)
		m.turn.interrupted = x.Interrupt
		m.turn.cancel(x.Reason)
		return m.advance(), nil
	}
	return protocol.Decision{}, protocol.Errorf(protocol.KindInternal, "agent %s: input %T", m.ID.Instance, in)
}

// Dropped are the numbers of requests for whose answers the turn in flight does not wait any more: see [Wake.Left].
func (m *Machine) Dropped() []int {
	if m.turn == nil {
		return nil
	}
	return m.turn.dropped
}

func (m *Machine) advance() protocol.Decision {
	t := m.turn
	done := t.advance()
	d := protocol.Decision{Effects: t.asked}
	t.asked = t.asked[:0]
	if done {
		m.turn = nil
		d.Facts, d.Requests = t.out.Facts, t.out.Requests
	}
	return d
}

// Apply folds a fact of this agent, or of the commands on its own state. Others
// that the scene's own agent decides concern no agent.
func (m *Machine) Apply(f protocol.Fact, at protocol.Time) error {
	if c, ok := f.(*statecmd.Committed); ok {
		next, err := m.Def.private.Apply(m.State.own, c)
		if err == nil {
			m.State.own = next
		}
		return err
	}
	own, _ := f.(agentfact.Fact)
	if m.Def.Memory != nil && own != nil {
		m.State.change().mind = m.State.Mind().Note(own)
	}
	switch x := own.(type) {
	case *agentfact.StateUpdated:
		return m.applyState(x)
	case *agentfact.GoalsUpdated:
		m.State.Goals = goal.Put(m.State.Goals, x.Goal, x.Removed)
	case *agentfact.GoalChanged:
		return m.applyGoal(x, at)
	case *agentfact.DriveMet:
		m.State.meet(x, at)
	case *agentfact.Said:
		m.remember(Utterance{Time: at, Text: x.Text})
	case *agentfact.CallMade:
		if x.Observe { // endTurn keeps the limit
			m.State.observations = append(m.State.observations, Observation{Time: at, Kind: "call_result", Value: x.Observed()})
		}
	case *agentfact.OutcomeUnknown:
		m.State.observations = append(m.State.observations, Observation{Time: at, Kind: "unknown_outcome", Value: x.Observed()})
	case *agentfact.HookAnswered:
		if x.Veto != "" && x.Place == hook.BeforeDeliberate {
			m.State.observations = append(m.State.observations, Observation{Time: at, Kind: "deliberation_forbidden", Value: map[string]any{"reason": x.Veto}})
		}
	case *agentfact.RequestAnswered:
		m.State.answerRequest(x, at)
	case *agentfact.StepsHeld:
		m.State.holdSteps(x)
	case *agentfact.StepsResumed:
		m.State.resumeSteps(x)
	case *agentfact.EntriesActivated:
		m.State.keep(m.State.kept().With(x.Entries...))
	case *agentfact.TurnEnded:
		m.applyTurn(x, at)
	case *agentfact.Dropped:
		m.State.told(x)
	case *agentfact.Unacknowledged:
		m.State.inbox = slices.DeleteFunc(slices.Clone(m.State.inbox), func(h Heard) bool { return h.Event.ID == x.Event })
	case *agentfact.TaskOpened:
		m.State.openTask(x)
	case *agentfact.TaskClosed:
		m.State.closeTask(x)
	case *agentfact.Rests:
		return m.applyRests(x, at)
	case *agentfact.Summarised:
		if m.Def.Memory != nil {
			m.State.change().mind = m.State.Mind().Summarised(m.Def.Memory, x, at)
		}
	case *agentfact.ModelAnswered:
		m.State.keepPace(m.State.pace().Paid(m.Def.Pace, x, at))
	case *agentfact.CallAnswered, *agentfact.CallAsked, *agentfact.CallJudged, *agentfact.CallsCharged, *agentfact.Reflected: // they change nothing
	}
	return nil
}

// told forgets the drops that a fact tells of. What expired goes with the turn.
func (s *State) told(x *agentfact.Dropped) {
	if x.InboxFull+x.QueueFull > 0 {
		d := s.change()
		d.drops, d.dropped, d.refused = nil, 0, 0
		s.slim()
	}
}

func (m *Machine) applyState(f *agentfact.StateUpdated) error {
	if next, ok := f.Next(); ok {
		m.State.own = next
		return nil
	}
	path, err := private.ParsePath(f.Path, nil)
	if err == nil {
		m.State.own, err = m.Def.private.Change(m.State.own, f.Path, path, f.Op, f.Value)
	}
	return err
}

func (m *Machine) applyTurn(f *agentfact.TurnEnded, at protocol.Time) {
	if f.Outcome == agentfact.OutcomeAsked {
		m.State.Turn = f.Turn
		return
	}
	for i := range m.State.inbox {
		h := &m.State.inbox[i]
		if h.Number > f.Through || f.Outcome == agentfact.OutcomeIdle {
			break
		}
		if !h.Held && f.Outcome != agentfact.OutcomeInterrupted {
			m.State.owe(h.Event)
		}
		if h.Event.Ephemeral || h.Failures > 0 || h.Held { // it leaves no trace, or has left one
			continue
		}
		if text, ok := lore.Speech(h.Event); ok {
			if m.Def.Memory != nil {
				m.State.change().mind = m.State.Mind().Heard(m.heard(h.Event, text))
			}
			if h.Interrupted == 0 {
				m.remember(Utterance{Time: h.Event.Time, Who: h.Event.Source, Type: h.Event.Type, Text: text})
			}
		}
	}
	if f.Outcome == agentfact.OutcomeFailed {
		m.State.observations = append(m.State.observations, Observation{Time: at, Kind: "failure", Value: map[string]any{"error": f.Error}})
	}
	m.State.endTurn(f, at, m.Def)
	m.State.keep(m.State.kept().After(f.Turn))
	if m.Def.Memory != nil {
		m.State.change().mind = m.State.Mind().End(m.Def.Memory, f, at, m.State.Private)
	}
	if m.Def.Motive != nil || m.State.Watches() {
		m.State.rests(f, at)
	}
	m.State.keepPace(m.State.pace().Ended())
}

// Hear folds the delivery of an event.
func (m *Machine) Hear(e *protocol.Envelope) { m.State.hear(e, &m.Def.Limits, false) }

// HearAgain is Hear for an event that is read from a journal: an ephemeral one
// has lost its payload and is not perceived.
func (m *Machine) HearAgain(e *protocol.Envelope) { m.State.hear(e, &m.Def.Limits, true) }

// Missed gives an event its number that a mailbox did not take: those that were routed
// behind it have higher ones, whatever came first.
func (m *Machine) Missed(e *protocol.Envelope) {
	m.State.heard++
	m.State.inbox = slices.Clone(m.State.inbox)
	for i := range m.State.inbox {
		if e.RoutedBefore(m.State.inbox[i].Event) {
			m.State.inbox[i].Number++
		}
	}
}

// Observe folds something another machine decided about this agent: the next
// deliberation is shown it. Beyond the limit the oldest observation goes.
func (m *Machine) Observe(o Observation) {
	m.State.observations = newest(m.State.observations, o, m.Def.keptObservations())
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
