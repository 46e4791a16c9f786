// Package bound computes the most that a term can add to the score of an entry, so that a search
// can skip entries, and whole blocks of them, that cannot be among the best (agent
// architecture §3.4). It also finds where an entry or a block begins in the list of a term.
//
// # Promises
//
//  1. No bound is below the score that it bounds (package engine/knowledge/score), even if the
//     average length has changed since: skipping changes no answer.
//  2. Everything is a pure function of integers.
//
// # Not here
//
// The search itself (package engine/knowledge).
package bound

import (
	"math/bits"
	"slices"
)

// One is the ratio 1.
const One = 1 << 16

// Ratio is weight/penalty, rounded up.
func Ratio(weight, penalty int64) int64 {
	return (weight*1000*One + penalty - 1) / penalty
}

// Shrink bounds from below how much smaller penalties are with the average length of
// the base than with that of a layer, with which the ratios were made.
func Shrink(count, lengths, countNow, lengthsNow int64) int64 {
	was, now := max(lengths<<10/count, 1), lengthsNow<<10/countNow+1
	c := int64(One)
	if was < now {
		c = was * One / now
	}
	return c - c/64 // penalties are rounded
}

// Of bounds the contribution of a term of a rarity for ratios up to one.
func Of(rarity, ratio, shrink int64) int64 {
	return rarity * (whole*ratio/(ratio+shrink) + 1) >> 16
}

// whole is what an endless ratio would add, in millionths of the rarity.
const whole = 2_200_000

// Block is how many entries share a bound. A search keeps a bit for each of them.
const Block = 64

// Blocks is how many blocks so many entries have.
func Blocks(entries int) int { return (entries + Block - 1) / Block }

// Levels of ratios: four for each doubling from 1/256 to 16; the last has no end.
const (
	levels = 50
	least  = 6 // binary places of a ratio below which nothing is told apart
)

// Levels are the highest levels of a term in each block; 0 = no entry there has it. A row
// takes a byte for each block.
type Levels []uint8

// Raise notes that an entry has the term with a ratio.
func (l Levels) Raise(entry int32, ratio int64) {
	b := entry / Block
	l[b] = max(l[b], level(ratio))
}

// level is the least whose top is not below a ratio.
func level(ratio int64) uint8 {
	x := uint64(ratio+1<<least-1) >> least
	if x <= 4 {
		return 1
	}
	e := bits.Len64(x-1) - 3 // x-1 has three places beside these
	return uint8(min(4*e+int((x-1)>>e)-2, levels))
}

// top is the highest ratio of a level that has an end.
func top(level int64) int64 {
	return (4 + (level-1)%4) << ((level-1)/4 + least)
}

// Add adds the bounds of a term of a rarity to those of the blocks.
func (l Levels) Add(upper []int64, rarity, shrink int64) {
	var of [levels + 1]int64
	for k := range int64(levels - 1) {
		of[k+1] = Of(rarity, top(k+1), shrink)
	}
	of[levels] = rarity * (whole + 1) >> 16
	for b, k := range l {
		upper[b] += of[k]
	}
}

// first is how many blocks a search looks at before the others, so that the least of the
// best is high from the beginning.
const first = 8

// Highest are the blocks with the highest bounds, at most eight, from front to back.
func Highest(upper []int64) []int32 {
	out := make([]int32, 0, first)
	for b, most := range upper {
		if len(out) == first {
			if most <= upper[out[first-1]] {
				continue
			}
			out = out[:first-1]
		}
		i := len(out)
		for i > 0 && upper[out[i-1]] < most {
			i--
		}
		out = slices.Insert(out, i, int32(b))
	}
	slices.Sort(out)
	return out
}

// grades is how many lists a term of many entries has, by its ratios, so that a search can
// leave out those of which it adds little.
const grades = 4

// Lists says how many lists a term of so many entries has, and whether it has levels.
func Lists(entries, blocks int) (n int32, levels bool) {
	const least, perEntry = 64, 4 // entries of a term that is split; blocks for each of them, at most
	if entries < least {
		return 1, false
	}
	return grades, entries*perEntry >= blocks
}

// Grade says in which of the lists of a term an entry is.
func Grade(ratio int64) int32 {
	switch {
	case ratio < One/4:
		return 0
	case ratio < One/2:
		return 1
	case ratio < One:
		return 2
	}
	return 3
}
