package format

import (
	"encoding/binary"
	"slices"

	"tavernsim/protocol"
)

// Summary collects, fact by fact, what the index will hold of a block. It is
// reused from block to block and allocates nothing on the way.
type Summary struct {
	minTime  protocol.Time
	maxTime  protocol.Time
	kinds    []string
	anyKind  bool
	last     string // actor of the fact before; facts of one actor come in runs
	started  bool
	distinct int // actors, about
	bits     []uint64
	folded   []uint64
}

// NewSummary makes one for blocks of up to facts facts.
func NewSummary(facts int) *Summary {
	words := 1
	for words*8 < facts && words*8 < MaxFilter {
		words *= 2
	}
	return &Summary{kinds: make([]string, 0, MaxKinds), bits: make([]uint64, words), folded: make([]uint64, words)}
}

// Reset forgets everything.
func (s *Summary) Reset() {
	clear(s.bits)
	s.kinds, s.anyKind, s.started, s.distinct, s.last = s.kinds[:0], false, false, 0, ""
}

// Add takes one fact into account. It keeps the strings until Reset.
func (s *Summary) Add(at protocol.Time, actor, kind string) {
	if !s.started {
		s.started, s.minTime, s.maxTime = true, at, at
		s.addActor(actor)
	} else if actor != s.last {
		s.addActor(actor)
	}
	s.minTime, s.maxTime = min(s.minTime, at), max(s.maxTime, at)
	s.addKind(kind)
}

func (s *Summary) addActor(actor string) {
	s.last = actor
	lo, hi := actorBits(actor, uint32(len(s.bits)*64-1))
	before := s.bits[lo/64]>>(lo%64)&1 + s.bits[hi/64]>>(hi%64)&1
	if before < 2 {
		s.distinct++
		s.bits[lo/64] |= 1 << (lo % 64)
		s.bits[hi/64] |= 1 << (hi % 64)
	}
}

func (s *Summary) addKind(kind string) {
	if s.anyKind {
		return
	}
	for _, k := range s.kinds {
		if k == kind {
			return
		}
	}
	if len(s.kinds) == MaxKinds {
		s.kinds, s.anyKind = s.kinds[:0], true
		return
	}
	s.kinds = append(s.kinds, kind)
}

// Fill writes what was collected into an entry. The entry's slices belong to
// the summary and are good until its next Reset or Fill.
func (s *Summary) Fill(e *Entry, filter []byte) []byte {
	slices.Sort(s.kinds)
	e.MinTime, e.MaxTime, e.Kinds = s.minTime, s.maxTime, s.kinds
	if s.anyKind {
		e.Kinds = nil
	}
	filter = filter[:0]
	for _, w := range s.fold() {
		filter = binary.LittleEndian.AppendUint64(filter, w)
	}
	e.Filter = filter
	return filter
}

// fold halves the filter as long as eight bits per actor remain.
func (s *Summary) fold() []uint64 {
	words := s.folded[:copy(s.folded, s.bits)]
	for len(words) > 1 && len(words)*32 >= 8*s.distinct {
		half := len(words) / 2
		for i, w := range words[half:] {
			words[i] |= w
		}
		words = words[:half]
	}
	return words
}
