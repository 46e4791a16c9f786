package protocol

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 5, 0}, {"wood", "wood", 5, 0}, {"wood", "woods", 5, 1}, {"wood", "word", 5, 1}, {"wodo", "wood", 5, 1},
		{"", "abc", 5, 3}, {"kitten", "sitting", 5, 3}, {"kitten", "sitting", 2, 2}, {"a", "abcdefgh", 3, 3}, {"天气", "天空", 5, 1},
	} {
		if got := EditDistance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("EditDistance(%q, %q, %d) = %d, want %d", c.a, c.b, c.limit, got, c.want)
		}
		if got := EditDistance(c.b, c.a, c.limit); got != c.want {
			t.Errorf("EditDistance(%q, %q, %d) = %d, want %d", c.b, c.a, c.limit, got, c.want)
		}
	}
}

// EditDistance agrees with the plain recursive definition.
func TestEditDistanceIsThePlainOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[ab]{0,6}`).Draw(t, "a")
		b := rapid.StringMatching(`[ab]{0,6}`).Draw(t, "b")
		if got, want := EditDistance(a, b, 100), slowDistance(a, b); got != want {
			t.Fatalf("%q %q: got %d, want %d", a, b, got, want)
		}
	})
}

func slowDistance(a, b string) int {
	switch {
	case a == "":
		return len(b)
	case b == "":
		return len(a)
	}
	n, m := len(a), len(b)
	cost := 1
	if a[n-1] == b[m-1] {
		cost = 0
	}
	d := min(slowDistance(a[:n-1], b)+1, slowDistance(a, b[:m-1])+1, slowDistance(a[:n-1], b[:m-1])+cost)
	if n > 1 && m > 1 && a[n-1] == b[m-2] && a[n-2] == b[m-1] {
		d = min(d, slowDistance(a[:n-2], b[:m-2])+1)
	}
	return d
}
