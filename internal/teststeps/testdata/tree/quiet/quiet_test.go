package quiet

import (
	"sync"
	"testing"
)

func TestDouble(t *testing.T) { check(t, 2) }

func TestTogether(t *testing.T) {
	both := twice
	both(func() { check(t, 3) })
}

func FuzzDouble(f *testing.F) { f.Fuzz(func(t *testing.T, n int) { check(t, n) }) }

func check(t *testing.T, n int) {
	if Double(n) != n+n {
		t.Error(n)
	}
}

// twice is reached by a test of another function's name only.
var twice = func(f func()) {
	var wait sync.WaitGroup
	wait.Go(f)
	wait.Go(f)
	wait.Wait()
}
