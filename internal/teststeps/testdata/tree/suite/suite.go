package suite

import (
	"sync"
	"testing"
)

func Together(t *testing.T, f func()) {
	var wait sync.WaitGroup
	wait.Go(f)
	wait.Wait()
}

func Alone(t *testing.T, f func()) { f() }
