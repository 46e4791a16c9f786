package persistence_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary the process that is to be killed: it names the
// directory of its store.
const childEnv = "SIMD_TEST_CRASH_CHILD"

// longEnv asks for the long forms of the crash tests.
const longEnv = "SIMD_TEST_LONG"

func long() bool { return os.Getenv(longEnv) != "" }

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := crashChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
