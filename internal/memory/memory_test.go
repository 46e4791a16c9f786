package memory

import "testing"

// Promise 1.
func TestGrowth(t *testing.T) {
	for inUse, want := range map[uint64]int{0: 800, 4 << 20: 800, 8 << 20: 400, 11 << 20: 300, 128 << 20: 300, 192 << 20: 200, 384 << 20: 100, 768 << 20: 50, 20 << 30: 50} {
		if got := growth(inUse); got != want {
			t.Errorf("%d bytes in use: %d percent, want %d", inUse, got, want)
		}
	}
}

// Promise 2.
func TestUsed(t *testing.T) {
	for _, c := range []struct {
		live, heap, goal uint64
		want             bool
	}{
		{100, 100, 200, false}, {100, 125, 200, false}, {100, 126, 200, true}, {100, 250, 200, true},
		{100, 90, 200, false},                   // a collection has begun, or memory of others was given back
		{100, 150, 90, false}, {0, 0, 0, false}, // none has ended yet
	} {
		if got := used(c.live, c.heap, c.goal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
