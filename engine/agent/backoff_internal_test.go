package agent

import (
	"testing"
	"time"
)

// The wait before an event is delivered again doubles with its failures, up to 64 times.
func TestRedeliveryBackoff(t *testing.T) {
	for failures, want := range map[uint16]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: 64 * time.Second, 8: 64 * time.Second, 60_000: 64 * time.Second} {
		if got := backoff(failures); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
}
