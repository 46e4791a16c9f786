package inspect

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wait lets the run go on.
func wait() { runtime.Gosched() }
