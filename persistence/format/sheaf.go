package format

import (
	"slices"

	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

// Sheaf is facts of one moment that somebody has put into the form of a block, beside whoever
// appends them to a journal. It is reused; the zero value is empty.
type Sheaf struct {
	At     protocol.Time
	Facts  []byte // one behind the other, as AppendFact writes them
	Count  int
	kinds  []string
	actors []uint64 // hashes
	traces []uint64 // hashes
	last   string   // actor of the fact before
}

// Reset empties the sheaf, for facts of another moment.
func (s *Sheaf) Reset(at protocol.Time) {
	s.At, s.Facts, s.Count, s.last = at, s.Facts[:0], 0, ""
	s.kinds, s.actors, s.traces = s.kinds[:0], s.actors[:0], s.traces[:0]
}

// Add adds a fact that fits the limits ([CheckFact]). It copies data and keeps the strings until Reset.
func (s *Sheaf) Add(actor, kind string, data []byte) {
	s.Facts = AppendFact(s.Facts, s.At, actor, kind, data)
	s.Count++
	if actor != s.last || len(s.actors) == 0 {
		s.last, s.actors = actor, append(s.actors, xxh3.HashString(actor))
	}
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

// AddTrace takes a trace of a fact into account.
func (s *Sheaf) AddTrace(trace []byte) { s.traces = append(s.traces, xxh3.Hash(trace)) }

// Each yields the facts in their order. What it yields lies in the memory of the sheaf.
func (s *Sheaf) Each(yield func(Fact) error) error {
	for b := s.Facts; len(b) > 0; {
		f, rest, err := ReadFact(b)
		if err != nil {
			return err
		}
		if err := yield(f); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// AddSheaf takes the facts of a sheaf into account, as Add and AddTrace would one by one.
func (s *Summary) AddSheaf(sheaf *Sheaf) {
	if sheaf.Count == 0 {
		return
	}
	if !s.started {
		s.started, s.minTime, s.maxTime = true, sheaf.At, sheaf.At
	}
	s.minTime, s.maxTime, s.last = min(s.minTime, sheaf.At), max(s.maxTime, sheaf.At), ""
	for _, h := range sheaf.actors {
		s.actors.add(h)
	}
	for _, k := range sheaf.kinds {
		s.addKind(k)
	}
	if s.traces != nil {
		for _, h := range sheaf.traces {
			s.traces.add(h)
		}
	}
}
