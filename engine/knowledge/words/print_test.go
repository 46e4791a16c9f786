package words

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Promise 3, minds §12: what is one lesson, and what are two.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b        string
		same, alike bool
	}{
		{"The ford floods after rain.", "the ford floods, after rain", true, true},
		{"The ford floods after rain.", "Ford floods after the rain!", false, true},
		{"The ford flooded after the rain", "The ford floods after rain", false, true},
		{"The ford floods after rain.", "The ford floods before rain.", false, false},
		{"Cross the ford in the rain.", "Never cross the ford in the rain.", false, false},
		{"Do not sell wolfsbane to strangers", "Do sell wolfsbane to strangers", false, false},
		{"Mint costs 3 coins", "Mint costs 5 coins", false, false},
		{"The ford floods after rain.", "The bridge holds after rain.", false, false},
		{"雨后渡口会被淹", "雨后，渡口会被淹！", false, true},
		{"雨后渡口会被淹", "雨后渡口不会被淹", false, false},
		{"雨前渡口会被淹", "雨后渡口会被淹", false, false},
		{"", "", false, false},
		{"?!", "...", false, false},
	} {
		var s Stemmer
		a, b := NewPrint(c.a, &s), NewPrint(c.b, &s)
		if a.Same(&b) != c.same || a.Alike(&b) != c.alike || b.Alike(&a) != c.alike {
			t.Errorf("%q and %q: same %v, alike %v", c.a, c.b, a.Same(&b), a.Alike(&b))
		}
	}
}

func TestCommon(t *testing.T) {
	for text, want := range map[string]bool{"the": true, "I": true, "of the": true, "!": true, "": true, "的": true, "ford": false, "the ford": false, "森林": false} {
		if Common(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// The threshold is a cosine of 0.92: of 13 words one may differ, of 12 none.
func TestAlikeThreshold(t *testing.T) {
	all := strings.Fields("river stone song bread coin sword cloak night road forest merchant story lantern")
	for n, want := range map[int]bool{13: true, 12: false} {
		var s Stemmer
		a, b := NewPrint(strings.Join(all[:n], " "), &s), NewPrint(strings.Join(all[:n-1], " ")+" ocean", &s)
		if a.Alike(&b) != want {
			t.Errorf("%d words, one differs: %v", n, !want)
		}
	}
}

// Promise 1: likeness is symmetric, and every text with a word is like itself.
func TestAlikeIsSymmetric(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(strings.Fields("ford floods rain not before 3 森林 月 bridge holds the")), 1, 14), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(rt *rapid.T) {
		var s Stemmer
		a, b := NewPrint(text.Draw(rt, "a"), &s), NewPrint(text.Draw(rt, "b"), &s)
		if a.Alike(&b) != b.Alike(&a) || !a.Alike(&a) {
			rt.Fatal("not symmetric, or not like itself")
		}
	})
}
