package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/cast"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// An agent that goes to another scene leaves in the wave in which it is sent, after the
// turns of the wave and before the services decide. The wave waits for the state of its
// machine, which its actor gives. What the other scene does about it comes back as a letter,
// which is an order like any other.

// Leave implements order.Scene.
func (n now) Leave(o uint32, over *travel.Link, q *cast.Request) {
	w := n.stage.wave
	if slices.ContainsFunc(w.leaving, func(f *travel.Departed) bool { return f.Agent == o }) {
		return
	}
	f := &travel.Departed{To: over.To, Agent: o, ID: q.ID, By: q.By, Reason: q.Reason}
	f.Arrives, f.Answer = over.Times(w.time)
	w.leaving = append(w.leaving, f)
}

// MayGo implements order.Scene.
func (n now) MayGo(count int) error {
	s := n.stage
	switch open := len(s.Travel.Open) + len(s.wave.leaving); {
	case s.Agenda.Ended != "":
		return protocol.Errorf(protocol.KindConflict, "the scene ends, and nobody leaves it any more")
	case open+count > travel.MaxTrips:
		return protocol.Errorf(protocol.KindLimit, "%d agents of the scene are on their way, and %d more would be; at most %d are", open, count, travel.MaxTrips)
	}
	return nil
}

// pack asks the agents that leave for their states; false = the wave goes on. What they were told in
// this wave they observe before.
func (s *Stage) pack() (asked bool, err error) {
	w := s.wave
	if w.states != nil || len(w.leaving) == 0 {
		return w.states != nil, nil
	}
	for _, a := range s.arrived { // an actor that fails without a turn is restored in a later wave
		if a.failure != nil && slices.ContainsFunc(w.leaving, func(f *travel.Departed) bool { return f.Agent == a.agent }) {
			return false, s.errorf("%s failed in the wave in which it leaves: %s", s.scene.Name(a.agent), a.failure.Error)
		}
	}
	list := w.leaving
	w.leaving = nil
	for _, f := range list {
		switch at, failed := s.broken[f.Agent]; {
		case s.Agenda.Away(f.Agent): // it was removed in this wave
		case failed && at == w.number, s.Agenda.GaveUp(f.Agent):
			err = s.stays(f, protocol.KindConflict, "its actor has failed")
		default:
			w.leaving = append(w.leaving, f)
			w.told = slices.DeleteFunc(w.told, func(e Effect) bool {
				if e.Agent == f.Agent {
					s.effect(e)
				}
				return e.Agent == f.Agent
			})
			s.effect(Effect{Act: ActPack, Agent: f.Agent, Wave: w.number})
		}
		if err != nil {
			return false, err
		}
	}
	if len(w.leaving) == 0 {
		return false, nil
	}
	s.phase, w.states = phasePack, make([]*Packed, len(w.leaving))
	return true, nil
}

// awaitsState reports whether the wave waits for the state of an agent. If its actor fails then, the
// scene fails, and begins the wave again from the journal: which of the two happened first is no
// fact.
func (s *Stage) awaitsState(o uint32) bool {
	return s.phase == phasePack && slices.ContainsFunc(s.wave.leaving, func(f *travel.Departed) bool { return f.Agent == o })
}

// packed takes the state of an agent that leaves.
func (s *Stage) packed(in *Packed) error {
	w := s.wave
	if s.phase != phasePack || in.Wave != w.number {
		return nil
	}
	if i := slices.IndexFunc(w.leaving, func(f *travel.Departed) bool { return f.Agent == in.Agent }); i >= 0 {
		w.states[i] = in
	}
	if slices.Contains(w.states, nil) {
		return nil
	}
	list, states := w.leaving, w.states
	w.leaving, w.states = nil, nil
	for i, f := range list {
		if err := s.depart(f, states[i]); err != nil {
			return err
		}
	}
	return s.closeWave()
}

// Pack makes the answer of an agent to ActPack.
func Pack(codec *protocol.Codec, m *agent.Machine, wave uint64) (*Packed, error) {
	state, tasks := m.State.Pack()
	raw, err := agent.Snapshot(codec, &state)
	return &Packed{Agent: m.ID.Ordinal, Wave: wave, State: raw, Turns: state.Turn, Tasks: tasks}, err
}

func (s *Stage) depart(f *travel.Departed, p *Packed) error {
	if len(p.State) > travel.MaxState {
		return s.stays(f, protocol.KindLimit, "its state is larger than an agent can carry to another scene (256 KiB)")
	}
	f.Number, f.Closed = s.Travel.Next(f.To)
	f.State, f.Turns, f.Tasks, f.Unread = p.State, p.Turns, int64(p.Tasks), s.Agenda.Unread(f.Agent)
	if err := s.keepChange(f); err != nil || f.Unread == 0 {
		return err
	}
	return s.keepOwn(&agenda.DeadLettered{Reason: agenda.ReasonGone, Receiver: s.scene.Name(f.Agent), Kind: protocol.KindEvent.String(), Count: f.Unread})
}

// stays refuses a trip that was asked for.
func (s *Stage) stays(f *travel.Departed, kind protocol.ErrorKind, why string) error {
	id := s.scene.Name(f.Agent)
	do := protocol.Encode([]any{map[string]any{cast.Travel: map[string]any{"agents": id, "to": f.To}}})
	if err := s.keepOwn(&agenda.ChangeRefused{ID: f.ID, By: f.By, Do: do, Kind: kind, Error: id + " cannot leave: " + why}); err != nil {
		return err
	}
	s.tell(&s.wave.told, f.By, protocol.KindData{Kind: agenda.FactNotChanged, Data: s.effects[len(s.effects)-1].Data})
	return nil
}

// letter carries out what another scene says of a ticket. One that came before changes nothing.
func (s *Stage) letter(l *travel.Letter) error {
	trip := s.Travel.Trip(l.Scene, l.Number)
	if l.Kind == travel.Arrive && l.Agent == "" || l.Kind != travel.Arrive && trip == nil {
		return s.parcel(l)
	}
	switch _, had := s.Travel.Has(l.Scene, l.Number); {
	case l.Kind == travel.Arrive && had:
		return nil
	case l.Kind == travel.Arrive:
		o, err := s.admit(l)
		if err != nil {
			return s.keepChange(&travel.TurnedAway{From: l.Scene, Number: l.Number, Closed: l.Closed, Agent: l.Agent, Error: err.Error()})
		}
		f := &travel.Arrived{From: l.Scene, Number: l.Number, Closed: l.Closed, Agent: o, State: l.State}
		f.Turns, f.Elsewhere = s.numbered(o, l.Turns)
		return s.keepChange(f)
	case l.Kind == travel.Reach:
		return s.keepChange(&travel.Reached{To: l.Scene, Number: l.Number, Agent: trip.Agent})
	}
	f := &travel.Returned{To: l.Scene, Number: l.Number, Agent: trip.Agent, Error: l.Error, State: trip.State}
	f.Turns, f.Elsewhere = s.numbered(trip.Agent, trip.Turns)
	return s.keepChange(f)
}
