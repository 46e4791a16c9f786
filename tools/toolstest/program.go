package toolstest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/tools/sandbox"
)

// Main is the TestMain of a package whose executors start programs: the test's own program
// is the worker of the sandbox, and, with the first argument "serve", the program that serve
// is. A nil serve is none. It fails the tests that leave goroutines.
func Main(m *testing.M, serve func(args []string) int) {
	if code, worker := sandbox.Reexec(os.Args); worker {
		syscall.Exit(code) // before os.Exit the race detector waits for a second
	}
	if serve != nil && len(os.Args) > 2 && os.Args[1] == "serve" {
		syscall.Exit(serve(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// Sandbox is a sandbox of this machine, or the test is skipped.
func Sandbox(t testing.TB) *sandbox.Box {
	t.Helper()
	box := sandbox.New(sandbox.Options{})
	r := box.Probe(t.Context())
	if missing := r.Missing(); len(missing) > 0 {
		t.Skipf("no sandbox here: %v", missing)
	}
	return box
}

// Program is the test's own program as the sandbox has it, with the mount that puts it there.
func Program(t testing.TB) (path string, mount sandbox.Mount) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const inside = "/test"
	return inside + "/" + filepath.Base(self), sandbox.Mount{Host: filepath.Dir(self), Inside: inside}
}

// Sleeping counts the processes of this machine that are sleep with an argument.
func Sleeping(t testing.TB, mark string) (n int) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		data, _ := os.ReadFile(name) // it may have ended
		if words := strings.Split(string(data), "\x00"); words[0] == "sleep" && slices.Contains(words, mark) {
			n++
		}
	}
	return n
}
