package shadows_test

import (
	"testing"

	"go.uber.org/goleak"

	"tavernsim/scenes/scenestest"
)

func TestMain(m *testing.M) {
	scenestest.Main()
	goleak.VerifyTestMain(m)
}
