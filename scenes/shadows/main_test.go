package shadows_test

import (
	"testing"

	"go.uber.org/goleak"

	"tavernsim/scenes/scenestest"
)

// alike is why tests of how little is wasted run without the race detector only.
const alike = "TestNoCallIsMadeInVain plays scenes with the same concurrency"

func TestMain(m *testing.M) {
	scenestest.Main()
	goleak.VerifyTestMain(m)
}
