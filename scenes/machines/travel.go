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

// leaving are the agents that go to other scenes in the open wave.
type leaving struct {
	list   []*travel.Departed
	states []*Packed // of them, when they were asked for; nil = it has not come
}

// of is the place of an agent; -1 = it does not leave.
func (l *leaving) of(o uint32) int {
	return slices.IndexFunc(l.list, func(f *travel.Departed) bool { return f.Agent == o })
}

// take takes the state of an agent, and reports whether all are there.
func (l *leaving) take(in *Packed) (all bool) {
	if i := l.of(in.Agent); i >= 0 {
		l.states[i] = in
	}
	return !slices.Contains(l.states, nil)
}

// Leave implements order.Scene.
func (n now) Leave(o uint32, over *travel.Link, q *cast.Request) {
	c := n.changes
	if c.leaving.of(o) >= 0 {
		return
	}
	f := &travel.Departed{To: over.To, Agent: o, ID: q.ID, By: q.By, Reason: q.Reason}
	f.Arrives, f.Answer = over.Times(c.time)
	c.leaving.list = append(c.leaving.list, f)
}

// MayGo implements order.Scene.
func (n now) MayGo(count int) error {
	switch open := len(n.changes.Travel.Open) + len(n.changes.leaving.list); {
	case n.Ended != "":
		return protocol.Errorf(protocol.KindConflict, "the scene ends, and nobody leaves it any more")
	case open+count > travel.MaxTrips:
		return protocol.Errorf(protocol.KindLimit, "%d agents of the scene are on their way, and %d more would be; at most %d are", open, count, travel.MaxTrips)
	}
	return nil
}

// pack asks the agents that leave for their states; false = the wave goes on. What they were told in
// this wave they observe before.
func (c *changes) pack() (asked bool, err error) {
	l := &c.leaving
	if l.states != nil || len(l.list) == 0 {
		return l.states != nil, nil
	}
	for _, a := range c.flight.arrived { // an actor that fails without a turn is restored in a later wave
		if a.failure != nil && l.of(a.agent) >= 0 {
			return false, c.errorf("%s failed in the wave in which it leaves: %s", c.scene.Name(a.agent), a.failure.Error)
		}
	}
	list := l.list
	l.list = nil
	for _, f := range list {
		switch at, failed := c.flight.broken[f.Agent]; {
		case c.Agenda.Away(f.Agent): // it was removed in this wave
		case failed && at == c.number, c.Agenda.GaveUp(f.Agent):
			err = c.stays(f, protocol.KindConflict, "its actor has failed")
		default:
			l.list = append(l.list, f)
			c.told = slices.DeleteFunc(c.told, func(e Effect) bool {
				if e.Agent == f.Agent {
					c.effect(e)
				}
				return e.Agent == f.Agent
			})
			c.effect(Effect{Act: ActPack, Agent: f.Agent, Wave: c.number})
		}
		if err != nil {
			return false, err
		}
	}
	if len(l.list) == 0 {
		return false, nil
	}
	c.phase, l.states = phasePack, make([]*Packed, len(l.list))
	return true, nil
}

// packed takes the state of an agent that leaves.
func (s *Stage) packed(in *Packed) error {
	if s.phase != phasePack || in.Wave != s.wave.number || !s.wave.changes.leaving.take(in) {
		return nil
	}
	c := &s.wave.changes
	l := c.leaving
	c.leaving = leaving{}
	for i, f := range l.list {
		if err := c.depart(f, l.states[i]); err != nil {
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

func (c *changes) depart(f *travel.Departed, p *Packed) error {
	if len(p.State) > travel.MaxState {
		return c.stays(f, protocol.KindLimit, "its state is larger than an agent can carry to another scene (256 KiB)")
	}
	f.Number, f.Closed = c.Travel.Next(f.To)
	f.State, f.Turns, f.Tasks, f.Unread = p.State, p.Turns, int64(p.Tasks), c.Agenda.Unread(f.Agent)
	if err := c.keepChange(f); err != nil || f.Unread == 0 {
		return err
	}
	return c.keepOwn(&agenda.DeadLettered{Reason: agenda.ReasonGone, Receiver: c.scene.Name(f.Agent), Kind: protocol.KindEvent.String(), Count: f.Unread})
}

// CannotLeave stands between an agent and the reason in the refusal of its trip.
const CannotLeave = " cannot leave: "

// stays refuses a trip that was asked for.
func (c *changes) stays(f *travel.Departed, kind protocol.ErrorKind, why string) error {
	id := c.scene.Name(f.Agent)
	do := protocol.Encode([]any{map[string]any{cast.Travel: map[string]any{"agents": id, "to": f.To}}})
	if err := c.keepOwn(&agenda.ChangeRefused{ID: f.ID, By: f.By, Do: do, Kind: kind, Error: id + CannotLeave + why}); err != nil {
		return err
	}
	c.tellLast(f.By, agenda.FactNotChanged)
	return nil
}

// letter carries out what another scene says of a ticket. One that came before changes nothing.
func (c *changes) letter(l *travel.Letter) error {
	trip := c.Travel.Trip(l.Scene, l.Number)
	if l.Kind == travel.Arrive && l.Agent == "" || l.Kind != travel.Arrive && trip == nil {
		return c.parcel(l)
	}
	switch _, had := c.Travel.Has(l.Scene, l.Number); {
	case l.Kind == travel.Arrive && had:
		return nil
	case l.Kind == travel.Arrive:
		o, err := c.admit(l)
		if err != nil {
			return c.keepChange(&travel.TurnedAway{From: l.Scene, Number: l.Number, Closed: l.Closed, Agent: l.Agent, Error: err.Error()})
		}
		f := &travel.Arrived{From: l.Scene, Number: l.Number, Closed: l.Closed, Agent: o, State: l.State}
		f.Turns, f.Elsewhere = c.numbered(o, l.Turns)
		return c.keepChange(f)
	case l.Kind == travel.Reach:
		return c.keepChange(&travel.Reached{To: l.Scene, Number: l.Number, Agent: trip.Agent})
	}
	f := &travel.Returned{To: l.Scene, Number: l.Number, Agent: trip.Agent, Error: l.Error, State: trip.State}
	f.Turns, f.Elsewhere = c.numbered(trip.Agent, trip.Turns)
	return c.keepChange(f)
}
