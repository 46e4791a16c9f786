package world

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Remembered paths are those that ParsePath reads; a fault is found again, and what is remembered is bounded.
func TestPathsAreParsedOnce(t *testing.T) {
	var paths Paths
	texts := []string{"a.b", " a[2].c ", `["x.y"][-]`, "a..b", "", "*", strings.Repeat("n", maxKnownPath+1)}
	for i := range 2 * maxPaths {
		texts = append(texts, fmt.Sprintf("stock.n%d", i))
	}
	for range 3 {
		for _, text := range texts {
			want, fault := ParsePath(text)
			got, err := paths.Parse(text)
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(fault) {
				t.Fatalf("%q: %v, %v; want %v, %v", text, got, err, want, fault)
			}
			if len(paths.known) > maxPaths {
				t.Fatalf("%d paths are remembered", len(paths.known))
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = paths.Parse("stock.n1") }); n > 0 {
		t.Errorf("a known path takes %v allocations", n)
	}
}
