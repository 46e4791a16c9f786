package inspect

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/world"
	"tavernsim/internal/doctest"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
)

func TestWaveRange(t *testing.T) {
	for text, want := range map[string][2]string{"3": {"wave:3", "wave:3"}, "3..5": {"wave:3", "wave:5"}, "3..": {"wave:3", ""}, "..5": {"", "wave:5"}, "..": {"", ""}} {
		since, until, err := waveRange(text)
		if err != nil || since != want[0] || until != want[1] {
			t.Errorf("%s: %s %s %v", text, since, until, err)
		}
	}
	for _, text := range []string{"x", "", "1..x", "-1", "1.5"} {
		if _, _, err := waveRange(text); protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The wave of a fact is the one whose span holds it, in any order of asking.
func TestWavesOf(t *testing.T) {
	s := opened(t, ran(t, runner.Options{BatchFacts: 3}, false))
	want := map[uint64]uint64{}
	err := s.journal.Waves(1, func(w persistence.Wave) error {
		for seq := w.First; seq <= w.Last; seq++ {
			want[seq] = w.Number
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	last := s.journal.Durable().Last
	rapid.Check(t, func(t *rapid.T) {
		w := s.waves()
		for range 10 {
			seq := rapid.Uint64Range(1, last).Draw(t, "seq")
			if got, err := w.of(seq); err != nil || got != want[seq] {
				t.Fatalf("fact %d is of wave %d, got %d, %v", seq, want[seq], got, err)
			}
		}
	})
}

// Promise 2: top keeps what sorting everything would put first, in that order.
func TestTop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "all")
		n := rapid.IntRange(0, 5).Draw(t, "n")
		kept := top[int]{n: n, compare: func(a, b int) int { return a - b }}
		for _, x := range all {
			kept.offer(x)
		}
		slices.Sort(all)
		if n > 0 {
			all = all[:min(n, len(all))]
		}
		if !slices.Equal(kept.list, all) {
			t.Fatalf("%v, want %v", kept.list, all)
		}
	})
}

func TestRing(t *testing.T) {
	r := ring[int]{n: 3}
	for i := range 8 {
		r.add(i)
	}
	if got := r.all(); !slices.Equal(got, []int{5, 6, 7}) {
		t.Error(got)
	}
}

func TestTurnOf(t *testing.T) {
	for id, want := range map[string]uint64{"3.1": 3, "mira/12.4": 12, "a/b/7.1": 7, "": 0, "x": 0, "x.1": 0, "req": 0} {
		if got := turnOf(id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

// A change is seen at a place when one leads to the other.
func TestTouches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a", true}, {"a", "a.b.c", true}, {"a.b", "a.c", false}, {"a.*.x", "a.q.x", true}, {"a.*.x", "a.q.y", false},
		{"**", "a.b", true}, {"a[0]", "a[1]", false}, {"a[0]", "a[0].x", true}, {"b.**", "a", false},
	} {
		p, err := world.ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		q, err := world.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Touches(world.Path(p), q); got != c.want {
			t.Errorf("%s and %s: %v", c.pattern, c.path, got)
		}
	}
}

// Every fact of a run has the fields that its page names, in that order.
func TestFields(t *testing.T) {
	page := doctest.Page(t, "formats/facts.md")
	s := opened(t, ran(t, runner.Options{}, false))
	seen := 0
	err := s.Facts(FactQuery{}, func(f FactLine) error {
		seen++
		_, section, ok := strings.Cut(page, "### `"+f.Kind+"`\n")
		section, _, _ = strings.Cut(section, "\n### ")
		at := 0
		for _, m := range f.Data {
			i := strings.Index(section[at:], "\n| `"+m.Name+"` |")
			if !ok || i < 0 {
				t.Errorf("%s: no field %s in its place", f.Kind, m.Name)
				return ErrStop
			}
			at += i + 1
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Errorf("%d facts, %v", seen, err)
	}
}
