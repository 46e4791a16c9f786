package inspect

import (
	"errors"
	"slices"

	"tavernsim/engine/bus"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/view/deadletters"
	"tavernsim/scenes/view/factjson"
)

// EventQuery chooses events; empty fields choose all.
type EventQuery struct {
	Span
	Types    []string // any of; a name may end in *
	Source   string   // instance id
	Receiver string   // who heard it, or was its target
	Priority string
	Trace    string // trace id
	Refused  bool   // only those that nobody may hear
	Limit    int    // 0 = all
}

// maxReceivers bounds the receivers that are named; all are counted.
const maxReceivers = 20

// EventLine is one event of the view "events".
type EventLine struct {
	Seq        uint64   `json:"seq"` // of the fact
	Wave       uint64   `json:"wave"`
	Time       string   `json:"time"`
	ID         string   `json:"id"`
	Type       string   `json:"type"`
	Source     string   `json:"source"`
	Targets    []string `json:"targets,omitempty"`
	Priority   string   `json:"priority"`
	Trace      string   `json:"trace"`
	Depth      int      `json:"depth"`
	Chain      []string `json:"chain,omitempty"` // causes, oldest first: agent and type
	Expires    string   `json:"expires,omitempty"`
	Receivers  []string `json:"receivers"`      // the first of them
	Delivered  int      `json:"delivered"`      // how many there are, also of those that heard it later
	Held       int      `json:"held,omitempty"` // deliveries that were held back: some may have heard a later event instead
	Marks      []Marked `json:"marks,omitempty"`
	Refused    string   `json:"refused,omitempty"` // reason
	Detail     string   `json:"detail,omitempty"`
	Payload    any      `json:"payload"`
	FilterFail uint32   `json:"filter_errors,omitempty"`
}

// Marked is what befell one receiver.
type Marked struct {
	Agent  string `json:"agent"`
	Reason string `json:"reason"`
	Action string `json:"action"`
}

// Events hands over the events that q chooses, in order.
func (s *Scene) Events(q EventQuery, yield func(EventLine) error) error {
	query, err := s.eventQuery(&q)
	if err != nil {
		return err
	}
	waves, joined, n := s.waves(), s.JoinEvents(), 0
	err = s.Scan(query, func(r protocol.Record) error {
		fact, err := s.Fact(r)
		if err == nil {
			fact, err = joined.Whole(r, fact)
		}
		if err != nil || !q.wants(s, fact) {
			return err
		}
		line, err := s.eventLine(r, fact, waves)
		if err == nil {
			err = yield(line)
		}
		if n++; err == nil && n == q.Limit {
			err = ErrStop
		}
		return err
	})
	if err == nil && n == 0 && q.Span.From == 0 {
		err = errors.Join(s.Known(q.Receiver), s.KnownTypes(q.Types)) // events are also sent to those who do not exist
	}
	return err
}

// JoinedEvents makes one event of the facts that route it: one when it is
// published, and one with the same id for each hold that releases it.
type JoinedEvents struct {
	scene *Scene
	later map[string]heardLater // by event id; nil: no event was held yet
}

type heardLater struct {
	receivers bus.Ranges
	marks     []bus.Mark
}

// JoinEvents joins the events of a walk forward. From the first that was held, the
// releases of the whole journal are in memory: some 100 bytes each.
func (s *Scene) JoinEvents() *JoinedEvents { return &JoinedEvents{scene: s} }

// Whole is the fact of an event with all its receivers, also those that heard it
// later; nil for a fact that only releases it.
func (j *JoinedEvents) Whole(r protocol.Record, f protocol.Fact) (protocol.Fact, error) {
	x, ok := f.(*bus.Routed)
	if ok && x.Again() {
		return nil, nil
	}
	if !ok || len(x.Held) == 0 {
		return f, nil
	}
	if j.later == nil {
		if err := j.read(r.Seq + 1); err != nil {
			return nil, err
		}
	}
	if later, ok := j.later[x.ID]; ok {
		x.Receivers, x.Marks = x.Receivers.And(later.receivers), append(x.Marks, later.marks...)
	}
	return x, nil
}

func (j *JoinedEvents) read(from uint64) error {
	j.later = map[string]heardLater{}
	return j.scene.journal.Scan(persistence.Query{From: from, Kinds: []string{bus.FactRouted}}, func(r protocol.Record) error {
		fact, err := j.scene.Fact(r)
		if x, ok := fact.(*bus.Routed); ok && x.Again() {
			l := j.later[x.ID]
			j.later[x.ID] = heardLater{l.receivers.And(x.Receivers), append(l.marks, x.Marks...)}
		}
		return err
	})
}

func (s *Scene) eventQuery(q *EventQuery) (persistence.Query, error) {
	if err := s.Known(q.Source); err != nil {
		return persistence.Query{}, err
	}
	if q.Priority != "" {
		p, err := protocol.ParsePriority(q.Priority)
		if err != nil {
			return persistence.Query{}, err
		}
		q.Priority = p.String()
	}
	kinds := []string{bus.FactRouted, bus.FactRefused}
	if q.Refused {
		kinds = kinds[1:]
	}
	return s.Query(q.Span, persistence.Query{Kinds: kinds})
}

func (q *EventQuery) wants(s *Scene, f protocol.Fact) bool {
	h := header(f)
	return h != nil && MatchesAny(q.Types, h.Type) && (q.Source == "" || q.Source == h.Source) && (q.Trace == "" || q.Trace == h.TraceID) && (q.Priority == "" || q.Priority == h.Priority.String()) &&
		(q.Receiver == "" || slices.Contains(h.Targets, q.Receiver) || s.hears(f, q.Receiver))
}

// hears reports whether an agent is among the receivers.
func (s *Scene) hears(f protocol.Fact, id string) bool {
	x, routed := f.(*bus.Routed)
	o, ok := s.agents.Find(id)
	return routed && ok && x.Receivers.Contains(uint32(o))
}

// header is that of an event that a fact routed or refused; nil for other facts.
func header(f protocol.Fact) *protocol.EventHeader {
	switch x := f.(type) {
	case *bus.Routed:
		return &x.EventHeader
	case *bus.Refused:
		return &x.EventHeader
	}
	return nil
}

func (s *Scene) eventLine(r protocol.Record, fact protocol.Fact, waves *waves) (EventLine, error) {
	wave, err := waves.of(r.Seq)
	line := EventLine{Seq: r.Seq, Wave: wave, Time: r.Time.String(), Receivers: []string{}}
	if h := header(fact); h != nil {
		line.ID, line.Type, line.Source, line.Targets = h.ID, h.Type, h.Source, h.Targets
		line.Priority, line.Trace, line.Depth, line.Chain = h.Priority.String(), h.TraceID, len(h.Chain), deadletters.Chain(h.Chain)
	}
	switch x := fact.(type) {
	case *bus.Routed:
		line.Receivers, line.Delivered = s.receivers(x.Receivers), x.Receivers.Len()
		line.Held = x.Waiting()
		line.Payload, line.FilterFail = factjson.Value(x.Body), x.FilterErrors
		line.Expires = moment(x.Expires)
		for _, m := range x.Marks {
			line.Marks = append(line.Marks, Marked{m.Agent, string(m.Reason), string(m.Action)})
		}
	case *bus.Refused:
		line.Refused, line.Detail, line.Payload = string(x.Reason), secret.Text(x.Detail), factjson.Value(x.Body)
	}
	return line, err
}

// receivers names the first of them.
func (s *Scene) receivers(rs bus.Ranges) []string {
	list := []string{}
	for o := range rs.All() {
		if len(list) == maxReceivers {
			break
		}
		list = append(list, s.name(o))
	}
	return list
}
