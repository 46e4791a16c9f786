package machines

import (
	"testing"

	"tavernsim/scenes/machines/tally"
)

// A note holds what is due: a part that is large comes seldom. A note of an older program
// is a tally.
func TestNotes(t *testing.T) {
	var at int64
	if due(&at, NoteEvery-1, 0) || !due(&at, NoteEvery, 0) || at != NoteEvery || due(&at, 2*NoteEvery-1, 0) {
		t.Error("a small part is due with every note")
	}
	if at = 0; due(&at, 2*NoteEvery, 3*NoteEvery*noteShare) || !due(&at, 3*NoteEvery, 3*NoteEvery*noteShare) {
		t.Error("a large part is due when it is small beside the facts")
	}
	codec, counts := NewCodec(), tally.NewTally()
	counts.Facts, counts.ByTool["walk"] = 7, 3
	for name, v := range map[string]any{"older": &counts, "newer": &Note{Tally: counts, Scene: []byte{1}, World: []byte{2}}} {
		raw, err := codec.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ReadNote(codec, raw)
		if err != nil || n.Tally.Facts != 7 || n.Tally.ByTool["walk"] != 3 || (name == "newer") != (len(n.Scene)+len(n.World) == 2) {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
}
