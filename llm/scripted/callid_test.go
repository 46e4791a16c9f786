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
		calls := make([]protocol.Call, rapid.IntRange(0, 9).Draw(t, "calls"))
		name(calls, draw)
		for i := range calls {
			if want := "call_" + strconv.FormatUint(draw.Uint64(), 36); calls[i].ID != want {
				t.Fatalf("call %d: %s, want %s", i, calls[i].ID, want)
			}
		}
	})
}
