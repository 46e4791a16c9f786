// Package score has the one rule that ranks texts for a query: entries of knowledge
// bases, and episodes of an agent (agent architecture §3.4).
//
//	score = BM25 × (1 + importance + use + recency)
//
// Everything here is a pure function of integers: floating point may differ between
// processors.
//
// # Promises
//
//  1. Equal arguments give equal numbers on every machine.
//  2. [Halved] and [LowerBound] are between 0 and [Million], and never grow with age.
//
// # Not here
//
// Terms of texts (package engine/knowledge/words), indexes, and the searched texts.
package score

import "math/bits"

// Million is the whole of a share.
const Million = 1_000_000

// Weights of the places where a term may stand, in fifths.
const (
	InHead      = 10 // title and tags count twice
	InBody      = 5
	InNeighbour = 2
)

// Scaled is score × millionths.
func Scaled(score, millionths int64) int64 {
	if millionths == Million {
		return score
	}
	hi, lo := bits.Mul64(uint64(score), uint64(millionths))
	out, _ := bits.Div64(hi, lo, Million)
	return int64(out)
}

// Enough is the least score that, scaled by so many millionths, is not below another.
func Enough(scaled, millionths int64) int64 {
	hi, lo := bits.Mul64(uint64(scaled), Million)
	lo, carry := bits.Add64(lo, uint64(millionths-1), 0)
	out, _ := bits.Div64(hi+carry, lo, uint64(millionths))
	return int64(out)
}

// Rarity is BM25's idf, log2((2N+2)/(2n+1)), with 16 binary places.
func Rarity(all, holding int) int64 {
	x := uint64(2*all+2) << 31 / uint64(2*holding+1)
	shift := bits.Len64(x) - 32
	result := int64(shift) << 16
	if shift > 0 {
		x >>= shift
	} else {
		x <<= -shift
	}
	for bit := int64(1) << 15; bit > 0; bit >>= 1 { // x is in [1,2) with 31 places
		if x = x * x >> 31; x >= 1<<32 {
			x >>= 1
			result += bit
		}
	}
	return result
}

// Penalty is what the length of an entry does to its terms: k1*(1-b+b*length/average),
// k1 1.2, b 0.75, in thousandths of a fifth. The average is lengths/count.
func Penalty(length, count, lengths int64) int64 {
	return InBody * (300 + 900*length*count/lengths)
}

// Contribution of one term: rarity * n*(k1+1) / (n + penalty), in millionths; n in
// fifths.
func Contribution(rarity, n, penalty int64) int64 {
	share := n * 2_200_000_000 / (n*1000 + penalty)
	return rarity * share >> 16
}

// LowerBound of a share, at 95 % (Wilson), in millionths: one success of one is worth
// 0.21, 90 of 100 are worth 0.83.
func LowerBound(of, all int64) int64 {
	if of <= 0 || all <= 0 {
		return 0
	}
	spread := isqrt(of*(all-of)*Million/all + 960_400) // thousandths
	return max(0, (of*Million+1_920_800-1960*spread)*Million/(all*Million+3_841_600))
}

// isqrt is the whole part of a square root.
func isqrt(x int64) int64 {
	root := int64(0)
	for bit := int64(1) << 31; bit > 0; bit >>= 1 {
		if next := root | bit; next*next <= x && next < 3_037_000_500 {
			root = next
		}
	}
	return root
}

// Halved is 2^(-age/halfLife) in millionths.
func Halved(age, halfLife int64) int64 {
	whole := age / halfLife
	if whole >= 20 {
		return 0 // less than a millionth
	}
	hi, lo := bits.Mul64(uint64(age%halfLife), 1<<16)
	part, _ := bits.Div64(hi, lo, uint64(halfLife))
	x := uint64(Million) << 11
	for i, root := range roots() {
		if part&(1<<(15-i)) != 0 {
			x = x * root >> 32
		}
	}
	return int64(x >> 11 >> whole)
}

// roots are 2^(-1/2), 2^(-1/4), …, 2^(-1/65536), with 32 binary places.
func roots() [16]uint64 {
	return [16]uint64{
		3037000499, 3611622602, 3938502375, 4112874773, 4202935003, 4248701964, 4271771996, 4283353945,
		4289156690, 4292061009, 4293513906, 4294240539, 4294603902, 4294785595, 4294876444, 4294921870,
	}
}
