package paths

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/world"
)

func drawSegments(t *rapid.T, wild bool) string {
	words := []string{"a", "b", "3", "[3]", "[-1]", "[-]", "[0]", "07"}
	if wild {
		words = append(words, "*", "**", "[*]")
	}
	text := ""
	for i, w := range rapid.SliceOfN(rapid.SampledFrom(words), 1, 5).Draw(t, "segments") {
		if i > 0 && w[0] != '[' {
			text += "."
		}
		text += w
	}
	return text
}

// TestTouched: the index against asking every pattern, while patterns come and
// go.
func TestTouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, twin := Index[int]{}, map[string]world.Pattern{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p, err := world.ParsePattern(drawSegments(t, true))
			if err != nil {
				t.Fatal(err)
			}
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				x.Remove(p)
				delete(twin, p.String())
			case 1, 2:
				x.Add(p)
				twin[p.String()] = p
			default:
				compare(t, &x, twin)
			}
		}
		for _, p := range twin {
			x.Remove(p)
		}
		if x.Len() != 0 || !x.root.empty() {
			t.Fatal("something is left of patterns that were all removed")
		}
	})
}

func compare(t *rapid.T, x *Index[int], twin map[string]world.Pattern) {
	path, err := world.ParsePath(drawSegments(t, false))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	x.Touched(path, func(e *Entry[int]) { got = append(got, e.Text) })
	for text, p := range twin {
		if p.Touches(path) {
			want = append(want, text)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("a change at %s touches %q, want %q", path, got, want)
	}
}

// TestTheRootTouchesEverything: a path that could not be read concerns everybody.
func TestTheRootTouchesEverything(t *testing.T) {
	var x Index[int]
	for _, text := range []string{"a", "b.*.c", "**.d", "[3]"} {
		p, _ := world.ParsePattern(text)
		x.Add(p)
	}
	n := 0
	x.Touched(nil, func(*Entry[int]) { n++ })
	if n != 4 {
		t.Errorf("%d of 4", n)
	}
}

// BenchmarkTouched: one change that touches one pattern, among more and more of
// them; the time must not follow the number of patterns.
func BenchmarkTouched(b *testing.B) {
	for _, n := range []int{1, 100, 10_000, 100_000} {
		var x Index[int]
		for i := range n {
			p, err := world.ParsePattern(fmt.Sprintf("prices.*.good_%d", i))
			if err != nil {
				b.Fatal(err)
			}
			x.Add(p)
		}
		path := world.P("prices", "town_7", "good_0", "last")
		b.Run(fmt.Sprintf("patterns=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				touched := 0
				x.Touched(path, func(*Entry[int]) { touched++ })
				if touched != 1 {
					b.Fatal(touched)
				}
			}
		})
	}
}
