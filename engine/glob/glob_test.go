package glob_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/glob"
)

// Promise 1: patterns against a stupid twin.
func TestPatterns(t *testing.T) {
	var twin func(p, s []rune) bool
	twin = func(p, s []rune) bool {
		switch {
		case len(p) == 0:
			return len(s) == 0
		case p[0] == '*':
			return twin(p[1:], s) || len(s) > 0 && twin(p, s[1:])
		}
		return len(s) > 0 && (p[0] == '?' || p[0] == s[0]) && twin(p[1:], s[1:])
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.StringMatching(`[ab中*?]{0,6}`).Draw(rt, "pattern")
		s := rapid.StringMatching(`[ab中]{0,8}`).Draw(rt, "text")
		if got, want := glob.New(p).Match(s), twin([]rune(p), []rune(s)); got != want {
			rt.Fatalf("%q on %q: %v, want %v", p, s, got, want)
		}
	})
}

// One of the patterns is enough; without patterns every text matches.
func TestList(t *testing.T) {
	if list := glob.NewList([]string{"a*", "b"}); !list.Match("ab") || !list.Match("b") || list.Match("bb") || !glob.NewList(nil).Match("x") {
		t.Error(list)
	}
}

// Promise 2.
func TestTime(t *testing.T) {
	began := time.Now()
	if glob.New(strings.Repeat("*a", 500) + "*b").Match(strings.Repeat("a", 50_000)) {
		t.Error("it matches")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
