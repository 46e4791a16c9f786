//go:build linux

package runner

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// fillDisk makes the writes of this process fail beyond a size.
func fillDisk(bytes string) error {
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // so that a write returns an error
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

// TestDiskFull: when the journal cannot be written the run ends with an error
// that says so, and goes on, with nothing lost, where there is room again.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("TestFailingDisk stops and goes on in the same way, in one process")
	}
	want := run(t, loadTown(t), crashOptions(""))
	for _, limit := range []string{"60000", "150000"} {
		t.Run(limit, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childEnv+"="+dir, fullEnv+"="+limit)
			var out, errs bytes.Buffer
			child.Stdout, child.Stderr = &out, &errs
			if err := child.Run(); err == nil {
				t.Fatalf("it ended: %s", out.String())
			}
			if text := errs.String(); !strings.Contains(text, "the journal cannot be written") || strings.Contains(text, "goroutine ") {
				t.Fatalf("it says %q", text)
			}
			t.Log(strings.TrimSpace(errs.String()))
			r, err := Resume(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := wait(t, r); got.Digests() != want.Digests() {
				t.Errorf("digests %s, want %s", got.Digests(), want.Digests())
			}
		})
	}
}
