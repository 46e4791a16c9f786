package bus

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/bus/filter"
	"tavernsim/engine/bus/ordinals"
	"tavernsim/engine/bus/team"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// Verdict is the decision about a request.
type Verdict struct {
	// Facts of a draft are one *Routed or *Refused. Those of a change of the world
	// are one per event. Other requests give a *SubscriptionChanged,
	// *ThrottleChanged or *NotDone, or none.
	Facts    []protocol.Fact
	Failures []FilterFailure
	Asked    int // evaluations of filters, one for each receiver
}

// routing is the state of one Decide.
type routing struct {
	state        *State
	now          protocol.Time
	verdict      Verdict
	env          filter.Env
	event        *protocol.Envelope
	sets         []Ranges  // receivers that hear the event at once
	waits        []waiting // receivers with a debounced subscription
	teams        team.Teams
	dropped      Ranges // receivers dropped by the loop rule or a middleware
	failures     int    // of filters on the current event
	firstFailure int    // its first entry in the verdict
	room         *throttle.Room
	close        Ranges // the agents that the event can reach, if bounded
	bounded      bool
	held         taken // by the current event, which is not folded yet
}

// waiting is a debounced subscription with its matching receivers.
type waiting struct {
	group     *group
	receivers Ranges
}

// Decide decides about one request; room may be nil. It does not change the state; the
// caller applies the facts before the next request.
func (s *State) Decide(now protocol.Time, req Request, room *throttle.Room) Verdict {
	r := &routing{state: s, now: now, room: room}
	switch x := req.(type) {
	case *protocol.Draft:
		r.fact(r.route(x, func() { s.index.match(x.Type, r.visit) }))
	case *WorldUpdated:
		r.announce(x)
	case *Change:
		r.change(x)
	case *Force:
		r.force(x)
	case *Presence:
		r.presence(x)
	}
	return r.verdict
}

func (r *routing) fact(f protocol.Fact) { r.verdict.Facts = append(r.verdict.Facts, f) }

// refusal is a Reason with its detail; the zero value accepts.
type refusal struct {
	reason Reason
	detail string
}

// route applies the chain of rules to an event. match visits the groups that may hear
// it, unless the event is directed.
func (r *routing) route(d *protocol.Draft, match func()) protocol.Fact {
	seq := r.state.Seq + uint64(len(r.verdict.Facts)) + 1
	r.failures, r.firstFailure = 0, len(r.verdict.Failures)
	r.sets, r.waits, r.teams, r.dropped, r.held = r.sets[:0], r.waits[:0], r.teams[:0], nil, taken{}
	r.event = r.state.enrich(d, seq, r.now)
	r.env.Event = protocol.NewSharedEvent(r.event)
	if no := r.state.admit(d, r.event); no.reason != "" {
		return r.refuse(d, seq, no)
	}
	rate := r.state.rate(d, r.now)
	if rate.Action == throttle.Drop {
		return r.refuse(d, seq, tooMany(rate.Rule))
	}
	f := &Routed{EventHeader: r.event.EventHeader, Seq: seq, Expires: r.event.Expires, Body: d.Body, event: r.env.Event}
	if rate.Action == throttle.Deprioritize {
		r.deprioritize(f)
	}
	if no := r.near(d); no.reason != "" {
		return r.refuse(d, seq, no)
	}
	if len(d.Targets) > 0 {
		r.direct(f)
	} else {
		match()
		f.Receivers = ordinals.Union(r.teams.Pick(r.state.Load, r.sets))
	}
	f.FilterErrors = uint32(r.failures)
	r.looping(f)
	r.judge(f, rate.Until)
	if no := r.hold(f, rate.Until); no.reason != "" {
		return r.refuse(d, seq, no)
	}
	if len(f.Receivers) == 0 && len(f.Held) == 0 {
		if no := allRefused(f.Marks); no.reason != "" {
			return r.refuse(d, seq, no)
		}
	}
	if full := r.room.Admit(d.Priority == protocol.Critical, f.Receivers.Len()); full != "" {
		return r.refuse(d, seq, refusal{ReasonFlood, full})
	}
	if len(f.Held) == 0 { // a held event needs its payload when it is released
		f.Body = kept(d)
	}
	return f
}

// rate applies the throttle rules. The scene itself is never throttled.
func (s *State) rate(d *protocol.Draft, now protocol.Time) throttle.Verdict {
	if s.throttle.Idle() || s.exempt(d.Source) {
		return throttle.Verdict{}
	}
	return s.throttle.Judge(d.Type, d.Source, now)
}

func (s *State) exempt(source string) bool { return source == s.cfg.Owner && source != "" }

func tooMany(r throttle.Rule) refusal {
	who := ""
	if r.Source != "" {
		who = fmt.Sprintf(" of %q", r.Source)
	}
	return refusal{ReasonThrottled, fmt.Sprintf("more than %d events %q%s in %v, per %s", r.Max, r.Type, who, r.Window, r.Per)}
}

// deprioritize lowers a whole event; the mark names no receiver.
func (r *routing) deprioritize(f *Routed) {
	r.event.Priority, f.Priority = protocol.Low, protocol.Low
	f.Marks = append(f.Marks, Mark{Reason: ReasonThrottled, Action: LoopDeprioritize})
}

func (r *routing) visit(g *group) {
	heard := r.audience(g)
	if g.filter != nil {
		heard = r.matching(g)
	}
	switch {
	case g.sub.Group != "":
		r.teams.Add(g.sub.Group, heard)
	case g.sub.Quiet == 0:
		r.sets = append(r.sets, heard)
	case len(heard) > 0:
		r.waits = append(r.waits, waiting{g, heard})
	}
}

// change decides about subscriptions.
func (r *routing) change(c *Change) {
	f, err := r.state.Change(*c)
	switch {
	case err != nil && len(c.Add) > 0:
		r.notDone(c.Agent, "subscribe", c.Add[0].Type, err)
	case err != nil && len(c.Remove) > 0:
		r.notDone(c.Agent, "unsubscribe", c.Remove[0].Type, err)
	case f != nil:
		r.fact(f)
	}
}

func (r *routing) notDone(by, what, subject string, err error) {
	r.fact(&NotDone{By: by, What: what, Subject: subject, Code: protocol.KindOf(err), Message: err.Error()})
}

// force decides about a throttle rule that the scene sets at run time.
func (r *routing) force(f *Force) {
	rule, t := f.Rule.Normal(), r.state.throttle
	var err error
	field, fault := CheckRule(rule)
	switch {
	case !r.state.exempt(f.By):
		err = protocol.Errorf(protocol.KindDenied, "only the scene itself may throttle events")
	case f.Remove && t.Has(rule):
		r.fact(&ThrottleChanged{Rule: rule, Removed: true, Time: r.now})
		return
	case f.Remove:
		err = protocol.Errorf(protocol.KindNotFound, "no rule for %q per %s was set while the scene runs", rule.Type, rule.Per)
	case fault != "":
		err = protocol.Errorf(protocol.KindInvalid, "%s: %s", field, fault)
	case !t.Has(rule) && t.Full(r.now):
		err = protocol.Errorf(protocol.KindLimit, "%d rules are in force; the limit is %d", throttle.MaxRules, throttle.MaxRules)
	default:
		r.fact(&ThrottleChanged{Rule: rule, Time: r.now})
		return
	}
	r.notDone(f.By, "throttle", rule.Type, err)
}

// enrich makes the event: id, time, trace and expiry (agent architecture §3.5).
func (s *State) enrich(d *protocol.Draft, seq uint64, now protocol.Time) *protocol.Envelope {
	e := &protocol.Envelope{EventHeader: d.EventHeader, Kind: protocol.KindEvent, Scene: s.cfg.Scene, Body: protocol.NewBody(d.Body)}
	e.Time = now
	s.Names.Give(&e.EventHeader, d, seq)
	ttl := d.TTL
	if ttl == 0 {
		ttl = s.cfg.DefaultTTL
	}
	if ttl > 0 {
		e.Expires = born(d, now).Add(min(ttl, protocol.MaxTTL))
	}
	return e
}

// kept is the payload in facts. Facts of an ephemeral event have none.
func kept(d *protocol.Draft) protocol.Raw {
	if d.Ephemeral {
		return nil
	}
	return d.Body
}

// born is the beginning of the time to live, at most now.
func born(d *protocol.Draft, now protocol.Time) protocol.Time {
	if d.Time == 0 || d.Time > now {
		return now
	}
	return d.Time
}

// admit applies the rules that do not depend on receivers, cheap ones first.
func (s *State) admit(d *protocol.Draft, e *protocol.Envelope) refusal {
	if fault := eventtype.Check(d.Type); fault != "" {
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

// checkBody refuses bytes that are not exactly one value; they would damage the fact
// that contains them.
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
	list := make([]uint32, 0, len(f.Targets))
	var unknown map[string]bool
	for _, id := range f.Targets {
		if o, ok := r.state.subscribers.Ordinal(id); ok && !r.state.away.Contains(o) {
			list = append(list, o)
		} else if !unknown[id] {
			if unknown == nil {
				unknown = map[string]bool{}
			}
			unknown[id] = true
			f.Marks = append(f.Marks, Mark{Agent: id, Reason: ReasonNoSuchTarget, Action: LoopDrop})
		}
	}
	slices.Sort(list)
	for _, o := range slices.Compact(list) {
		if r.bounded && !r.close.Contains(o) {
			f.Marks = append(f.Marks, Mark{Agent: r.state.subscribers.Name(o), Reason: ReasonOutOfReach, Action: LoopDrop})
			continue
		}
		f.Receivers.Push(o)
	}
}

// looping applies the loop rule. Only agents of the causal chain can loop, so the cost
// does not depend on the number of receivers.
func (r *routing) looping(f *Routed) {
	if len(f.Chain) <= r.state.cfg.MaxRevisits {
		return // too short for any agent to be in it so often
	}
	for i := range len(f.Chain) {
		agent := handler(f, i)
		if f.Chain[i].Type != f.Type || handledBefore(f, agent, i) {
			continue // not this type, or counted already
		}
		o, ok := r.state.subscribers.Ordinal(agent)
		if !ok || !r.hearing(f, o) || timesHandled(f, agent) <= r.state.cfg.MaxRevisits {
			continue
		}
		f.Marks = append(f.Marks, Mark{Agent: agent, Reason: ReasonLoop, Action: r.state.cfg.LoopAction})
		if r.state.cfg.LoopAction == LoopDrop {
			r.dropped = r.dropped.With(o)
			f.Receivers = f.Receivers.Without(o)
		}
	}
}

// hearing reports whether a receiver hears an event now or later.
func (r *routing) hearing(f *Routed, o uint32) bool {
	if f.Receivers.Contains(o) {
		return true
	}
	return slices.ContainsFunc(r.waits, func(w waiting) bool { return w.receivers.Contains(o) })
}

// handler is the agent that reacted to link i of the chain: the publisher of the next
// event.
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

// allRefused is the refusal of an event whose receivers were all refused.
func allRefused(marks []Mark) refusal {
	marks = slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return m.Action != LoopDrop })
	if len(marks) == 0 {
		return refusal{}
	}
	first, many := marks[0], fmt.Sprintf("%d receivers refused", len(marks))
	if len(marks) == 1 {
		many = "1 receiver refused"
	}
	if first.Reason == ReasonLoop {
		return refusal{ReasonLoop, fmt.Sprintf("%q has handled this type too often in this chain (%s)", first.Agent, many)}
	}
	if first.Reason.Class() == ReasonMiddleware {
		_, why, _ := strings.Cut(string(first.Reason), ":")
		return refusal{ReasonMiddleware, fmt.Sprintf("%s (%s)", why, many)}
	}
	if first.Reason == ReasonOutOfReach {
		return refusal{first.Reason, fmt.Sprintf("%q is not near (%s)", first.Agent, many)}
	}
	return refusal{first.Reason, fmt.Sprintf("no agent %q (%s)", first.Agent, many)}
}

func (r *routing) refuse(d *protocol.Draft, seq uint64, no refusal) protocol.Fact {
	f := &Refused{EventHeader: r.event.EventHeader, Seq: seq, Reason: no.reason, Detail: no.detail, TTL: d.TTL, Body: kept(d)}
	if no.reason == ReasonSize {
		f.Body, f.Targets = nil, nil // too large for a fact, too
	}
	if checkBody(f.Body) != nil {
		f.Body = nil
	}
	return f
}
