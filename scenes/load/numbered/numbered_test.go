package numbered

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplate(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"a", 7, "a"}, {"{n}", 7, "7"}, {"a_{n}_b", 12, "a_12_b"}, {"{n:05}", 42, "00042"}, {"{n:02}", 1234, "1234"},
		{"{n}{n:03}", 5, "5005"}, {"{m} {n:5} {n:0} {n:0x} {n", 5, "{m} {n:5} {n:0} {n:0x} {n"}, {"{{n}}", 1, "{1}"}, {"é{n}", 3, "é3"},
		{"{n:018}", 3, "000000000000000003"}, {"{n:019}", 3, "{n:019}"}, {"{n:0+3}", 3, "{n:0+3}"},
	} {
		if got := Parse(tc.text).Expand(tc.n); got != tc.want {
			t.Errorf("%q of %d: got %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
}

// number inverts expand, whatever digits stand around the placeholder.
func TestTemplateNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[01a]{0,3}(\{n\}|\{n:03\})[01a]{0,3}(\{n\})?`).Draw(t, "text")
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		tmpl := Parse(text)
		got, ok := tmpl.Number(tmpl.Expand(n), 2000)
		if !ok || tmpl.Expand(got) != tmpl.Expand(n) {
			t.Fatalf("%q of %d: %d, %v", text, n, got, ok)
		}
	})
}

// An id belongs to the entry that writes it, and what none writes to none.
func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[ab1]{0,3}(\{n\}|\{n:03\})?[ab1]{0,2}`), 1, 6).Draw(t, "texts")
		templates, counts := make([]Template, len(texts)), make([]int, len(texts))
		wrote := map[string]string{} // the entries and numbers that write an id
		for i, text := range texts {
			templates[i], counts[i] = Parse(text), 1
			if templates[i].HasN() {
				counts[i] = rapid.IntRange(1, 30).Draw(t, "count")
			}
			for n := range counts[i] {
				wrote[templates[i].Expand(n+1)] += fmt.Sprintf("%d/%d;", i, n+1)
			}
		}
		ids := Index(templates, counts)
		for id, by := range wrote {
			entry, n, ok := ids.Find(id)
			if got := templates[entry].Expand(n); !ok || got != id || n > counts[entry] {
				t.Fatalf("%q of %s: found %d/%d, %v", id, by, entry, n, ok)
			}
		}
		for _, id := range rapid.SliceOf(rapid.StringMatching(`[ab12]{0,7}`)).Draw(t, "ids") {
			if _, _, ok := ids.Find(id); ok != (wrote[id] != "") {
				t.Fatalf("%q: found is %v, written by %q", id, ok, wrote[id])
			}
		}
	})
}

// A long text is read in one pass: in the square of its length these take hours.
func TestLongTexts(t *testing.T) {
	for _, word := range []string{"word ", "{n:0", "{n:0x", "{"} {
		if text := strings.Repeat(word, 2<<20); Parse(text).HasN() {
			t.Errorf("%q has a number", word)
		}
	}
}
