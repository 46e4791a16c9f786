// Package ordinals holds sets of ordinals: of the agents of a scene that hear an event, or have
// a subscription.
package ordinals

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Range is a run of neighbouring ordinals.
type Range struct {
	From  uint32
	Count uint32
}

// End is the ordinal behind the run.
func (r Range) End() uint64 { return uint64(r.From) + uint64(r.Count) }

// Ranges is a set of ordinals: runs in ascending order that neither touch nor
// overlap. A shared set never changes: With and Without copy it; Push, Put and Drop are for
// its owner.
type Ranges []Range

// Len counts the ordinals.
func (rs Ranges) Len() int {
	n := 0
	for _, r := range rs {
		n += int(r.Count)
	}
	return n
}

// All yields the ordinals in ascending order.
func (rs Ranges) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, r := range rs {
			for i := range r.Count {
				if !yield(r.From + i) {
					return
				}
			}
		}
	}
}

// find is the index of the run that holds an ordinal, or of the next one.
func (rs Ranges) find(o uint32) int {
	return sort.Search(len(rs), func(i int) bool { return rs[i].End() > uint64(o) })
}

// Contains reports whether the set holds an ordinal.
func (rs Ranges) Contains(o uint32) bool {
	i := rs.find(o)
	return i < len(rs) && rs[i].From <= o
}

// Push adds an ordinal that is above all others, in place.
func (rs *Ranges) Push(o uint32) {
	if n := len(*rs); n > 0 && (*rs)[n-1].End() == uint64(o) {
		(*rs)[n-1].Count++
		return
	}
	*rs = append(*rs, Range{From: o, Count: 1})
}

// Put adds an ordinal, in place.
func (rs *Ranges) Put(o uint32) {
	list, i := *rs, rs.find(o)
	if i < len(list) && list[i].From <= o {
		return
	}
	before := i > 0 && list[i-1].End() == uint64(o)
	after := i < len(list) && uint64(list[i].From) == uint64(o)+1
	switch {
	case before && after:
		list[i-1].Count += 1 + list[i].Count
		*rs = slices.Delete(list, i, i+1)
	case before:
		list[i-1].Count++
	case after:
		list[i].From, list[i].Count = o, list[i].Count+1
	default:
		*rs = slices.Insert(list, i, Range{From: o, Count: 1})
	}
}

// Drop removes an ordinal, in place.
func (rs *Ranges) Drop(o uint32) {
	list, i := *rs, rs.find(o)
	if i == len(list) || list[i].From > o {
		return
	}
	before, after := o-list[i].From, uint32(list[i].End()-uint64(o)-1)
	switch {
	case before == 0 && after == 0:
		*rs = slices.Delete(list, i, i+1)
	case before == 0:
		list[i] = Range{From: o + 1, Count: after}
	default:
		list[i].Count = before
		if after > 0 {
			*rs = slices.Insert(list, i+1, Range{From: o + 1, Count: after})
		}
	}
}

// With returns the set with one more ordinal.
func (rs Ranges) With(o uint32) Ranges {
	if rs.Contains(o) {
		return rs
	}
	out := append(make(Ranges, 0, len(rs)+1), rs...)
	out.Put(o)
	return out
}

// Without returns the set without one ordinal.
func (rs Ranges) Without(o uint32) Ranges {
	if !rs.Contains(o) {
		return rs
	}
	out := append(make(Ranges, 0, len(rs)+1), rs...)
	out.Drop(o)
	return out
}

// And returns the ordinals of either set.
func (rs Ranges) And(other Ranges) Ranges { return Union([]Ranges{rs, other}) }

// Union merges sets. One set is returned as it is, shared.
func Union(sets []Ranges) Ranges {
	sets = slices.DeleteFunc(sets, func(rs Ranges) bool { return len(rs) == 0 })
	if len(sets) < 2 {
		return first(sets)
	}
	all := slices.Concat(sets...)
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	out := all[:1]
	for _, r := range all[1:] {
		last := &out[len(out)-1]
		if uint64(r.From) > last.End() {
			out = append(out, r)
			continue
		}
		if r.End() > last.End() {
			last.Count = uint32(r.End() - uint64(last.From))
		}
	}
	return out
}

func first(sets []Ranges) Ranges {
	if len(sets) == 0 {
		return nil
	}
	return sets[0]
}

// Minus returns the ordinals of rs that are not in other; rs itself if they have none
// in common.
func (rs Ranges) Minus(other Ranges) Ranges {
	if !rs.Meets(other) {
		return rs
	}
	var out Ranges
	rs.split(other, func(r Range, inside bool) {
		if !inside {
			out = append(out, r)
		}
	})
	return out
}

// Meets reports whether two sets have an ordinal in common.
func (rs Ranges) Meets(other Ranges) bool {
	for i, j := 0, 0; i < len(rs) && j < len(other); {
		switch {
		case rs[i].End() <= uint64(other[j].From):
			i++
		case other[j].End() <= uint64(rs[i].From):
			j++
		default:
			return true
		}
	}
	return false
}

// split visits the pieces of rs, each wholly inside or outside the other set.
func (rs Ranges) split(other Ranges, visit func(piece Range, inside bool)) {
	for _, r := range rs {
		from := uint64(r.From)
		for j := other.find(r.From); j < len(other) && uint64(other[j].From) < r.End(); j++ {
			low, high := max(from, uint64(other[j].From)), min(r.End(), other[j].End())
			if low > from {
				visit(Range{From: uint32(from), Count: uint32(low - from)}, false)
			}
			visit(Range{From: uint32(low), Count: uint32(high - low)}, true)
			from = high
		}
		if from < r.End() {
			visit(Range{From: uint32(from), Count: uint32(r.End() - from)}, false)
		}
	}
}

// Beyond reports whether the set holds an ordinal that n subscribers do not have.
func (rs Ranges) Beyond(n int) bool { return len(rs) > 0 && rs[len(rs)-1].End() > uint64(n) }

// AppendMsg encodes the set; nil stays nil.
func (rs Ranges) AppendMsg(b []byte) []byte {
	if rs == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(rs)))
	for _, r := range rs {
		b = msgp.AppendArrayHeader(b, 2)
		b = msgp.AppendUint32(b, r.From)
		b = msgp.AppendUint32(b, r.Count)
	}
	return b
}

// Read decodes a set, which [Ranges.Check] has to pass.
func Read(r *protocol.Reader) Ranges {
	n, ok := r.Count(3)
	if !ok {
		return nil
	}
	rs := make(Ranges, n)
	for i := range rs {
		r.Fields("range", 2)
		rs[i] = Range{From: r.Uint32(), Count: r.Uint32()}
	}
	return rs
}

// Check refuses stored ranges that are not sorted and apart.
func (rs Ranges) Check() error {
	for i, r := range rs {
		if r.Count == 0 || r.End() > 1<<32 || i > 0 && rs[i-1].End() >= uint64(r.From) {
			return protocol.Errorf(protocol.KindCorrupt, "a set of ordinals: run %d, of %d from %d, is out of order", i, r.Count, r.From)
		}
	}
	return nil
}
