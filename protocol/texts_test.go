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
		texts := ShareTexts(b)
		if shares := texts != ""; shares != (len(b) <= maxShared) {
			t.Errorf("%d bytes: shared: %v", len(b), shares)
		}
		first, rest, err := texts.Read(b)
		if err == nil {
			_, rest, err = msgp.ReadIntBytes(rest)
		}
		got, rest, err2 := texts.Read(rest)
		if first != "first" || got != last || len(rest) > 0 || err != nil || err2 != nil {
			t.Errorf("%q, %q, %d bytes left: %v, %v", first, got, len(rest), err, err2)
		}
		if n := testing.AllocsPerRun(10, func() { _, _, _ = texts.Read(b) }); texts != "" && n > 0 {
			t.Errorf("%v allocations for a text that shares memory", n)
		}
		if _, _, err := texts.Read(b[len(b)-len(last):]); last != "" && err == nil {
			t.Error("it reads what is no text")
		}
	}
}
