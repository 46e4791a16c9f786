package finding

import (
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	src := "\ufeffé<\n\n港x"
	outer := []Diagnostic{{Offset: len(src)}, {Offset: strings.Index(src, "<")}}
	inner := []Diagnostic{{Offset: strings.Index(src, "x"), Severity: Info}}
	Place(src, len("\ufeff"), outer, inner)
	for i, want := range [][2]int{{1, 2}, {3, 3}} {
		if d := outer[i]; d.Line != want[0] || d.Col != want[1] {
			t.Errorf("%+v, want line %d, column %d", d, want[0], want[1])
		}
	}
	if d := inner[0]; d.Line != 3 || d.Col != 2 {
		t.Errorf("%+v, want line 3, column 2", d)
	}
}

func TestCodes(t *testing.T) {
	got := Codes([]Diagnostic{{Code: "b", Severity: Warning}, {Code: "i", Severity: Info}, {Code: "a", Severity: Error}, {Code: "b", Severity: Error}})
	if len(got) != 2 || got[0] != "b" || got[1] != "a" {
		t.Errorf("%v", got)
	}
}
