package agent

import (
	"testing"

	"tavernsim/protocol"
)

// What an agent costs that leaves after its turn and comes back for the next one.
func BenchmarkSnapshot(b *testing.B) {
	codec := protocol.NewCodec()
	s := &State{Turn: 7, heard: 3}
	s.Private = map[string]any{"count": int64(3)}
	raw, err := Snapshot(codec, s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("take", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			raw, _ = AppendSnapshot(codec, raw[:0], s) // a span has many
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Restore(codec, raw)
		}
	})
}
