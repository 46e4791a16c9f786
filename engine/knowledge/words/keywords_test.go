package words

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Promise 2: the automaton finds what a naive search finds, inside words and whole.
func TestKeywordsEqualNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.StringMatching("[ab 月森]{1,4}"), 0, 12).Draw(rt, "words")
		text := rapid.StringMatching("[ab 月森]{0,40}").Draw(rt, "text")
		slices.Sort(list)
		list = slices.Compact(list)
		found := NewKeywords(list).In(text)
		for i, w := range list {
			want := byte(0)
			for at := range len(text) {
				if strings.HasPrefix(text[at:], w) {
					want |= Inside
					if whole(text, at, at+len(w)) {
						want |= Whole
					}
				}
			}
			if found[i] != want {
				rt.Fatalf("%q in %q: %d, want %d", w, text, found[i], want)
			}
		}
	})
}
