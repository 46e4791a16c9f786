package scripted

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// The id of a call is a draw, written with 36 digits.
func TestCallIDIsADraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := protocol.NewDraw(rapid.Uint64().Draw(t, "key"))
		again := draw
		if got, want := callID(&draw), "call_"+strconv.FormatUint(again.Uint64(), 36); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
