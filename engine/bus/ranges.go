package bus

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Range is a run of neighbouring ordinals.
type Range struct {
	From  uint32
	Count uint32
}

func (r Range) end() uint64 { return uint64(r.From) + uint64(r.Count) }

// Ranges is a set of ordinals: runs in ascending order that neither touch nor
// overlap. A shared set never changes; with and without copy it.
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
	return sort.Search(len(rs), func(i int) bool { return rs[i].end() > uint64(o) })
}

// Contains reports whether the set holds an ordinal.
func (rs Ranges) Contains(o uint32) bool {
	i := rs.find(o)
	return i < len(rs) && rs[i].From <= o
}

// push adds an ordinal that is above all others, in place.
func (rs *Ranges) push(o uint32) {
	if n := len(*rs); n > 0 && (*rs)[n-1].end() == uint64(o) {
		(*rs)[n-1].Count++
		return
	}
	*rs = append(*rs, Range{From: o, Count: 1})
}

// with returns the set with one more ordinal.
func (rs Ranges) with(o uint32) Ranges {
	if rs.Contains(o) {
		return rs
	}
	return union([]Ranges{rs, {{From: o, Count: 1}}})
}

// without returns the set without one ordinal.
func (rs Ranges) without(o uint32) Ranges {
	i := rs.find(o)
	if i == len(rs) || rs[i].From > o {
		return rs
	}
	out := slices.Clone(rs[:i])
	if before := o - rs[i].From; before > 0 {
		out = append(out, Range{From: rs[i].From, Count: before})
	}
	if after := rs[i].end() - uint64(o) - 1; after > 0 {
		out = append(out, Range{From: o + 1, Count: uint32(after)})
	}
	return append(out, rs[i+1:]...)
}

// And returns the ordinals of either set.
func (rs Ranges) And(other Ranges) Ranges { return union([]Ranges{rs, other}) }

// union merges sets. One set is returned as it is, shared.
func union(sets []Ranges) Ranges {
	sets = slices.DeleteFunc(sets, func(rs Ranges) bool { return len(rs) == 0 })
	if len(sets) < 2 {
		return first(sets)
	}
	all := slices.Concat(sets...)
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	out := all[:1]
	for _, r := range all[1:] {
		last := &out[len(out)-1]
		if uint64(r.From) > last.end() {
			out = append(out, r)
			continue
		}
		if r.end() > last.end() {
			last.Count = uint32(r.end() - uint64(last.From))
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

// minus returns the ordinals of rs that are not in other; rs itself if they have none
// in common.
func (rs Ranges) minus(other Ranges) Ranges {
	if !rs.meets(other) {
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

// meets reports whether two sets have an ordinal in common.
func (rs Ranges) meets(other Ranges) bool {
	for i, j := 0, 0; i < len(rs) && j < len(other); {
		switch {
		case rs[i].end() <= uint64(other[j].From):
			i++
		case other[j].end() <= uint64(rs[i].From):
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
		for j := other.find(r.From); j < len(other) && uint64(other[j].From) < r.end(); j++ {
			low, high := max(from, uint64(other[j].From)), min(r.end(), other[j].end())
			if low > from {
				visit(Range{From: uint32(from), Count: uint32(low - from)}, false)
			}
			visit(Range{From: uint32(low), Count: uint32(high - low)}, true)
			from = high
		}
		if from < r.end() {
			visit(Range{From: uint32(from), Count: uint32(r.end() - from)}, false)
		}
	}
}

// beyond reports whether the set holds an ordinal that n subscribers do not have.
func (rs Ranges) beyond(n int) bool { return len(rs) > 0 && rs[len(rs)-1].end() > uint64(n) }
