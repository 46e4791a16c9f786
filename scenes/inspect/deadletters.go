package inspect

import (
	"slices"

	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// DeadLetter is a message that did not reach whom it was meant for.
type DeadLetter struct {
	Seq         uint64   `json:"seq"` // of the fact that says so
	Wave        uint64   `json:"wave"`
	Time        string   `json:"time"`
	Event       string   `json:"event"` // id
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Agent       string   `json:"agent,omitempty"` // the one receiver; none: nobody may hear it
	Reason      string   `json:"reason"`
	Detail      string   `json:"detail,omitempty"`
	Priority    string   `json:"priority,omitempty"`
	Trace       string   `json:"trace,omitempty"`
	Chain       []string `json:"chain,omitempty"` // causes, oldest first
	Payload     any      `json:"payload"`
	Redelivered bool     `json:"redelivered"` // it was sent again already
	Sendable    bool     `json:"sendable"`    // its content is kept, so it can be

	draft *protocol.Draft
}

// DeadLetterQuery chooses dead letters; empty fields choose all.
type DeadLetterQuery struct {
	Span
	Reasons []string
	Types   []string // a name may end in *
	Agent   string   // source, target or receiver
	Limit   int      // 0 = all
}

// letterKinds is how a fact tells of messages that were refused. A kind of fact
// that does so is one line here.
func letterKinds() map[string]func(protocol.Fact) []DeadLetter {
	return map[string]func(protocol.Fact) []DeadLetter{
		bus.FactRefused:           refusedLetters,
		bus.FactRouted:            markedLetters,
		director.FactDeadLettered: mailboxLetters,
	}
}

func refusedLetters(f protocol.Fact) []DeadLetter {
	x := f.(*bus.Refused)
	l := DeadLetter{Event: x.ID, Type: x.Type, Source: x.Source, Reason: string(x.Reason), Detail: x.Detail, Priority: x.Priority.String(), Trace: x.TraceID, Chain: chain(x.Chain), Payload: value(x.Body)}
	if len(x.Targets) == 1 {
		l.Agent = x.Targets[0]
	}
	if x.Body != nil {
		l.draft, l.Sendable = x.Draft(), true
	}
	return []DeadLetter{l}
}

// markedLetters are deliveries of an event that others heard.
func markedLetters(f protocol.Fact) (list []DeadLetter) {
	x := f.(*bus.Routed)
	for _, m := range x.Marks {
		if m.Action != bus.LoopDrop {
			continue
		}
		list = append(list, DeadLetter{
			Event: x.ID, Type: x.Type, Source: x.Source, Agent: m.Agent, Reason: string(m.Reason), Priority: x.Priority.String(), Trace: x.TraceID, Chain: chain(x.Chain),
			Payload: value(x.Body), Sendable: true, draft: draftOf(x, m.Agent),
		})
	}
	return list
}

// draftOf is an event as it is sent to one agent again.
func draftOf(x *bus.Routed, agent string) *protocol.Draft {
	d := &protocol.Draft{ID: x.ID, Type: x.Type, Source: x.Source, Targets: []string{agent}, Priority: x.Priority, TraceID: x.TraceID, Chain: x.Chain, Ephemeral: x.Ephemeral, RequiresAck: x.RequiresAck, Body: x.Body}
	if x.Expires != 0 {
		d.TTL = x.Expires.Sub(x.Time)
	}
	return d
}

// mailboxLetters know no content: it is in the fact that routed the event.
func mailboxLetters(f protocol.Fact) []DeadLetter {
	x := f.(*director.DeadLettered)
	return []DeadLetter{{Event: x.Event, Type: x.Type, Reason: x.Reason, Chain: chain(x.Chain)}}
}

// letters are the dead letters that a fact tells of.
func (s *Scene) letters(r protocol.Record, f protocol.Fact) []DeadLetter {
	read := letterKinds()[r.Kind]
	if read == nil {
		return nil
	}
	return read(f)
}

// letterKey names a dead letter: the fact, and the receiver where it tells of
// several.
type letterKey struct {
	seq   uint64
	agent string
}

func keyOf(l *DeadLetter) letterKey { return letterKey{l.Seq, l.Agent} }

// DeadLetters hands over the dead letters that q chooses, in order.
func (s *Scene) DeadLetters(q DeadLetterQuery, yield func(DeadLetter) error) error {
	query, err := s.query(q.Span, persistence.Query{Kinds: slices.Collect(keys(letterKinds()))})
	if err != nil {
		return err
	}
	again, err := s.redelivered()
	if err != nil {
		return err
	}
	waves, n, read := s.waves(), 0, letterKinds()
	err = s.scan(query, func(r protocol.Record) error {
		fact, err := s.read(r)
		if err != nil {
			return err
		}
		for _, l := range read[r.Kind](fact) {
			if !q.wants(&l) {
				continue
			}
			l.Seq, l.Time = r.Seq, r.Time.String()
			l.Redelivered = again[keyOf(&l)]
			if l.Wave, err = waves.of(r.Seq); err != nil {
				return err
			}
			if err := yield(l); err != nil {
				return err
			}
			if n++; n == q.Limit {
				return errStop
			}
		}
		return nil
	})
	if err == nil && n == 0 {
		err = s.actor(q.Agent) // letters are also written to those who do not exist
	}
	return err
}

func (q *DeadLetterQuery) wants(l *DeadLetter) bool {
	return (len(q.Reasons) == 0 || slices.Contains(q.Reasons, l.Reason)) && matchesAny(q.Types, l.Type) &&
		(q.Agent == "" || q.Agent == l.Source || q.Agent == l.Agent || l.draft != nil && slices.Contains(l.draft.Targets, q.Agent))
}

// redelivered lists the dead letters that were sent again. They are as many as
// somebody asked for by hand.
func (s *Scene) redelivered() (map[letterKey]bool, error) {
	done := map[letterKey]bool{}
	err := s.journal.Scan(persistence.Query{Kinds: []string{director.FactRedelivered}}, func(r protocol.Record) error {
		fact, err := s.read(r)
		if x, ok := fact.(*director.Redelivered); ok {
			for _, l := range x.Letters {
				done[letterKey{l.Seq, l.Agent}] = true
			}
		}
		return err
	})
	return done, err
}

// LetterGroup counts dead letters that have something in common.
type LetterGroup struct {
	Name    string       `json:"name"`
	Count   int64        `json:"count"`
	First   string       `json:"first"` // time
	Last    string       `json:"last"`
	Types   []Count      `json:"types"`   // the most frequent
	Sources []Count      `json:"sources"` // the most frequent
	Example []DeadLetter `json:"example"` // the first one
}

// Groups of dead letters.
const (
	ByReason = "reason"
	ByType   = "type"
	BySource = "source"
)

// groupTops bounds the types and sources that a group names.
const groupTops = 5

// GroupDeadLetters counts the dead letters that q chooses by reason, type or
// source, the most frequent first.
func (s *Scene) GroupDeadLetters(q DeadLetterQuery, by string) ([]LetterGroup, error) {
	name := map[string]func(*DeadLetter) string{
		ByReason: func(l *DeadLetter) string { return l.Reason },
		ByType:   func(l *DeadLetter) string { return l.Type },
		BySource: func(l *DeadLetter) string { return l.Source },
	}[by]
	if name == nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "group %q: want %s, %s or %s", by, ByReason, ByType, BySource)
	}
	groups, types, sources, total := map[string]*LetterGroup{}, map[string]map[string]int64{}, map[string]map[string]int64{}, map[string]int64{}
	err := s.DeadLetters(q, func(l DeadLetter) error {
		key := name(&l)
		g := groups[key]
		if g == nil {
			g = &LetterGroup{Name: key, First: l.Time, Example: []DeadLetter{l}}
			groups[key], types[key], sources[key] = g, map[string]int64{}, map[string]int64{}
		}
		g.Last = l.Time
		total[key]++
		types[key][l.Type]++
		sources[key][l.Source]++
		return nil
	})
	list := []LetterGroup{}
	for _, c := range counts(total) {
		g := groups[c.Name]
		g.Count, g.Types, g.Sources = c.Count, firstOf(counts(types[c.Name])), firstOf(counts(sources[c.Name]))
		list = append(list, *g)
	}
	return list, err
}

func firstOf(list []Count) []Count { return list[:min(len(list), groupTops)] }

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, k := range protocol.SortedKeys(m) {
			if !yield(k) {
				return
			}
		}
	}
}
