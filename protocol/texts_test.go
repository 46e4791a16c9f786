package protocol

import (
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"
)

// Texts of a small value share its memory, of a large one they do not, and a damaged one is an error.
func TestTexts(t *testing.T) {
	for _, last := range []string{"", "last", strings.Repeat("x", maxShared)} {
		b := msgp.AppendString(msgp.AppendInt(msgp.AppendString(nil, "first"), 7), last)
		r := NewValues(b, "texts")
		r.Share()
		shares := len(b) <= maxShared
		whole := *r
		if n := testing.AllocsPerRun(10, func() { *r = whole; _ = r.String() }); shares != (n == 0) {
			t.Errorf("%d bytes: %v allocations for a text, shared: %t", len(b), n, shares)
		}
		*r = whole
		first, _, got := r.String(), r.Int(), r.String()
		if err := r.End(); first != "first" || got != last || err != nil {
			t.Errorf("%q, %q: %v", first, got, err)
		}
		r = NewValues(b[len(b)-len(last):], "texts")
		r.Share()
		if s := r.String(); last != "" && (s != "" || r.End() == nil) {
			t.Error("it reads what is no text")
		}
	}
}
