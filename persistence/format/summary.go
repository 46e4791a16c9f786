package format

import (
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

// Summary collects, fact by fact, what the index will hold of a block. It is
// reused from block to block and allocates nothing on the way.
type Summary struct {
	minTime protocol.Time
	maxTime protocol.Time
	kinds   []string
	anyKind bool
	last    string // actor of the fact before; facts of one actor come in runs
	started bool
	actors  *bloom
	traces  *bloom // nil = they are not collected
	rule    byte
}

// NewSummary makes one for blocks of up to facts facts. With a rule that is not
// 0 it collects traces too.
func NewSummary(facts int, rule byte) *Summary {
	s := &Summary{kinds: make([]string, 0, MaxKinds), actors: newBloom(facts), rule: rule}
	if rule != 0 {
		s.traces = newBloom(facts)
	}
	return s
}

// Reset forgets everything.
func (s *Summary) Reset() {
	s.actors.reset()
	if s.traces != nil {
		s.traces.reset()
	}
	s.kinds, s.anyKind, s.started, s.last = s.kinds[:0], false, false, ""
}

// Add takes one fact into account. It keeps the strings until Reset.
func (s *Summary) Add(at protocol.Time, actor, kind string) {
	if !s.started {
		s.started, s.minTime, s.maxTime, s.last = true, at, at, actor
		s.actors.add(xxh3.HashString(actor))
	} else if actor != s.last {
		s.last = actor
		s.actors.add(xxh3.HashString(actor))
	}
	s.minTime, s.maxTime = min(s.minTime, at), max(s.maxTime, at)
	s.addKind(kind)
}

// AddTrace takes a trace of a fact into account; a summary needs a rule for it.
func (s *Summary) AddTrace(trace []byte) { s.traces.add(xxh3.Hash(trace)) }

func (s *Summary) addKind(kind string) {
	if s.anyKind {
		return
	}
	if slices.Contains(s.kinds, kind) {
		return
	}
	if len(s.kinds) == MaxKinds {
		s.kinds, s.anyKind = s.kinds[:0], true
		return
	}
	s.kinds = append(s.kinds, kind)
}

// Fill writes what was collected into an entry, the filters into buf, which it
// returns. The entry's slices belong to the summary and buf and are good until
// the next Reset or Fill.
func (s *Summary) Fill(e *Entry, buf []byte) []byte {
	slices.Sort(s.kinds)
	e.MinTime, e.MaxTime, e.Kinds, e.Rule = s.minTime, s.maxTime, s.kinds, s.rule
	if s.anyKind {
		e.Kinds = nil
	}
	buf = s.actors.append(buf[:0])
	actors := len(buf)
	if s.traces != nil {
		buf = s.traces.append(buf)
		e.Traces = buf[actors:]
	}
	e.Filter = buf[:actors]
	return buf
}

// bloom is a filter that is being filled.
type bloom struct {
	bits     []uint64
	folded   []uint64
	distinct int // names, about
}

func newBloom(facts int) *bloom {
	words := 1
	for words*8 < facts && words*8 < MaxFilter {
		words *= 2
	}
	return &bloom{bits: make([]uint64, words), folded: make([]uint64, words)}
}

func (f *bloom) reset() {
	clear(f.bits)
	f.distinct = 0
}

func (f *bloom) add(hash uint64) {
	lo, hi := filterBits(hash, uint32(len(f.bits)*64-1))
	before := f.bits[lo/64]>>(lo%64)&1 + f.bits[hi/64]>>(hi%64)&1
	if before < 2 {
		f.distinct++
		f.bits[lo/64] |= 1 << (lo % 64)
		f.bits[hi/64] |= 1 << (hi % 64)
	}
}

func (f *bloom) append(b []byte) []byte {
	for _, w := range f.fold() {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// fold halves the filter as long as eight bits per name remain.
func (f *bloom) fold() []uint64 {
	words := f.folded[:copy(f.folded, f.bits)]
	for len(words) > 1 && len(words)*32 >= 8*f.distinct {
		half := len(words) / 2
		for i, w := range words[half:] {
			words[i] |= w
		}
		words = words[:half]
	}
	return words
}
