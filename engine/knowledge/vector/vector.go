// Package vector compares texts by their vectors of integers from -127 to
// 127, with exact integer arithmetic, so that every machine ranks the same.
//
// # Promises
//
//  1. [Vector.Cosine] depends on the two vectors alone, is the same in both orders, and is
//     between -1,000,000 and 1,000,000.
//  2. What [Pack] writes, [Unpack] reads.
//  3. Only [Of] uses floating point. The code that asked a model calls it once, before
//     the vector is kept.
//
// # Not here
//
// Requests for vectors (engine/agent), their source (llm/embed), and their weight in a
// rank (engine/knowledge).
package vector

import (
	"encoding/base64"
	"math"
	"math/bits"

	"tavernsim/protocol"
)

// MaxDimensions bounds a vector.
const MaxDimensions = 65_536

// one is the cosine of a vector with itself.
const one = 1_000_000

// Vector is a direction. The zero Vector is none: it is like nothing. A Vector is never
// written once it is made.
type Vector struct {
	at   []int8
	norm int64 // its length, in 65,536ths
}

// New makes a vector, which takes the list over.
func New(at []int8) Vector {
	v := Vector{at: at}
	if square := int64(Dot(at, at)); square > 0 {
		v.norm = root(square << 32)
		return v
	}
	return Vector{}
}

// Of makes a vector of what a model gave: the largest component becomes 127.
func Of(list []float32) []int8 {
	most := float32(0)
	for _, x := range list {
		most = max(most, float32(math.Abs(float64(x))))
	}
	out := make([]int8, len(list))
	for i, x := range list {
		if most > 0 {
			out[i] = int8(math.Round(float64(x) / float64(most) * 127))
		}
	}
	return out
}

// Sum makes a vector of sums of whole numbers: the largest component becomes 127.
func Sum(list []int64) []int8 {
	most := int64(0)
	for _, x := range list {
		most = max(most, x, -x)
	}
	out := make([]int8, len(list))
	for i, x := range list {
		if most > 0 {
			out[i] = int8((2*127*x + sign(x)*most) / (2 * most)) // rounded
		}
	}
	return out
}

func sign(x int64) int64 {
	if x < 0 {
		return -1
	}
	return 1
}

// None reports the vector that is none.
func (v Vector) None() bool { return v.norm == 0 }

// Dimensions are the number of its components.
func (v Vector) Dimensions() int { return len(v.at) }

// Components are its numbers, or so many zeros if it is none.
func (v Vector) Components(n int) []int8 {
	if v.None() {
		return make([]int8, n)
	}
	return v.at
}

// Bytes are components, a byte each.
func Bytes(at []int8) []byte {
	out := make([]byte, len(at))
	for i, x := range at {
		out[i] = byte(x)
	}
	return out
}

// Widest is the most dimensions that a vector of a list has, at least 1.
func Widest(list []Vector) int {
	n := 1
	for _, v := range list {
		n = max(n, v.Dimensions())
	}
	return n
}

// Read makes a vector of its components.
func Read(data []byte) Vector {
	at := make([]int8, len(data))
	for i, x := range data {
		at[i] = int8(x)
	}
	return New(at)
}

// Cosine of two vectors in millionths; 0 if one is none, or they have other dimensions.
func (v Vector) Cosine(w Vector) int64 {
	if v.norm == 0 || w.norm == 0 || len(v.at) != len(w.at) {
		return 0
	}
	dot := int64(Dot(v.at, w.at))
	if dot < 0 {
		return -share(-dot, v.norm*w.norm)
	}
	return share(dot, v.norm*w.norm)
}

// share is dot/norms in millionths; norms in 65,536ths of 65,536ths.
func share(dot, norms int64) int64 {
	hi, lo := bits.Mul64(uint64(dot), one<<32)
	out, _ := bits.Div64(hi, lo, uint64(norms))
	return int64(min(out, one))
}

// Dot is the sum of the products of two lists of one length.
func Dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 {
		s0 += int32(a[0])*int32(b[0]) + int32(a[4])*int32(b[4])
		s1 += int32(a[1])*int32(b[1]) + int32(a[5])*int32(b[5])
		s2 += int32(a[2])*int32(b[2]) + int32(a[6])*int32(b[6])
		s3 += int32(a[3])*int32(b[3]) + int32(a[7])*int32(b[7])
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// root is the whole part of a square root.
func root(x int64) int64 {
	r := uint64(math.Sqrt(float64(x))) // near; what follows makes it exact
	for r*r > uint64(x) {
		r--
	}
	for (r+1)*(r+1) <= uint64(x) {
		r++
	}
	return int64(r)
}

// Pack writes vectors of one length as a text.
func Pack(list [][]int8) string {
	var data []byte
	for _, at := range list {
		data = append(data, Bytes(at)...)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// Unpack reads so many vectors out of a text. A text without any word that has a vector is
// given a vector of zeros.
func Unpack(text string, n int) ([]Vector, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || n == 0 || len(data) == 0 || len(data)%n != 0 || len(data)/n > MaxDimensions {
		return nil, protocol.Errorf(protocol.KindInvalid, "no %d vectors of 1 to %d dimensions", n, MaxDimensions)
	}
	size := len(data) / n
	list := make([]Vector, n)
	for i := range list {
		list[i] = Read(data[i*size : (i+1)*size])
	}
	return list, nil
}
