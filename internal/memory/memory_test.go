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
