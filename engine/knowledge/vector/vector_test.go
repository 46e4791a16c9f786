package vector

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestKnownCosines(t *testing.T) {
	v := func(at ...int8) Vector { return New(at) }
	for _, c := range []struct {
		a, b Vector
		want int64
	}{
		{v(1, 0), v(127, 0), 1_000_000}, {v(1, 0), v(-5, 0), -1_000_000}, {v(1, 0), v(0, 3), 0}, {v(3, 4), v(4, 3), 960_000},
		{v(0, 0), v(1, 1), 0}, {Vector{}, v(1), 0}, {v(1), v(1, 1), 0}, {v(-128, -128), v(-128, -128), 1_000_000},
	} {
		if got := c.a.Cosine(c.b); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.a.at, c.b.at, got, c.want)
		}
	}
}

// Promises 1, 2 and 3: whole cosines are what floating point gives, but for a few millionths, the
// same in both orders, and of what was packed.
func TestCosines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(r, "n")
		a, b := rapid.SliceOfN(rapid.Int8(), n, n).Draw(r, "a"), rapid.SliceOfN(rapid.Int8(), n, n).Draw(r, "b")
		var dot, x, y float64
		for i := range a {
			dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
		}
		want := 0.0
		if x*y > 0 {
			want = 1e6 * dot / math.Sqrt(x*y)
		}
		list, err := Unpack(Pack([][]int8{a, b}), 2)
		if err != nil {
			r.Fatal(err)
		}
		got := list[0].Cosine(list[1])
		if math.Abs(float64(got)-want) > 12 || got != New(b).Cosine(New(a)) || got > one || got < -one {
			r.Fatalf("%d, want %f", got, want)
		}
	})
}

func TestUnpackRefuses(t *testing.T) {
	for text, n := range map[string]int{"": 1, "?": 1, "AAAA": 2, "AAA=": 0} {
		if _, err := Unpack(text, n); err == nil {
			t.Errorf("%q holds %d vectors", text, n)
		}
	}
}

func TestLargestComponentIs127(t *testing.T) {
	for _, got := range [][]int8{Of([]float32{0.5, -1, 0.004, 0}), Sum([]int64{500, -1000, 4, 0})} {
		if want := []int8{64, -127, 1, 0}; string(Bytes(want)) != string(Bytes(got)) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := append(Of(make([]float32, 2)), Sum(make([]int64, 2))...); Dot(got, got) != 0 {
		t.Errorf("nothing became %v", got)
	}
}

func BenchmarkDot(b *testing.B) {
	const rows, dims = 100_000, 384
	all, q := make([]int8, rows*dims), make([]int8, dims)
	for i := range all {
		all[i] = int8(i*7919>>3) | 1
	}
	copy(q, all[3:])
	for b.Loop() {
		for i := 0; i < len(all); i += dims {
			Dot(all[i:i+dims], q)
		}
	}
}
