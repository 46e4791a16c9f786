package agent

import (
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/protocol"
)

// Interrupts reports whether an event that the agent has just heard interrupts the
// deliberation in flight. It must be urgent enough for the profile, and more urgent
// than all that the deliberation perceived. No perceived event may have been
// interrupted too often already.
func (m *Machine) Interrupts(e *protocol.Envelope) bool {
	by, t := m.Def.Limits.Interrupt, m.turn
	return t != nil && !t.cancelled && by.On && e.Priority >= by.By && e.Priority > t.end.Urgency && !(acknowledged(e) && m.State.handled(e.ID))
}

// urgency is the priority of the most urgent of the events that a turn perceives. An
// event that was interrupted too often counts as critical, so nothing is more urgent.
func (m *Machine) urgency(events []*protocol.Envelope) protocol.Priority {
	if len(events) == 0 {
		return protocol.Low
	}
	if m.Def.Limits.Interrupt.On {
		for _, e := range events {
			if h := m.State.find(e); h != nil && h.Interrupted >= maxInterruptions {
				return protocol.Critical
			}
		}
	}
	return events[0].Priority
}

// undo drops the effects of a turn that was interrupted or exceeded its budget. It
// keeps the answers of the outside, because they cost time or money.
func (t *Turn) undo() {
	t.out.Facts = slices.DeleteFunc(t.out.Facts, func(f protocol.Fact) bool {
		switch f.(type) {
		case agentfact.Recorded, *agentfact.CallsCharged, *agentfact.CallAsked, *agentfact.CallJudged:
			return false
		case *agentfact.StepsResumed: // those that waited are lost with a turn that exceeded its budget
			return t.interrupted
		}
		return true
	})
	t.out.Requests, t.books.Began = t.out.Requests[:0], nil
	t.steps.Drop()
	t.goals.Reset(t.m.State.Goals, t.m.State.met())
	t.idle, t.stirred, t.dozes = false, 0, t.m.State.pace().Asleep()
	t.end.Calls, t.end.Reflections, t.out.Changed = 0, 0, false
	t.end.Asleep, t.end.SleepUntil, t.end.WakeAbove = false, 0, protocol.Low
	if t.interrupted {
		t.end.Outcome = agentfact.OutcomeInterrupted
		t.end.Seen = 0 // the next turn observes them again
	}
}

// handOver adds the facts about deliveries, and the time at which the agent must be
// woken for those that wait.
func (t *Turn) handOver() {
	s := &t.m.State
	if !t.interrupted { // else the next turn adds it
		t.end.Dropped = s.dropped
	}
	if f := s.droppedFact(&t.end, t.wake.Now); len(f.Events) > 0 {
		t.out.Note(new(f))
	}
	t.closeTasks()
	gone := t.deadLetters()
	t.wakeFor(gone)
}

// droppedFact lists the deliveries that the agent will not perceive: those that found no
// room, which an interrupted turn leaves to the next, and those that expired.
func (s *State) droppedFact(end *agentfact.TurnEnded, now protocol.Time) agentfact.Dropped {
	f := agentfact.Dropped{Agent: end.Agent}
	if d := s.more; d != nil && end.Outcome != agentfact.OutcomeInterrupted {
		f.InboxFull, f.QueueFull, f.Events = s.dropped, d.refused, slices.Clip(d.drops)
	}
	for i := range s.inbox {
		h := &s.inbox[i]
		if !h.expired(now) || h.Held || h.Number > end.Through || acknowledged(h.Event) {
			continue
		}
		if f.Expired++; f.Expired <= maxDrops {
			f.Events = append(f.Events, agentfact.Drop{Event: h.Event.ID, Source: h.Event.Source, Reason: agentfact.DropTTL})
		}
	}
	return f
}

// deadLetters gives up acknowledged events that expired or failed too often.
func (t *Turn) deadLetters() (gone map[uint64]bool) {
	s := &t.m.State
	for i := range s.inbox {
		h := s.inbox[i]
		if !acknowledged(h.Event) || h.Number > t.end.Through || h.Held {
			continue
		}
		reason := h.deadReason(&t.end, t.wake.Now, &t.m.Def.Limits)
		if reason == "" {
			continue
		}
		if gone == nil {
			gone = map[uint64]bool{}
		}
		gone[h.Number] = true
		t.out.Note(&agentfact.Unacknowledged{Agent: t.m.ID.Ordinal, Number: h.Number, Event: h.Event.ID, Type: h.Event.Type, Source: h.Event.Source,
			Reason: reason, Redelivered: h.redelivered(), TraceID: h.Event.TraceID, Chain: h.Event.Chain})
	}
	return gone
}

// deadReason says why an acknowledged event is given up; "" = it is not.
func (h *Heard) deadReason(end *agentfact.TurnEnded, now protocol.Time, limits *profile.Limits) agentfact.DropReason {
	failed := end.Outcome == agentfact.OutcomeFailed || end.Outcome == agentfact.OutcomeCancelled
	seen := h.perceivable(now, limits)
	switch {
	case h.expired(now):
		return agentfact.DropTTL
	case h.exhausted(limits), seen && failed && int(h.Failures) >= limits.MaxRedeliveries:
		return agentfact.DropRedeliveries
	}
	return ""
}

// wakeFor finds when the agent must be woken for events that wait in the inbox and
// for the deadlines of its tasks. Events that do not wake a sleeping agent do not
// count while the agent sleeps.
func (t *Turn) wakeFor(gone map[uint64]bool) {
	s := &t.m.State
	wake := func(at protocol.Time) {
		if at != 0 && (t.end.WakeAt == 0 || at < t.end.WakeAt) {
			t.end.WakeAt = at
		}
	}
	asleep := t.end.Asleep || t.end.SleepUntil != 0
	for _, h := range s.inbox {
		seen := h.perceivable(t.wake.Now, &t.m.Def.Limits)
		if h.Number > t.end.Through || gone[h.Number] || asleep && h.Event.Priority < t.end.WakeAbove || !h.stays(seen, &t.end, t.wake.Now, t.m.Def) {
			continue
		}
		wake(max(h.After, t.wake.Now))
	}
	s.wakeForTasks(t.out.Facts, wake)
	t.noteHeld(wake)
	if t.m.Def.Motive != nil {
		wake(t.goals.Due(goalEnv{t}))
	}
	t.wakeToLook(wake)
}

// wakeForTasks finds the deadlines of the tasks that are open after a turn with these facts.
func (s *State) wakeForTasks(facts []protocol.Fact, wake func(protocol.Time)) {
	open := s.Tasks()
	for _, f := range facts {
		switch x := f.(type) {
		case *agentfact.TaskOpened:
			open = append(open, x.Task)
		case *agentfact.TaskClosed:
			for i := range open {
				if open[i].ID == x.Task {
					open[i].Deadline = 0
				}
			}
		}
	}
	for _, task := range open {
		wake(task.Deadline)
	}
}
