package tooling_test

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"

	"tavernsim/scenes/scenestest"
	"tavernsim/tools/sandbox"
)

// childEnv makes this test's program a scene that is killed: DIR and the port of a server.
const childEnv = "SIMD_TEST_TOOLS_CHILD"

// shared is the sandbox of all tests: what this machine guarantees is tried once.
var shared = sync.OnceValue(func() *sandbox.Box { return sandbox.New(sandbox.Options{}) })

// sandboxed is the sandbox, or the test is skipped.
func sandboxed(t testing.TB) *sandbox.Box {
	t.Helper()
	found := shared().Probe(t.Context())
	if missing := found.Missing(); len(missing) > 0 {
		t.Skipf("no sandbox here: %v", missing)
	}
	return shared()
}

func TestMain(m *testing.M) {
	scenestest.Main()
	if code, worker := sandbox.Reexec(os.Args); worker {
		syscall.Exit(code) // before os.Exit the race detector waits for a second
	}
	if where := os.Getenv(childEnv); where != "" {
		if err := child(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
