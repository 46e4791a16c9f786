package ordinals_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tavernsim/engine/bus/ordinals"
)

// A set with and without an ordinal is what a list of them says, its runs neither touch nor overlap, and the
// set before is left as it was.
func TestWithAndWithout(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var rs ordinals.Ranges
		var want []uint32
		for range 60 {
			before, was := rs, slices.Clone(rs)
			o := rng.Uint32N(40)
			i, there := slices.BinarySearch(want, o)
			if rng.IntN(3) > 0 {
				if rs = rs.With(o); !there {
					want = slices.Insert(want, i, o)
				}
			} else if rs = rs.Without(o); there {
				want = slices.Delete(want, i, i+1)
			}
			if got := slices.Collect(rs.All()); !slices.Equal(got, want) || !slices.Equal(before, was) {
				t.Fatalf("seed %d: %v, want %v", seed, got, want)
			}
			for i := 1; i < len(rs); i++ {
				if rs[i-1].End() >= uint64(rs[i].From) {
					t.Fatalf("seed %d: the runs %v touch", seed, rs)
				}
			}
		}
	}
}
