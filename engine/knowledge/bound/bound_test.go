package bound

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/knowledge/score"
)

// Promise 1: no bound is below what it bounds, whatever the average length was and is; nor is that of a block.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const most = 1_000_000 // entries of a base
		count, now := rapid.Int64Range(1, most).Draw(rt, "count"), rapid.Int64Range(1, most).Draw(rt, "now")
		lengths, lengthsNow := count*rapid.Int64Range(1, 5000).Draw(rt, "average"), now*rapid.Int64Range(1, 5000).Draw(rt, "average now")+rapid.Int64Range(0, now-1).Draw(rt, "rest")
		weight, length := rapid.Int64Range(1, 10_000).Draw(rt, "weight"), rapid.Int64Range(1, 1_000_000).Draw(rt, "length")
		rare := rapid.Int64Range(1, 21<<16).Draw(rt, "rarity")
		ratio, shrink := Ratio(weight, score.Penalty(length, count, lengths)), Shrink(count, lengths, now, lengthsNow)
		got, bound := score.Contribution(rare, weight, score.Penalty(length, now, lengthsNow)), Of(rare, ratio, shrink)
		if got > bound {
			rt.Fatalf("adds %d, bound %d", got, bound)
		}
		entry := rapid.Int32Range(0, 3*Block-1).Draw(rt, "entry")
		row, upper := make(Levels, Blocks(3*Block)), make([]int64, 3)
		row.Raise(entry, ratio)
		row.Raise(entry, 1)
		row.Add(upper, rare, shrink)
		if upper[entry/Block] < bound || upper[(entry/Block+1)%3] != 0 {
			rt.Fatalf("bounds of blocks %v, of entry %d %d", upper, entry, bound)
		}
	})
}

// Promise 2: a level holds the ratios from the top of the one before.
func TestLevels(t *testing.T) {
	for k := int64(1); k < levels; k++ {
		if a, b := level(top(k)), level(top(k)+1); a != uint8(k) || b != uint8(k+1) {
			t.Errorf("top %d of level %d has level %d, the next ratio %d", top(k), k, a, b)
		}
	}
	if got := level(1 << 50); got != levels {
		t.Errorf("got %d", got)
	}
	if Blocks(0) != 0 || Blocks(1) != 1 || Blocks(Block) != 1 || Blocks(Block+1) != 2 {
		t.Error("blocks")
	}
}

// The highest bounds are those that a sort finds, also when there are few.
func TestHighest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		upper := rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 40).Draw(rt, "upper")
		got := Highest(upper)
		want := make([]int32, len(upper))
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(upper[b], upper[a]) })
		want = want[:min(len(want), first)]
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v of %v", got, want, upper)
		}
	})
}

// A place is found as by looking at all, from the front and from where its block begins.
func TestSeek(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const blocks = 4
		docs := rapid.SliceOfNDistinct(rapid.Int32Range(0, blocks*Block-1), 0, 200, rapid.ID[int32]).Draw(rt, "docs")
		slices.Sort(docs)
		list := make([]Posting, len(docs))
		for i, d := range docs {
			list[i].Doc = d
		}
		at := rapid.Int32Range(0, blocks*Block-1).Draw(rt, "at")
		want, _ := slices.BinarySearch(docs, at)
		if got := Seek(list, at); got != want {
			rt.Fatalf("%d of %v: %d, want %d", at, docs, got, want)
		}
		places := PlacesOf(list, blocks)
		if (places == nil) != (len(list) < 2*blocks) {
			rt.Fatalf("%d entries have the places %v", len(list), places)
		}
		if places != nil {
			if from := int(places[at/Block]); from+Seek(list[from:], at) != want || int(places[blocks]) != len(list) {
				rt.Fatalf("%d of %v by %v", at, docs, places)
			}
		}
	})
}
