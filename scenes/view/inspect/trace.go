package inspect

import (
	"cmp"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/secret"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// TraceOptions bound the tree. A bound of 0 takes its default; All takes them
// away, but for the one that protects memory.
type TraceOptions struct {
	Depth int // events below one another; default 8
	Width int // reactions shown per event; default 8
	All   bool
}

const (
	traceDepth = 8
	traceWidth = 8
	// maxTraced bounds the events of a tree and, a hundred times that, the
	// reactions to them; beyond it the tree says that it is cut.
	maxTraced    = 10_000
	maxReactions = 100 * maxTraced
)

// Trace is the view "trace": the causal tree of an event.
type Trace struct {
	Trace  string      `json:"trace"`
	Causes []EventLine `json:"causes"` // what led to it, oldest first
	Event  *TraceEvent `json:"event"`
	Events int         `json:"events"` // of the tree, the root included
	Cut    bool        `json:"cut"`    // there was more than is kept
}

// TraceEvent is an event with what came of it.
type TraceEvent struct {
	EventLine
	Reactions []*Reaction `json:"reactions"`
	More      int         `json:"more"`    // reactions that are not listed; those that did something come first
	Waiting   int         `json:"waiting"` // receivers that did not deliberate afterwards
	Deeper    int         `json:"deeper"`  // reactions that are not shown because of the depth

}

// Reaction is the first deliberation of a receiver after an event.
type Reaction struct {
	Agent     string        `json:"agent"`
	Turn      uint64        `json:"turn"` // 0: its actor failed
	Seq       uint64        `json:"seq"`
	Time      string        `json:"time"`
	Outcome   string        `json:"outcome"`
	Error     string        `json:"error,omitempty"`
	Perceived int64         `json:"events_perceived"` // the event was one of so many
	Calls     []TraceCall   `json:"calls"`
	Said      []string      `json:"said"`
	Private   int           `json:"private_changes"`
	Effects   []Effect      `json:"effects"` // that name the event as their cause; without events
	Published []*TraceEvent `json:"published"`
}

// TraceCall is a call in one line.
type TraceCall struct {
	Tool   string `json:"tool"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// busy reports whether the event itself made the agent do something.
func (r *Reaction) busy() bool {
	return len(r.Published)+len(r.Effects) > 0 || r.Outcome != string(agentfact.OutcomeOK)
}

// Trace draws the causal tree of an event.
func (s *Scene) Trace(id string, opt TraceOptions) (*Trace, error) {
	root, rec, err := s.findEvent(id)
	if err != nil {
		return nil, err
	}
	t := &tracing{Scene: s, waves: s.waves(), events: map[string]*TraceEvent{}, pending: map[string][]onItsWay{}, turns: map[turnKey][]*Reaction{}, open: map[string]*turnFacts{}, of: map[*Reaction]*TraceEvent{}, reacted: map[string]bool{}, commits: map[int64]*Reaction{}}
	out := &Trace{Trace: root.Trace}
	if out.Causes, err = s.causes(root, rec); err != nil {
		return nil, err
	}
	out.Event = t.add(root)
	if err := s.Scan(persistence.Query{From: rec.Seq + 1}, t.fact); err != nil {
		return nil, err
	}
	out.Events, out.Cut = len(t.events), t.cut
	opt.prune(out.Event, 1)
	return out, nil
}

// found is an event of the journal.
type found struct {
	EventLine
	cause string
	turn  uint64
	heard bus.Ranges
	holds int
}

func (s *Scene) foundEvent(r protocol.Record, fact protocol.Fact, waves *waves) (found, error) {
	line, err := s.eventLine(r, fact, waves)
	f := found{EventLine: line}
	switch x := fact.(type) {
	case *bus.Routed:
		f.cause, f.turn, f.heard, f.holds = x.Cause, x.Turn, x.Receivers, len(x.Held)
	case *bus.Refused:
		f.cause, f.turn = x.Cause, x.Turn
	}
	return f, err
}

// findEvent looks for an event by its id.
func (s *Scene) findEvent(id string) (f found, rec protocol.Record, err error) {
	waves := s.waves()
	names := func(yield func(string) bool) {
		err = s.facts(persistence.Query{Kinds: []string{bus.FactRouted, bus.FactRefused}}, func(r protocol.Record, fact protocol.Fact) (err error) {
			name := eventID(fact)
			if !yield(name) {
				return ErrStop
			}
			if name != id {
				return nil
			}
			rec = r
			f, err = s.foundEvent(r, fact, waves)
			return orStop(err)
		})
	}
	missing := unknown("event", id, "near it are", names)
	if err == nil && rec.Seq == 0 {
		err = missing
	}
	return f, rec, err
}

func eventID(f protocol.Fact) string {
	if h := header(f); h != nil {
		return h.ID
	}
	return ""
}

// causes walks back from an event to the one that began it all.
func (s *Scene) causes(root found, rec protocol.Record) ([]EventLine, error) {
	list := []EventLine{}
	if root.cause == "" || rec.Seq < 2 {
		return list, nil
	}
	before := map[string]found{}
	waves := s.waves()
	err := s.facts(persistence.Query{To: rec.Seq - 1, Kinds: []string{bus.FactRouted}, Trace: root.Trace}, func(r protocol.Record, fact protocol.Fact) error {
		if x, ok := fact.(*bus.Routed); !ok || x.TraceID != root.Trace || len(before) == maxTraced {
			return nil
		}
		f, err := s.foundEvent(r, fact, waves)
		before[f.ID] = f
		return err
	})
	for at, ok := before[root.cause]; ok; at, ok = before[at.cause] {
		list = append(list, at.EventLine)
		delete(before, at.ID) // a chain never comes back, but a journal could be forged
	}
	slices.Reverse(list)
	return list, err
}

// turnKey names a deliberation.
type turnKey struct {
	agent string
	turn  uint64
}

// tracing follows the facts after an event.
type tracing struct {
	*Scene
	waves     *waves
	events    map[string]*TraceEvent // of the tree, by id
	pending   map[string][]onItsWay  // by receiver: heard, and no deliberation yet
	holds     int                    // of events of the tree, that may be released yet
	turns     map[turnKey][]*Reaction
	reacted   map[string]bool // agents of turns
	of        map[*Reaction]*TraceEvent
	open      map[string]*turnFacts // by agent: facts of a deliberation that is not whole yet
	due       protocol.Time         // until when effects of the tree are held back
	commits   map[int64]*Reaction   // by version of the world: the first reaction that changed it
	reactions int
	cut       bool
}

// add puts an event into the tree.
func (t *tracing) add(f found) *TraceEvent {
	e := &TraceEvent{EventLine: f.EventLine, Reactions: []*Reaction{}}
	t.events[f.ID] = e
	t.holds += f.holds
	t.hear(e, f)
	return e
}

// hear notes for whom an event is on its way, from the wave of f on.
func (t *tracing) hear(e *TraceEvent, f found) {
	for o := range f.heard.All() {
		if t.reactions == maxReactions {
			t.cut = true
			break
		}
		t.reactions++
		name := t.name(o)
		t.pending[name] = append(t.pending[name], onItsWay{e, f.Wave})
		e.Waiting++
	}
}

// released lets those hear an event for whom it was held.
func (t *tracing) released(e *TraceEvent, f found) {
	t.holds--
	e.Delivered += f.Delivered
	e.Receivers = append(e.Receivers, f.Receivers...)
	e.Receivers = e.Receivers[:min(len(e.Receivers), maxReceivers)]
	e.Marks = append(e.Marks, f.Marks...)
	t.hear(e, f)
}

// onItsWay is an event that an agent heard in a wave and did not react to yet.
type onItsWay struct {
	event *TraceEvent
	wave  uint64
}

func (t *tracing) fact(r protocol.Record) error {
	if !t.ofTurn(r.Actor, r.Kind) {
		return t.service(r)
	}
	if t.pending[r.Actor] == nil {
		return nil
	}
	fact, err := t.Fact(r)
	if err != nil {
		return err
	}
	facts := t.open[r.Actor]
	if facts == nil {
		facts = &turnFacts{}
		t.open[r.Actor] = facts
	}
	facts.take(r, fact)
	if facts.end != nil {
		delete(t.open, r.Actor)
		t.turnEnded(r, facts)
	}
	return nil
}

// turnEnded makes the deliberation a reaction to every event that the agent had
// heard in an earlier wave.
func (t *tracing) turnEnded(r protocol.Record, facts *turnFacts) {
	var later []onItsWay
	for _, e := range t.pending[r.Actor] {
		if e.wave >= facts.end.Wave {
			later = append(later, e)
			continue
		}
		re := reaction(r, facts)
		t.react(e.event, re, turnKey{r.Actor, re.Turn})
	}
	t.wait(r.Actor, later)
}

func (t *tracing) wait(id string, later []onItsWay) {
	if t.pending[id] = later; later == nil {
		delete(t.pending, id)
	}
}

func (t *tracing) react(e *TraceEvent, re *Reaction, key turnKey) {
	e.Waiting--
	e.Reactions = append(e.Reactions, re)
	t.turns[key] = append(t.turns[key], re)
	t.of[re], t.reacted[key.agent] = e, true
}

func reaction(r protocol.Record, f *turnFacts) *Reaction {
	re := &Reaction{
		Agent: r.Actor, Turn: f.end.Turn, Seq: r.Seq, Time: r.Time.String(), Outcome: string(f.end.Outcome), Error: secret.Text(f.end.Error), Perceived: f.end.Perceived,
		Calls: []TraceCall{}, Said: append([]string{}, f.said...), Private: len(f.changes), Effects: []Effect{}, Published: []*TraceEvent{},
	}
	for _, c := range f.calls {
		re.Calls = append(re.Calls, TraceCall{c.Tool, string(c.Status), secret.Text(c.Error)})
	}
	return re
}

// service follows what the world, the channel and the scene decided.
func (t *tracing) service(r protocol.Record) error {
	fact, err := t.Fact(r)
	if err != nil {
		return err
	}
	switch x := fact.(type) {
	case *agenda.WaveClosed:
		if len(t.pending) == 0 && t.holds <= 0 && r.Time >= t.due {
			return ErrStop
		}
	case *agenda.EffectsDeferred:
		if t.reacted[t.name(x.Agent)] {
			t.due = max(t.due, x.Due)
		}
	case *agenda.AgentFailed:
		t.actorFailed(r, x)
	case *bus.Routed, *bus.Refused:
		return t.published(r, fact)
	default:
		t.effects(r, fact)
	}
	return nil
}

func (t *tracing) actorFailed(r protocol.Record, x *agenda.AgentFailed) {
	id := t.name(x.Agent)
	delete(t.open, id)
	for _, e := range t.pending[id] {
		t.react(e.event, &Reaction{Agent: id, Seq: r.Seq, Time: r.Time.String(), Outcome: "actor failed", Error: secret.Text(x.Error), Calls: []TraceCall{}, Said: []string{}, Effects: []Effect{}, Published: []*TraceEvent{}}, turnKey{id, 0})
	}
	delete(t.pending, id)
}

// published hangs an event below the reaction that caused it.
func (t *tracing) published(r protocol.Record, fact protocol.Fact) error {
	f, err := t.foundEvent(r, fact, t.waves)
	if x, ok := fact.(*bus.Routed); ok && err == nil && x.Again() {
		if e := t.events[f.ID]; e != nil {
			t.released(e, f)
		}
		return nil
	}
	told := t.told(fact)
	if err != nil || told == nil && (f.cause == "" || t.events[f.cause] == nil) {
		return err
	}
	if len(t.events) == maxTraced {
		t.cut = true
		return nil
	}
	if told != nil {
		told.Published = append(told.Published, t.add(f))
		return nil
	}
	for _, re := range t.turns[turnKey{f.Source, f.turn}] {
		if t.of[re] == t.events[f.cause] {
			re.Published = append(re.Published, t.add(f))
			return nil
		}
	}
	return nil
}

// told is the reaction that made the change of the world of which an event tells; nil = none. The event begins a chain
// of its own.
func (t *tracing) told(fact protocol.Fact) *Reaction {
	x, ok := fact.(*bus.Routed)
	if !ok || x.Type != bus.TypeWorldUpdated || !cast.OfScene(x.Source) || len(t.commits) == 0 {
		return nil
	}
	v, _ := x.Body.Value()
	payload, _ := v.(map[string]any)
	version, _ := payload["version"].(int64)
	return t.commits[version]
}

// effects hangs what was changed or refused below the reaction that caused it.
func (t *tracing) effects(r protocol.Record, fact protocol.Fact) {
	for _, e := range effectsOf(fact) {
		for _, re := range t.turns[turnKey{e.by, e.turn}] {
			if e.cause != "" && t.of[re] != t.events[e.cause] {
				continue
			}
			e.Seq, e.Time = r.Seq, r.Time.String()
			re.Effects = append(re.Effects, e.Effect)
			if c, ok := worldstate.CommitOf(fact); ok && t.commits[c.After] == nil {
				t.commits[c.After] = re
			}
		}
	}
}

// prune keeps what a reader looks for: those that did something first, no more
// than the bounds allow.
func (o TraceOptions) prune(e *TraceEvent, depth int) {
	slices.SortStableFunc(e.Reactions, func(a, b *Reaction) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Seq, b.Seq))
	})
	limit := cmp.Or(o.Width, traceWidth)
	switch {
	case o.All:
		limit = len(e.Reactions)
	case depth > cmp.Or(o.Depth, traceDepth):
		e.Deeper, limit = len(e.Reactions), 0
	}
	if n := len(e.Reactions); n > limit {
		if limit > 0 {
			e.More = n - limit
		}
		e.Reactions = e.Reactions[:limit]
	}
	for _, r := range e.Reactions {
		for _, p := range r.Published {
			o.prune(p, depth+1)
		}
	}
}

func rank(r *Reaction) int {
	if r.busy() {
		return 0
	}
	return 1
}
