// Package span encodes ended turns for the way from the worker that ran them to the stage.
//
// # Promises
//
//  1. The facts of the turns have the form of the journal, in the order in which the turns were added.
//  2. A turn that cannot be added leaves the span unchanged.
//  3. The stage keeps no reference into the memory of a span, except requests and the bytes of facts.
package span

import (
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/tally"
)

// Span is the ends of deliberations of neighbours in the order of a wave, as the worker sealed them
// that ran them: their facts are encoded and counted, so that the stage takes them whole. A turn that
// ends apart from its neighbours is a span of one. A turn with simulated latency is the last of its
// span, because facts of the stage may follow its own.
type Span struct {
	Wave   uint64       // with which they were woken
	Urgent bool         // realtime: it publishes a critical event
	Turns  []Turn       // in the order of the wave
	Facts  format.Sheaf // of all turns; its moment is that at which the deliberations began
	Kinds  []Number     // of facts, by kind
	Calls  []Number     // by tool and status

	paid     bool                // the stage looks at answers of models
	types    []protocol.FactType // of Kinds, one for one
	requests []protocol.Sequenced
	data     []byte // of the requests
	encoded  []byte // of the turn that is added
	list     []protocol.KindData
}

// Turn is the end of one deliberation.
type Turn struct {
	Agent    uint32 // ordinal
	End      agentfact.TurnEnded
	Others   []protocol.KindData  // decoded facts at which the stage looks, beside the end
	Requests []protocol.Sequenced // to the services
	Came     []protocol.Fact      // for verify: what the stage made of requests that nobody recorded
}

// Number is how often there is something.
type Number struct {
	Name   string
	Status protocol.CallStatus // of a call
	N      int64
}

// Open empties a span for turns that were woken with a wave at a moment. With budgets (paid) the stage
// looks at answers of models.
func (s *Span) Open(paid bool, wave uint64, at protocol.Time) {
	clear(s.Turns)
	clear(s.requests)
	s.Wave, s.Urgent, s.paid = wave, false, paid
	s.Turns, s.requests, s.data, s.Kinds, s.Calls, s.types = s.Turns[:0], s.requests[:0], s.data[:0], s.Kinds[:0], s.Calls[:0], s.types[:0]
	s.Facts.Reset(at)
}

// Ended adds the end of a deliberation: its facts, the last of which is its end, and its requests. An
// error leaves the span as it was.
func (s *Span) Ended(c *protocol.Codec, agent uint32, actor string, facts []protocol.Fact, requests []protocol.Sequenced) (err error) {
	s.encoded, s.list = s.encoded[:0], s.list[:0]
	for _, f := range facts {
		from := len(s.encoded)
		if s.encoded, err = c.Append(s.encoded, f); err != nil {
			return err
		}
		s.list = append(s.list, protocol.KindData{Kind: f.FactKind(), Data: s.encoded[from:len(s.encoded):len(s.encoded)], Fact: f})
	}
	defer clear(s.list)
	return s.Add(c, agent, actor, s.list, requests)
}

// Add is Ended with facts that are encoded.
func (s *Span) Add(c *protocol.Codec, agent uint32, actor string, facts []protocol.KindData, requests []protocol.Sequenced) error {
	if len(facts) == 0 || facts[len(facts)-1].Kind != agentfact.FactTurnEnded {
		return protocol.Errorf(protocol.KindInternal, "the turn of %s has no end", actor)
	}
	n, kinds := len(s.Turns), len(s.Kinds)
	s.Turns = append(s.Turns, Turn{Agent: agent})
	for i := range facts {
		if err := s.look(c, &s.Turns[n], actor, &facts[i]); err != nil {
			s.Turns, s.Kinds, s.types = s.Turns[:n], s.Kinds[:kinds], s.types[:kinds]
			return err
		}
	}
	for i := range facts {
		f := &facts[i]
		s.Facts.Add(actor, f.Kind, f.Data)
		k := s.kindOf(c, f.Kind)
		s.types[k].Traces(f.Data, s.Facts.AddTrace)
		s.Kinds[k].N++
		if x, ok := f.Fact.(*tally.CallSeen); ok {
			count(&s.Calls, x.Tool, x.Status)
		} else if x, ok := f.Fact.(*agentfact.CallMade); ok {
			count(&s.Calls, x.Tool, x.Status)
		}
	}
	first := len(s.requests)
	for _, r := range requests {
		from := len(s.data)
		s.data = append(s.data, r.Data...)
		s.requests = append(s.requests, protocol.Sequenced{To: r.To, Data: s.data[from:len(s.data):len(s.data)]})
	}
	s.Turns[n].Requests = s.requests[first:len(s.requests):len(s.requests)]
	return nil
}

// look decodes what the stage will look at.
func (s *Span) look(c *protocol.Codec, t *Turn, actor string, f *protocol.KindData) error {
	if err := format.CheckFact(actor, f.Kind, f.Data); err != nil {
		return err
	}
	switch x := f.Fact.(type) {
	case *agentfact.TurnEnded:
		t.End = *x
		return nil
	case *agentfact.CallMade:
		return nil
	}
	switch {
	case f.Kind == agentfact.FactCallMade:
		seen := &tally.CallSeen{}
		f.Fact = seen
		return seen.Read(f.Data)
	case s.types[s.kindOf(c, f.Kind)].Bytes && !(s.paid && f.Kind == agentfact.FactModelAnswered):
		return nil
	}
	own := protocol.KindData{Kind: f.Kind, Data: slices.Clone(f.Data)} // observations hold it longer than the span
	var err error
	if own.Fact, err = c.ReadFact(own.Kind, own.Data); err != nil {
		return err
	}
	if x, ok := own.Fact.(*agentfact.TurnEnded); ok {
		t.End = *x
	} else {
		t.Others = append(t.Others, own)
	}
	return nil
}

// kindOf is the place of a kind, which the codec looks up once for all facts of the span.
func (s *Span) kindOf(c *protocol.Codec, kind string) int {
	for i := range s.Kinds {
		if s.Kinds[i].Name == kind {
			return i
		}
	}
	s.types = append(s.types, c.FactType(kind))
	s.Kinds = append(s.Kinds, Number{Name: kind})
	return len(s.Kinds) - 1
}

func count(list *[]Number, name string, status protocol.CallStatus) {
	for i := range *list {
		if x := &(*list)[i]; x.Name == name && x.Status == status {
			x.N++
			return
		}
	}
	*list = append(*list, Number{name, status, 1})
}

// Each yields the facts of a span as records, as a journal has them.
func (s *Span) Each(yield func(protocol.Record) error) error {
	return s.Facts.Each(func(f format.Fact) error {
		return yield(protocol.Record{Time: f.Time, Actor: string(f.Actor), Kind: string(f.Kind), Data: f.Data})
	})
}

// Begins reports whether the turns are the first of an order.
func (s *Span) Begins(order []uint32) bool {
	for i := range s.Turns {
		if s.Turns[i].Agent != order[i] {
			return false
		}
	}
	return true
}
