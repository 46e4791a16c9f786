package agent

import (
	"cmp"
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/repeat"
	"tavernsim/engine/bus"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

// Heard is an event in the inbox.
type Heard struct {
	Number uint64
	Event  *protocol.Envelope
	heardMarks
}

// heardMarks are what befell an event in the inbox; zero for nearly every one.
type heardMarks struct {
	After       protocol.Time // acknowledged: not perceived again before
	Failures    uint16        // acknowledged: deliberations that perceived it and did not handle it
	Interrupted uint8         // deliberations that perceived it and were interrupted
	Held        bool          // its deliberation was interrupted: it waits for one turn
	Lost        bool          // ephemeral, and read from a journal or snapshot: it has no payload
}

// delivery is what only agents keep whose events ask for more than to be heard.
// It is shared and read-only, as everything a State points to.
type delivery struct {
	handled []string         // ids of acknowledged events, oldest first
	drops   []agentfact.Drop // since the last turn
	dropped int64            // of them, beyond the list
	refused int64            // deliveries that a lane refused
	flight  []Heard          // virtual: what the deliberation perceived whose latency passes
	tasks   []agentfact.Task // asked for, not answered
	closed  []taskEnd        // the last ones, oldest first
	owed    []owed           // questions that were perceived, the last ones, oldest first

	requests []repeat.Answered // carried out, the last ones, oldest first
	held     []agentfact.Held  // steps that wait for tasks, oldest first

	met     []goal.Met // drives, of an agent with rules for its goals
	rest    rest       // of such an agent: since its last turn that was not idle
	unheard bool       // its last request to watch places was cancelled

	kept criteria.Kept // entries of knowledge bases that stay active, or rest
	mind *memory.Mind  // nil = nothing is remembered
	pace *pace.Kept    // nil = it rests as its times say
}

// Bounds of what is kept about deliveries.
const (
	maxHandled       = 256 // ids by which an acknowledged event is recognised
	maxDrops         = 16  // deliveries that a fact names; the rest are counted
	maxInterruptions = 3   // of one event: after that its deliberation is let finish
)

// redeliveryBackoff is how long an acknowledged event waits after its first
// failure; it doubles, up to 64 times.
const redeliveryBackoff = time.Second

func backoff(failures uint16) time.Duration {
	return redeliveryBackoff << min(max(failures, 1)-1, 6)
}

// acknowledged reports whether an event must be handled. An ephemeral one need
// not, whatever it asks for: its payload does not outlive the process.
func acknowledged(e *protocol.Envelope) bool { return e.RequiresAck && !e.Ephemeral }

// change gives a copy of what is kept about deliveries, to be changed.
func (s *State) change() *delivery {
	d := &delivery{}
	if s.more != nil {
		*d = *s.more
	}
	s.more = d
	return d
}

// slim forgets an empty delivery: most agents have none.
func (s *State) slim() {
	if d := s.more; d != nil && len(d.handled)+len(d.drops)+len(d.flight)+len(d.tasks)+len(d.closed)+len(d.owed)+len(d.requests)+len(d.held) == 0 && d.refused == 0 && d.dropped == 0 && len(d.met)+len(d.kept) == 0 && d.rest == (rest{}) && !d.unheard && d.mind == nil && d.pace == nil {
		s.more = nil
	}
}

// handled reports whether an acknowledged event was handled.
func (s *State) handled(id string) bool { return s.more != nil && slices.Contains(s.more.handled, id) }

// known reports whether an acknowledged event is here already.
func (s *State) known(id string) bool {
	same := func(h Heard) bool { return h.Event.ID == id }
	return s.handled(id) || slices.ContainsFunc(s.inbox, same) || s.more != nil && slices.ContainsFunc(s.more.flight, same)
}

// hear puts a delivered event into the inbox, or says in a fact of the next turn
// that it did not. Every delivery takes a number, so that a fold counts alike.
func (s *State) hear(e *protocol.Envelope, limits *profile.Limits, lost bool) {
	s.heard++
	if acknowledged(e) && s.known(e.ID) {
		return
	}
	if lane := limits.Lane(e.Priority); lane.Max > 0 && lane.Policy != profile.LaneBlock && s.inLane(e.Priority) >= lane.Max {
		mine := func(o Heard) bool { return o.Event.Priority == e.Priority && !acknowledged(o.Event) }
		if lane.Policy == profile.LaneRefuse || !s.makeRoom(mine) {
			s.drop(e, agentfact.DropQueueFull)
			return
		}
	}
	if len(s.inbox) >= limits.MaxInbox && !s.makeRoomFor(e, limits) || !s.fits(e, limits) {
		return
	}
	s.take(Heard{Number: s.heard, Event: e, heardMarks: heardMarks{Lost: lost && e.Ephemeral}})
}

// take puts an event into the inbox in the order in which the channel routed it,
// as a fold reads it. On the realtime clock urgent ones may come before others of
// the same moment.
func (s *State) take(h Heard) {
	s.bytes += payload(h.Event)
	i := len(s.inbox)
	for i > 0 && h.Event.RoutedBefore(s.inbox[i-1].Event) {
		i--
	}
	if i == len(s.inbox) {
		s.inbox = append(s.inbox, h)
		return
	}
	h.Number = s.inbox[i].Number
	s.inbox = slices.Insert(slices.Clone(s.inbox), i, h)
	for j := i + 1; j < len(s.inbox); j++ {
		s.inbox[j].Number++
	}
}

// dropLimit is larger for what was to be acknowledged: it must not go unnamed.
func dropLimit(e *protocol.Envelope) int {
	if acknowledged(e) {
		return maxHandled
	}
	return maxDrops
}

func (s *State) inLane(p protocol.Priority) int {
	n := 0
	for i := range s.inbox {
		if s.inbox[i].Event.Priority == p {
			n++
		}
	}
	return n
}

// makeRoomFor drops the oldest of the least urgent events, which may be the new
// one. An acknowledged event never goes for another, nor does one of a lane that
// blocks.
func (s *State) makeRoomFor(e *protocol.Envelope, limits *profile.Limits) bool {
	if s.makeRoom(yields(e, limits)) {
		return true
	}
	s.dropNew(e, limits)
	return false
}

// yields gives which events go for a new one.
func yields(e *protocol.Envelope, limits *profile.Limits) func(Heard) bool {
	return func(o Heard) bool {
		return !stands(limits, o.Event) && (stands(limits, e) || o.Event.Priority <= e.Priority)
	}
}

func (s *State) dropNew(e *protocol.Envelope, limits *profile.Limits) {
	reason := agentfact.DropInboxFull
	if stands(limits, e) {
		reason = agentfact.DropQueueFull
	}
	s.drop(e, reason)
}

// payload is how many bytes of an event count in the inbox: those that a snapshot holds.
func payload(e *protocol.Envelope) int {
	if e.Ephemeral {
		return 0
	}
	return len(e.Body.Raw)
}

// weigh counts the bytes of the inbox.
func (s *State) weigh() (n int) {
	for i := range s.inbox {
		n += payload(s.inbox[i].Event)
	}
	return n
}

// fits drops what makeRoomFor would until the payload of a new event has room; or only the new one, if
// the others that may go are not enough. What went before for the number of events is gone then, too.
func (s *State) fits(e *protocol.Envelope, limits *profile.Limits) bool {
	limit := limits.MaxInboxBytes - payload(e)
	if limits.MaxInboxBytes <= 0 || s.bytes <= limit {
		return true
	}
	may, left := yields(e, limits), 0
	s.bytes = s.weigh()
	for _, o := range s.inbox {
		if !may(o) {
			left += payload(o.Event)
		}
	}
	if left > limit {
		s.dropNew(e, limits)
		return false
	}
	s.shrink(limit, may)
	return true
}

// shrink drops the oldest of the least urgent events that may go until the inbox has so many bytes.
func (s *State) shrink(limit int, may func(Heard) bool) {
	for s.bytes > limit && s.makeRoom(func(o Heard) bool { return payload(o.Event) > 0 && may(o) }) {
	}
}

// stands reports whether an event never goes for another.
func stands(l *profile.Limits, e *protocol.Envelope) bool {
	return acknowledged(e) || l.Lane(e.Priority).Policy == profile.LaneBlock
}

// makeRoom drops the oldest of the least urgent events that may go.
func (s *State) makeRoom(may func(Heard) bool) bool {
	least := -1
	for i := range s.inbox {
		if may(s.inbox[i]) && (least < 0 || s.inbox[i].Event.Priority < s.inbox[least].Event.Priority) {
			least = i
		}
	}
	if least < 0 {
		return false
	}
	s.bytes -= payload(s.inbox[least].Event)
	s.drop(s.inbox[least].Event, agentfact.DropInboxFull)
	s.inbox = slices.Delete(slices.Clone(s.inbox), least, least+1)
	return true
}

// drop notes a delivery that reached the agent and not its inbox.
func (s *State) drop(e *protocol.Envelope, reason agentfact.DropReason) {
	d := s.change()
	if reason == agentfact.DropInboxFull {
		s.dropped++
	} else {
		d.refused++
	}
	if limit := dropLimit(e); len(d.drops) >= limit {
		d.dropped++
		return
	}
	d.drops = append(slices.Clip(d.drops), agentfact.Drop{Event: e.ID, Source: e.Source, Reason: reason})
}

// perceive lists the inbox up to a number, most urgent first, then in the order of
// arrival.
func (s *State) perceive(now protocol.Time, through uint64, limits *profile.Limits) (events []*protocol.Envelope) {
	for i := range s.inbox {
		if s.inbox[i].Number <= through && s.inbox[i].perceivable(now, limits) {
			events = append(events, s.inbox[i].Event)
		}
	}
	slices.SortStableFunc(events, func(a, b *protocol.Envelope) int { return cmp.Compare(b.Priority, a.Priority) })
	return events
}

func (h *Heard) perceivable(now protocol.Time, limits *profile.Limits) bool {
	return !h.Lost && !h.Held && h.After <= now && !h.expired(now) && !h.exhausted(limits)
}

func (h *Heard) expired(now protocol.Time) bool {
	return h.Event.Expires != 0 && h.Event.Expires <= now
}

func (h *Heard) exhausted(limits *profile.Limits) bool {
	return int(h.Failures) > limits.MaxRedeliveries
}

// redelivered is how often a deliberation has perceived it before.
func (h *Heard) redelivered() int64 { return int64(h.Failures) + int64(h.Interrupted) }

// find is the entry of an event in the inbox; nil = it is not there. A full inbox may lose
// an event while the turn that perceived it runs.
func (s *State) find(e *protocol.Envelope) *Heard {
	for i := range s.inbox {
		if s.inbox[i].Event == e {
			return &s.inbox[i]
		}
	}
	return nil
}

// Overflowed reports whether something found no room since the last turn: then what
// is left may be something else in a fold than in a live agent of the realtime clock.
func (m *Machine) Overflowed() bool {
	s := &m.State
	return s.dropped > 0 || s.more != nil && len(s.more.drops) > 0 || len(s.observations) >= m.Def.keptObservations()
}

// Heard is the number of events that have reached the agent.
func (s *State) Heard() uint64 { return s.heard }

// LastHeard is the number of the last event of a priority in the inbox; 0 = there
// is none.
func (s *State) LastHeard(p protocol.Priority) (n uint64) {
	for i := range s.inbox {
		if s.inbox[i].Event.Priority == p {
			n = s.inbox[i].Number
		}
	}
	return n
}

// Ephemeral reports whether an ephemeral event waits: with its payload, which no snapshot holds, or
// lost, when it was read from a fact and a live agent has what this one lacks.
func (s *State) Ephemeral(lost bool) bool {
	return slices.ContainsFunc(s.inbox, func(h Heard) bool { return h.Event.Ephemeral && h.Lost == lost })
}

// Waiting is the number of events not perceived yet.
func (s *State) Waiting() int { return len(s.inbox) }

// endTurn forgets what the deliberation was shown, but for what it must be shown
// again.
func (s *State) endTurn(f *agentfact.TurnEnded, at protocol.Time, def *Definition) {
	s.Turn = f.Turn
	flight := s.takeInbox(f, at, def)
	if len(flight) > 0 || s.more != nil && len(s.more.flight) > 0 {
		s.change().flight = flight
		s.slim()
	}
	s.endObservations(f, at, def.keptObservations())
	if f.Outcome != agentfact.OutcomeInterrupted {
		s.dropped = 0
	}
}

// endObservations forgets what the turn was shown, and the oldest beyond the limit.
// What the turn itself observed goes before what others told meanwhile: on the
// realtime clock a fold reads the end of the turn later than the agent had it.
func (s *State) endObservations(f *agentfact.TurnEnded, at protocol.Time, limit int) {
	var own, told []Observation
	for _, o := range s.observations {
		if o.Time == at && o.own() {
			own = append(own, o)
		} else {
			told = append(told, o)
		}
	}
	own = append(own, told[min(int(f.Seen), len(told)):]...)
	s.observations = own[max(0, len(own)-limit):]
}

// takeInbox empties the inbox of what the turn is done with. It gives what comes
// back when the turn is interrupted while its latency passes.
func (s *State) takeInbox(f *agentfact.TurnEnded, at protocol.Time, def *Definition) (flight []Heard) {
	var left []Heard
	for i := range s.inbox {
		h := s.inbox[i]
		seen := h.Number <= f.Through && h.perceivable(at, &def.Limits)
		if seen && !h.Event.Ephemeral && f.Elapsed > 0 && f.Outcome == agentfact.OutcomeOK && def.Limits.Interrupt.On {
			flight = append(flight, h)
		}
		if seen && f.Outcome == agentfact.OutcomeOK && acknowledged(h.Event) {
			d := s.change()
			d.handled = newest(d.handled, h.Event.ID, maxHandled)
		}
		if h.stays(seen, f, at, def) {
			left = append(left, h)
		}
	}
	s.inbox = left
	return flight
}

// newest makes a new list with one more entry, and without the oldest beyond a limit.
func newest[T any](list []T, v T, limit int) []T {
	return append(slices.Clip(list[max(0, len(list)+1-limit):]), v)
}

// stays decides whether an event is in the inbox after a turn, and marks it.
func (h *Heard) stays(seen bool, f *agentfact.TurnEnded, at protocol.Time, def *Definition) bool {
	switch {
	case h.Number > f.Through:
		return true
	case h.Event.Ephemeral: // a fold does not know what it said: it is heard once or not at all
		return false
	case h.Held:
		h.Held = f.Outcome == agentfact.OutcomeInterrupted
		return true
	case !seen:
		return h.After > at && !h.expired(at) // else it expired, is lost or is given up
	case f.Outcome == agentfact.OutcomeIdle && h.Event.Type != bus.TypeWorldWatched:
		return true // it waits for an agent that sleeps
	case f.Outcome == agentfact.OutcomeInterrupted:
		return h.interrupt(def.Limits.Interrupt.Then)
	case acknowledged(h.Event) && f.Outcome != agentfact.OutcomeOK:
		h.Failures++
		h.After = at.Add(backoff(h.Failures))
		return true
	}
	return false
}

// interrupt marks an event whose deliberation was interrupted; false = it goes.
func (h *Heard) interrupt(then string) bool {
	h.Interrupted++
	h.Held = then == profile.ThenQueue
	return then != profile.ThenDrop || acknowledged(h.Event)
}

// Interrupted folds that the scene cancelled what a deliberation had asked for
// while its simulated latency passed: what it perceived comes back.
func (m *Machine) Interrupted() {
	s := &m.State
	if m.Def.Motive != nil || m.State.Watches() {
		s.change().unheard = true
	}
	if s.more == nil || len(s.more.flight) == 0 {
		return
	}
	d := s.change()
	var back []Heard
	for _, h := range d.flight {
		d.handled = slices.DeleteFunc(slices.Clone(d.handled), func(id string) bool { return acknowledged(h.Event) && id == h.Event.ID })
		if h.interrupt(m.Def.Limits.Interrupt.Then) {
			back = append(back, h)
		}
	}
	d.flight = nil
	if len(d.handled) == 0 {
		d.handled = nil
	}
	s.inbox = append(back, s.inbox...) // their numbers are lower
	if limits := &m.Def.Limits; limits.MaxInboxBytes > 0 {
		s.bytes = s.weigh()
		s.shrink(limits.MaxInboxBytes, func(h Heard) bool { return !stands(limits, h.Event) })
	}
	s.slim()
}

// Failed folds that the agent's actor failed and was restored: whatever waits to
// be acknowledged counts as perceived once.
func (m *Machine) Failed(o Observation) {
	m.Observe(o)
	m.State.inbox = slices.Clone(m.State.inbox)
	for i := range m.State.inbox {
		if acknowledged(m.State.inbox[i].Event) {
			m.State.inbox[i].Failures++
		}
	}
}

// unperceived counts what a turn does not perceive and is rid of.
func (s *State) unperceived(now protocol.Time, through uint64) (expired, lost int64) {
	for i := range s.inbox {
		switch h := &s.inbox[i]; {
		case h.Number > through:
		case h.Lost:
			lost++
		case h.expired(now) && !h.Held:
			expired++
		}
	}
	return expired, lost
}
