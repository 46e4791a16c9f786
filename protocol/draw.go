package protocol

import "math/bits"

// Draw is a stream of chance that depends on its key alone: the run's seed, who
// draws and when. Equal keys give equal numbers on every machine, in every
// order of execution. Copying a Draw copies its position.
type Draw struct {
	key uint64
	n   uint64
}

// NewDraw keys a stream. Parts are mixed in order.
func NewDraw(seed uint64, parts ...uint64) Draw {
	key := mix(seed + golden)
	for _, p := range parts {
		key = mix(key ^ mix(p+golden))
	}
	return Draw{key: key}
}

// Sub derives an independent stream, so that a consumer which draws more or
// less does not move the numbers of its neighbours.
func (d Draw) Sub(parts ...uint64) Draw { return NewDraw(d.key, parts...) }

// Uint64 returns the next number of the stream.
func (d *Draw) Uint64() uint64 {
	d.n++
	return mix(d.key + d.n*golden)
}

// Float64 returns the next number in [0, 1).
func (d *Draw) Float64() float64 { return float64(d.Uint64()>>11) / (1 << 53) }

// IntN returns the next number in [0, n); n must be positive.
func (d *Draw) IntN(n int) int {
	if n <= 0 {
		panic("protocol: Draw.IntN needs a positive bound")
	}
	hi, _ := bits.Mul64(d.Uint64(), uint64(n))
	return int(hi)
}

// HashString keys a stream by text (FNV-1a).
func HashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	return h
}

const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64: a bijection in which every input bit
// moves every output bit.
func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
