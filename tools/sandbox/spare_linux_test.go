package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waiting gives the worker that a box started ahead, once it waits for its job.
func waiting(t *testing.T, b *Box) *process {
	t.Helper()
	b.spareMu.Lock()
	s := b.spare
	b.spareMu.Unlock()
	if s.started == nil {
		t.Fatal("no worker was started ahead")
	}
	p := <-s.started
	s.started <- p
	eventually(t, "a worker that waits", func() bool {
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status"))
		return strings.Contains(string(text), "State:\tS")
	})
	return p
}

func gone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }

// TestAhead: a worker that was started ahead knows nothing, holds every guarantee, and ends
// with whoever has it.
// Promises 5, 7 and 8.
func TestAhead(t *testing.T) {
	b := box(t)
	t.Cleanup(b.Rest)
	run(t, b, Command{Argv: shell("true")})
	if b.spare.started != nil {
		t.Error("a worker was started for a call that said nothing of others")
	}
	t.Setenv("SANDBOX_TEST_CANARY", "canary-8c1f")
	run(t, b, Command{Argv: shell("true"), More: true})
	first := waiting(t, b)
	proc := filepath.Join("/proc", strconv.Itoa(first.cmd.Process.Pid))
	if text, err := os.ReadFile(proc + "/environ"); err != nil || len(text) > 0 {
		t.Errorf("its environment: %q, %v", text, err)
	}
	for _, space := range []string{"net", "pid", "ipc", "mnt", "user"} {
		ours, _ := os.Readlink("/proc/self/ns/" + space)
		if theirs, err := os.Readlink(proc + "/ns/" + space); err != nil || theirs == ours {
			t.Errorf("it has the namespace %s of the engine: %s, %v", space, theirs, err)
		}
	}
	pid := 0
	c := Command{Argv: shell("cat; echo $A"), Stdin: []byte("in "), Env: []string{"A=b"}, More: true, Started: func(p int) { pid = p }}
	if r := run(t, b, c); pid != first.cmd.Process.Pid || string(r.Stdout.Bytes) != "in b\n" || !gone(pid) {
		t.Errorf("process %d, want %d, which is gone: %t, %q", pid, first.cmd.Process.Pid, gone(pid), r.Stdout.Bytes)
	}

	second := waiting(t, b)
	r := b.try(t.Context(), b.tried[Strict].chosen, Strict) // the probe takes it
	if missing := r.Missing(); len(missing) > 0 || !gone(second.cmd.Process.Pid) {
		t.Errorf("a worker that waited does not hold %v", missing)
	}

	b.keepSpare(b.tried[Strict].chosen)
	third := waiting(t, b)
	_ = third.cmd.Process.Kill()
	eventually(t, "its end", func() bool { return !third.waits() })
	if r := run(t, b, c); string(r.Stdout.Bytes) != "in b\n" || pid == third.cmd.Process.Pid {
		t.Errorf("after the end of a worker that waited: %+v", r)
	}
	fourth := waiting(t, b)
	b.Rest()
	if b.Rest(); !gone(fourth.cmd.Process.Pid) {
		t.Error("a worker is left")
	}
}

// A call that follows another one at once has the next worker started beside it, another call at
// its end.
func TestAheadOfCallsThatFollowAtOnce(t *testing.T) {
	b := box(t)
	t.Cleanup(b.Rest)
	for _, atOnce := range []bool{false, true} {
		b.Rest()
		b.ended = time.Now().Add(-time.Hour)
		if atOnce {
			b.ended = time.Now().Add(time.Hour) // however long it takes to start
		}
		beside := false
		run(t, b, Command{Argv: shell("true"), More: true, Started: func(int) { beside = b.spare.started != nil }})
		if beside != atOnce || b.spare.started == nil || time.Since(b.ended) > 5*time.Minute {
			t.Errorf("at once: %t, beside it: %t, after it: %t, ended %s", atOnce, beside, b.spare.started != nil, b.ended)
		}
	}
}
