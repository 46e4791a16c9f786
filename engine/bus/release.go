package bus

import (
	"fmt"
	"slices"

	"tavernsim/engine/bus/ordinals"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// NextDue is when the next held deliveries are to be released.
func (s *State) NextDue() (at protocol.Time, ok bool) {
	if len(s.holds.queue) == 0 {
		return 0, false
	}
	return s.holds.queue[0].due, true
}

// Holding counts the deliveries that are held.
func (s *State) Holding() int { return s.holds.deliveries }

// Holds reports whether something is held for an agent that is to be released by a moment.
func (s *State) Holds(o uint32, by protocol.Time) bool {
	if len(s.holds.queue) == 0 {
		return false
	}
	if s.holds.dues == nil {
		s.holds.look(s.subscribers.Len())
	}
	due := s.holds.dues[o]
	return due != 0 && due-1 <= by
}

// Release decides about the next held deliveries that are due; nil = none are. An
// event that has expired meanwhile has no receivers but a mark.
func (s *State) Release(now protocol.Time, room *throttle.Room) protocol.Fact {
	if at, ok := s.NextDue(); !ok || at > now {
		return nil
	}
	h := s.holds.queue[0]
	alive := slices.DeleteFunc(slices.Clone(h.events), func(e *Routed) bool { return e.Expires != 0 && e.Expires <= now })
	if len(alive) == 0 {
		return s.lost(h, now, ReasonTTL)
	}
	f := s.released(h, alive, now)
	r := routing{state: s}
	r.looping(f)
	if room.Admit(f.Priority == protocol.Critical, f.Receivers.Len()) != "" {
		return s.lost(h, now, ReasonFlood)
	}
	return f
}

// lost ends a hold whose events have no receivers left. Restore has checked that the
// receivers are of this scene.
func (s *State) lost(h *hold, now protocol.Time, why Reason) *Routed {
	f := *h.events[len(h.events)-1]
	f.Seq, f.Time, f.Released, f.Merged = s.Seq+1, now, h.number, h.count
	for o := range h.receivers.All() {
		f.Marks = append(f.Marks, Mark{Agent: s.subscribers.Name(o), Reason: why, Action: LoopDrop})
		if len(f.Marks) == maxLostMarks {
			break
		}
	}
	return &f
}

// maxLostMarks bounds the marks of one release; one per delivery that is lost.
const maxLostMarks = 1000

// released is the event for the receivers of a hold: the last event, or a merged one
// that lists all.
func (s *State) released(h *hold, alive []*Routed, now protocol.Time) *Routed {
	f := *alive[len(alive)-1]
	f.Seq, f.Time, f.Receivers, f.Released, f.Merged = s.Seq+1, now, h.receivers, h.number, h.count
	if h.key.sub.Debounce == DebounceMerge {
		f.ID = s.Names.Number('e', f.Seq)
		f.Body = merged(alive, h.count, s.cfg.MaxBodyBytes)
		f.Ephemeral = true
		for _, e := range alive {
			f.Priority = max(f.Priority, e.Priority)
			f.Ephemeral, f.RequiresAck = f.Ephemeral && e.Ephemeral, f.RequiresAck || e.RequiresAck
		}
	}
	return &f
}

// merged is the payload of a merged event: the number of events, and the newest of
// them, as many as fit into a payload.
func merged(events []*Routed, count uint32, limit int) protocol.Raw {
	from, size := len(events), 0
	for from > 0 {
		size += len(events[from-1].Body) + heldOverhead
		if from < len(events) && size > limit {
			break
		}
		from--
	}
	list := make([]any, 0, len(events)-from)
	for _, e := range events[from:] {
		var payload any
		if len(e.Body) > 0 {
			payload = e.Body
		}
		list = append(list, map[string]any{"id": e.ID, "type": e.Type, "payload": payload,
			"source_agent_instance_id": e.Source, "timestamp": e.Time.String()})
	}
	body := map[string]any{"merged": int64(count), "events": list}
	raw := protocol.Encode(body)
	if protocol.Check(raw) == nil {
		return raw
	}
	for i, e := range events[from:] { // a payload alone may be as deep as can be read
		v, _ := e.Body.Value()
		if err := protocol.CheckNested(v); err != nil {
			list[i].(map[string]any)["payload"] = err.Error()
		}
	}
	return protocol.Encode(body)
}

// hold decides which deliveries of a routed event are held: all if a throttle rule
// delays the event, else those of debounced subscriptions. If there is no room, a
// delayed event is refused, and a debounced one is heard at once.
func (r *routing) hold(f *Routed, until protocol.Time) refusal {
	if until != 0 {
		for _, w := range r.waits {
			f.Receivers = ordinals.Union([]Ranges{f.Receivers, w.receivers.Minus(r.dropped)})
		}
		if len(f.Receivers) == 0 {
			return refusal{}
		}
		h := Held{Until: until, Reason: ReasonThrottled, Receivers: f.Receivers}
		if !r.fits(&h, len(f.Body)) {
			return refusal{ReasonThrottled, fmt.Sprintf("it would have to wait, and %d deliveries wait already; the limits are %d deliveries (event_bus_config.max_held) and %d MiB",
				r.state.holds.deliveries, r.state.cfg.MaxHeld, MaxHeldBytes>>20)}
		}
		f.Receivers, f.Held = nil, append(f.Held, h)
		return refusal{}
	}
	var at Ranges // receivers that hear the event at once or wait for it already
	for _, w := range r.waits {
		h := Held{Subscription: w.group.sub, Reason: ReasonDebounced, Receivers: w.receivers.Minus(f.Receivers).Minus(at).Minus(r.dropped)}
		switch {
		case len(h.Receivers) == 0:
		case !r.fits(&h, len(f.Body)):
			f.Receivers = ordinals.Union([]Ranges{f.Receivers, h.Receivers})
		default:
			at = ordinals.Union([]Ranges{at, h.Receivers})
			f.Held = append(f.Held, h)
		}
	}
	return refusal{}
}
