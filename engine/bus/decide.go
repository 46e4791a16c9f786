package bus

import (
	"fmt"
	"slices"
	"strconv"

	"tavernsim/protocol"
)

// Publish asks the channel to route drafts, in their order.
type Publish struct {
	Now    protocol.Time
	Events []*protocol.Draft
	// Room is what the channel may still take at this moment; Decide takes from
	// it. nil = no bound.
	Room *Room
}

// Room bounds what is routed at one moment: a storm of events, or one event
// after another to everybody, ends in refusals and not in memory.
type Room struct{ Events, Deliveries int }

// admit takes an event with its deliveries, or says which bound it breaks.
func (r *Room) admit(deliveries int) refusal {
	switch {
	case r == nil:
		return refusal{}
	case r.Events < 1:
		return refusal{ReasonFlood, "too many events at one moment (simulation.limits.max_events_in_wave)"}
	case r.Deliveries < deliveries:
		return refusal{ReasonFlood, fmt.Sprintf("%d receivers; room for %d more deliveries at this moment (simulation.limits.max_deliveries_in_wave)", deliveries, r.Deliveries)}
	}
	r.Events--
	r.Deliveries -= deliveries
	return refusal{}
}

// Verdict is the decision about a Publish.
type Verdict struct {
	Facts    []protocol.Fact // *Routed or *Refused, one per draft
	Failures []FilterFailure
}

// routing is one Decide at work.
type routing struct {
	state        *State
	verdict      *Verdict
	env          *environment
	event        *protocol.Envelope
	sets         []Ranges
	failures     int // of the event at hand
	firstFailure int // its first entry in the verdict
	room         *Room
}

// Decide routes drafts. Nothing changes; the caller applies the facts.
func (s *State) Decide(p Publish) Verdict {
	v := Verdict{Facts: make([]protocol.Fact, 0, len(p.Events))}
	r := &routing{state: s, verdict: &v, room: p.Room, env: &environment{self: map[string]any{}}}
	for i, d := range p.Events {
		v.Facts = append(v.Facts, r.route(d, s.Seq+uint64(i)+1, p.Now))
	}
	return v
}

// refusal is a Reason with its detail; the zero value accepts.
type refusal struct {
	reason Reason
	detail string
}

func (r *routing) route(d *protocol.Draft, seq uint64, now protocol.Time) protocol.Fact {
	r.failures, r.firstFailure = 0, len(r.verdict.Failures)
	r.sets = r.sets[:0]
	r.event = r.state.enrich(d, seq, now)
	r.env.event = protocol.NewSharedEvent(r.event)
	if no := r.state.admit(d, r.event); no.reason != "" {
		return r.refuse(d, seq, no)
	}
	f := &Routed{Seq: seq, ID: r.event.ID, Type: d.Type, Source: d.Source, Targets: d.Targets, Priority: d.Priority,
		TraceID: r.event.TraceID, Chain: d.Chain, Time: now, Expires: r.event.Expires, Ephemeral: d.Ephemeral,
		RequiresAck: d.RequiresAck, Body: kept(d),
		Cause: d.Cause, Turn: d.Turn, TaskID: d.TaskID, ExpectsReply: d.ExpectsReply, event: r.env.event}
	if len(d.Targets) > 0 {
		r.direct(f)
	} else {
		r.state.index.match(d.Type, r.visit)
		f.Receivers = union(r.sets)
	}
	r.looping(f)
	f.FilterErrors = uint32(r.failures)
	if len(f.Receivers) == 0 && len(f.Marks) > 0 {
		return r.refuse(d, seq, allRefused(f.Marks))
	}
	if no := r.room.admit(f.Receivers.Len()); no.reason != "" {
		return r.refuse(d, seq, no)
	}
	return f
}

func (r *routing) visit(g *group) {
	if g.filter == nil {
		r.sets = append(r.sets, g.members)
		return
	}
	r.sets = append(r.sets, r.matching(g))
}

// enrich makes the event: id, time, trace and expiry (agent architecture §3.5).
func (s *State) enrich(d *protocol.Draft, seq uint64, now protocol.Time) *protocol.Envelope {
	number := strconv.FormatUint(seq, 10)
	e := &protocol.Envelope{Kind: protocol.KindEvent, ID: s.cfg.NamespacePrefix + "e" + number, Scene: s.cfg.Scene,
		Source: d.Source, Targets: d.Targets, Type: d.Type, Priority: d.Priority, TraceID: d.TraceID, Chain: d.Chain,
		Time: now, Ephemeral: d.Ephemeral, RequiresAck: d.RequiresAck, Body: protocol.NewBody(d.Body),
		TaskID: d.TaskID, ExpectsReply: d.ExpectsReply}
	if d.RequiresAck && d.ID != "" {
		e.ID = d.ID // published again: its receivers recognise it
	}
	if e.TraceID == "" {
		e.TraceID = s.cfg.NamespacePrefix + "t" + number
	}
	ttl := d.TTL
	if ttl == 0 {
		ttl = s.cfg.DefaultTTL
	}
	if ttl > 0 {
		e.Expires = born(d, now).Add(min(ttl, protocol.MaxTTL))
	}
	return e
}

// kept is the payload as facts hold it: that of an ephemeral event is for its
// receivers alone.
func kept(d *protocol.Draft) protocol.Raw {
	if d.Ephemeral {
		return nil
	}
	return d.Body
}

// born is when the time to live began: never later than now.
func born(d *protocol.Draft, now protocol.Time) protocol.Time {
	if d.Time == 0 || d.Time > now {
		return now
	}
	return d.Time
}

// admit checks what does not depend on receivers, the cheap first.
func (s *State) admit(d *protocol.Draft, e *protocol.Envelope) refusal {
	if fault := checkType(d.Type); fault != "" {
		return refusal{ReasonInvalid, "the event type " + fault}
	}
	if d.Priority < protocol.Low || d.Priority > protocol.Critical {
		return refusal{ReasonInvalid, fmt.Sprintf("priority %d does not exist", int(d.Priority))}
	}
	if e.Depth() > s.cfg.MaxDepth {
		return refusal{ReasonDepth, fmt.Sprintf("%d causes; the limit is %d", e.Depth(), s.cfg.MaxDepth)}
	}
	if e.Expires != 0 && e.Expires <= e.Time {
		return refusal{ReasonTTL, "expired at " + e.Expires.String()}
	}
	if len(d.Body) > s.cfg.MaxBodyBytes {
		return refusal{ReasonSize, fmt.Sprintf("payload of %d bytes; the limit is %d", len(d.Body), s.cfg.MaxBodyBytes)}
	}
	if len(d.Targets) > s.cfg.MaxTargets {
		return refusal{ReasonSize, fmt.Sprintf("%d targets; the limit is %d", len(d.Targets), s.cfg.MaxTargets)}
	}
	if err := checkBody(d.Body); err != nil {
		return refusal{ReasonInvalid, err.Error()}
	}
	return s.schema(e)
}

// checkBody keeps bytes that are not one value out of the journal, where they
// would damage the fact around them.
func checkBody(body protocol.Raw) error {
	if len(body) == 0 {
		return nil
	}
	return protocol.Check(body)
}

func (s *State) schema(e *protocol.Envelope) refusal {
	if s.cfg.Validate == nil {
		return refusal{}
	}
	payload, err := e.Body.Value()
	if err != nil {
		return refusal{ReasonInvalid, "the payload is no value: " + err.Error()}
	}
	if err := s.cfg.Validate(e.Type, payload); err != nil {
		return refusal{ReasonSchema, err.Error()}
	}
	return refusal{}
}

// direct finds the receivers of a directed event: its targets, subscribed or
// not. Unknown ones are marked.
func (r *routing) direct(f *Routed) {
	ordinals := make([]uint32, 0, len(f.Targets))
	for i, id := range f.Targets {
		if o, ok := r.state.ordinals[id]; ok {
			ordinals = append(ordinals, o)
		} else if !slices.Contains(f.Targets[:i], id) {
			f.Marks = append(f.Marks, Mark{Agent: id, Reason: ReasonNoSuchTarget, Action: LoopDrop})
		}
	}
	slices.Sort(ordinals)
	for _, o := range slices.Compact(ordinals) {
		f.Receivers.push(o)
	}
}

// looping applies the loop rule. Only agents of the chain can loop, so the cost
// does not depend on the receivers.
func (r *routing) looping(f *Routed) {
	for i := range len(f.Chain) {
		agent := handler(f, i)
		if f.Chain[i].Type != f.Type || handledBefore(f, agent, i) {
			continue // not this type, or counted already
		}
		o, ok := r.state.ordinals[agent]
		if !ok || !f.Receivers.Contains(o) || timesHandled(f, agent) <= r.state.cfg.MaxRevisits {
			continue
		}
		f.Marks = append(f.Marks, Mark{Agent: agent, Reason: ReasonLoop, Action: r.state.cfg.LoopAction})
		if r.state.cfg.LoopAction == LoopDrop {
			f.Receivers = f.Receivers.without(o)
		}
	}
}

// handler is who reacted to link i of the chain: the publisher of what follows.
func handler(f *Routed, i int) string {
	if i+1 < len(f.Chain) {
		return f.Chain[i+1].Agent
	}
	return f.Source
}

func handledBefore(f *Routed, agent string, limit int) bool {
	for i := range limit {
		if f.Chain[i].Type == f.Type && handler(f, i) == agent {
			return true
		}
	}
	return false
}

func timesHandled(f *Routed, agent string) int {
	n := 0
	for i := range f.Chain {
		if f.Chain[i].Type == f.Type && handler(f, i) == agent {
			n++
		}
	}
	return n
}

// allRefused is the refusal of an event whose every receiver was.
func allRefused(marks []Mark) refusal {
	first := marks[0]
	if first.Reason == ReasonLoop {
		return refusal{ReasonLoop, fmt.Sprintf("%q has handled this type too often in this chain (%d receivers refused)", first.Agent, len(marks))}
	}
	return refusal{first.Reason, fmt.Sprintf("no agent %q (%d receivers refused)", first.Agent, len(marks))}
}

func (r *routing) refuse(d *protocol.Draft, seq uint64, no refusal) protocol.Fact {
	f := &Refused{Seq: seq, ID: r.event.ID, Reason: no.reason, Detail: no.detail, Type: d.Type, Source: d.Source,
		Targets: d.Targets, Priority: d.Priority, TraceID: r.event.TraceID, Chain: d.Chain, Time: r.event.Time,
		TTL: d.TTL, Ephemeral: d.Ephemeral, RequiresAck: d.RequiresAck, Body: kept(d),
		Cause: d.Cause, Turn: d.Turn, TaskID: d.TaskID, ExpectsReply: d.ExpectsReply}
	if no.reason == ReasonSize {
		f.Body, f.Targets = nil, nil // what is too large to route is too large to keep
	}
	if checkBody(f.Body) != nil {
		f.Body = nil
	}
	return f
}
