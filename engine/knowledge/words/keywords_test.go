package words

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Promise 2: what is found is what a naive search finds, inside words where that is wanted, and whole.
func TestKeywordsEqualNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		torn := func(s string) string { return strings.ReplaceAll(s, "#", "\xff") } // is no UTF-8
		list := rapid.SliceOfN(rapid.Map(rapid.StringMatching("[ab 月森#]{1,5}|[a-z]"), torn), 0, 40).Draw(rt, "words")
		text := torn(rapid.StringMatching("[ab 月森#]{0,60}").Draw(rt, "text"))
		slices.Sort(list)
		list = slices.Compact(list)
		inside := rapid.SliceOfN(rapid.Bool(), len(list), len(list)).Draw(rt, "inside")
		found := NewKeywords(list, inside).In(text)
		for i, w := range list {
			want := uint8(0)
			for at := range len(text) {
				if strings.HasPrefix(text[at:], w) {
					want |= Inside
					if whole(text, at, at+len(w)) {
						want |= Whole
					}
				}
			}
			got := found.How(int32(i))
			if !inside[i] && want < Whole {
				want = 0 // whoever wants it whole does not ask
				got &= Whole
			}
			if got != want {
				rt.Fatalf("%q in %q: %d, want %d", w, text, got, want)
			}
		}
		if !slices.IsSortedFunc(found, func(a, b Hit) int { return cmp.Or(int(a.Word-b.Word), -1) }) {
			rt.Fatalf("%v are not in order, each once", found)
		}
	})
}
