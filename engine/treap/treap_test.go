package treap

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// A tree does what a sorted list does, and a copy stays as it was.
func TestAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree, kept Tree[int]
		var list, before []Item[int]
		keys := rapid.SampledFrom([]string{"", "a", "a\x00", "ab", "b"})
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			x := Item[int]{keys.Draw(t, "key"), rapid.Uint64Range(0, 9).Draw(t, "number"), protocol.Time(rapid.IntRange(0, 9).Draw(t, "until")), i}
			list = slices.DeleteFunc(slices.Clone(list), func(y Item[int]) bool { return y.Key == x.Key && y.Number == x.Number })
			if rapid.Bool().Draw(t, "with") {
				tree, list = tree.With(x), append(list, x)
			} else {
				tree = tree.Without(x.Key, x.Number)
			}
			slices.SortFunc(list, func(a, b Item[int]) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Number, b.Number)) })
			if i == 30 {
				kept, before = tree, list
			}
			equal(t, tree, list)
			search(t, tree, list, keys.Draw(t, "from"), keys.Draw(t, "before"))
		}
		equal(t, kept, before)
	})
}

func equal(t *rapid.T, tree Tree[int], list []Item[int]) {
	values := func(which func(Item[int]) bool) (out []int) {
		for _, x := range list {
			if which(x) {
				out = append(out, x.Value)
			}
		}
		return out
	}
	got := func(seq iter.Seq[*Item[int]]) (out []int) {
		for x := range seq {
			out = append(out, x.Value)
		}
		return out
	}
	if got, want := got(tree.All), values(func(Item[int]) bool { return true }); !slices.Equal(got, want) || (tree.root == nil) != (len(want) == 0) {
		t.Fatalf("all: %v, want %v", got, want)
	}
	for _, key := range []string{"", "a", "ab", "c"} {
		want := values(func(x Item[int]) bool { return x.Key == key })
		if got := got(tree.At(key)); !slices.Equal(got, want) {
			t.Fatalf("at %q: %v, want %v", key, got, want)
		}
		if x := tree.Get(key); (x != nil) != (len(want) > 0) || x != nil && x.Value != want[0] {
			t.Fatalf("get %q: %v, want the first of %v", key, x, want)
		}
	}
	first, some := tree.Until()
	if some != (len(list) > 0) || some && first != slices.MinFunc(list, func(a, b Item[int]) int { return cmp.Compare(a.Until, b.Until) }).Until {
		t.Fatalf("until %v", first)
	}
	for by := range protocol.Time(10) {
		if got, want := got(tree.Ended(by)), values(func(x Item[int]) bool { return x.Until <= by }); !slices.Equal(got, want) {
			t.Fatalf("ended by %d: %v, want %v", by, got, want)
		}
	}
}

func search(t *rapid.T, tree Tree[int], list []Item[int], from, before string) {
	s := Search[int]{Wanted: func(x *Item[int]) bool { return x.Value%3 != 0 }}
	s.In(tree, from, before)
	var want *Item[int]
	for i := range list {
		x := &list[i]
		if x.Key >= from && (before == "" || x.Key < before) && s.Wanted(x) && (want == nil || x.Number < want.Number) {
			want = x
		}
	}
	if (s.Found == nil) != (want == nil) || want != nil && s.Found.Number != want.Number {
		t.Fatalf("from %q before %q: %v, want %v", from, before, s.Found, want)
	}
}

// The depth follows the logarithm of the number of items, also where they come in order.
func TestDepth(t *testing.T) {
	var tree Tree[int]
	for i := range 50_000 {
		tree = tree.With(Item[int]{Key: "", Number: uint64(i)})
	}
	var depth func(*node[int]) int
	depth = func(n *node[int]) int {
		if n == nil {
			return 0
		}
		return 1 + max(depth(n.left), depth(n.right))
	}
	if d := depth(tree.root); d > 60 {
		t.Errorf("%d items are %d deep", 50_000, d)
	}
}

func BenchmarkWith(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		var tree Tree[int]
		for i := range n {
			tree = tree.With(Item[int]{Key: fmt.Sprint(i), Number: uint64(i)})
		}
		b.Run(fmt.Sprintf("items=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree.Without("50", 50).With(Item[int]{Key: "50", Number: 50})
			}
		})
	}
}
