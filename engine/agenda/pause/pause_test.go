package pause_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/agenda/pause"
	"tavernsim/protocol"
)

// Promise 1: what was said holds from the end of one turn to the end of the next.
func TestFromEndToEnd(t *testing.T) {
	var r pause.Rests
	r.Say(3, pause.Rest{Until: 50, Types: []string{"bell.*", "horn"}})
	if r.Until(3) != 0 || r.Wakes(3, "horn") {
		t.Error("it holds before the end of its turn")
	}
	r.Begin(3, 70)
	for kind, want := range map[string]bool{"bell.rings": true, "bell": false, "bells.ring": false, "horn": true, "horn.x": false} {
		if r.Wakes(3, kind) != want || r.Wakes(2, kind) {
			t.Errorf("%s wakes: %v", kind, !want)
		}
	}
	if r.Until(3) != 70 || r.Until(2) != 0 {
		t.Error("the later of ceiling and rest holds")
	}
	r.Begin(3, 0)
	if r.Until(3) != 0 || r.Wakes(3, "horn") || len(r.Append(nil)) != 0 {
		t.Error("the next turn has ended")
	}
	r.Begin(1, 9)
	r.Forget(1)
	if r.Until(1) != 0 {
		t.Error("who left does not rest")
	}
}

// Promise 2.
func TestStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r pause.Rests
		for range rapid.IntRange(0, 6).Draw(t, "turns") {
			o := rapid.Uint32Range(0, 9).Draw(t, "agent")
			r.Say(o, pause.Rest{Until: protocol.Time(rapid.Int64Range(0, 3).Draw(t, "until")), Types: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b.*"}), 0, 2).Draw(t, "types")})
			r.Begin(o, protocol.Time(rapid.Int64Range(0, 3).Draw(t, "least")))
		}
		raw := r.Append(nil)
		again, err := pause.Read(raw, 10)
		if err != nil || !bytes.Equal(again.Append(nil), raw) {
			t.Fatalf("%v: %x, then %x", err, raw, again.Append(nil))
		}
		for o := range uint32(10) {
			if again.Until(o) != r.Until(o) || again.Wakes(o, "b.c") != r.Wakes(o, "b.c") {
				t.Fatalf("agent %d rests otherwise", o)
			}
		}
		for cut := range raw { // damage is told, not believed
			if back, err := pause.Read(raw[:cut], 10); err == nil && bytes.Equal(back.Append(nil), raw) {
				t.Fatalf("%d of %d bytes are the whole", cut, len(raw))
			}
		}
	})
	if _, err := pause.Read([]byte{9, 1, 0x90, 3, 1, 0x90}, 20); err == nil {
		t.Error("ordinals that do not ascend are read")
	}
	if _, err := pause.Read([]byte{9, 1, 0x90}, 9); err == nil {
		t.Error("an agent that is none is read")
	}
}
