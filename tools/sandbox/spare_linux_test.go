package sandbox

import (
	"context"
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

// yes is what a call says that others follow.
func yes() bool { return true }

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
	run(t, b, Command{Argv: shell("true"), More: yes})
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
	c := Command{Argv: shell("cat; echo $A"), Stdin: []byte("in "), Env: []string{"A=b"}, More: yes, Started: func(p int) { pid = p }}
	if r := run(t, b, c); pid != first.cmd.Process.Pid || string(r.Stdout.Bytes) != "in b\n" || !gone(pid) {
		t.Errorf("process %d, want %d, which is gone: %t, %q", pid, first.cmd.Process.Pid, gone(pid), r.Stdout.Bytes)
	}

	second := waiting(t, b)
	r := b.try(t.Context(), b.tried[Strict].chosen, Strict) // the probe takes it
	if missing := r.Missing(); len(missing) > 0 || !gone(second.cmd.Process.Pid) {
		t.Errorf("a worker that waited does not hold %v", missing)
	}

	b.keepSpare(t.Context(), b.tried[Strict].chosen, &c)
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
// its end. Calls that overlap do not follow each other.
func TestAheadOfCallsThatFollowAtOnce(t *testing.T) {
	b := box(t)
	t.Cleanup(b.Rest)
	b.ended = time.Now()
	for after, want := range map[time.Duration]bool{-time.Hour: false, -1: false, 0: true, toStart - 1: true, toStart: false, time.Hour: false} {
		if got := b.atOnce(b.ended.Add(after)); got != want {
			t.Errorf("a call that begins %s after another one: at once: %t", after, got)
		}
	}
	beside := false
	c := Command{Argv: shell("true"), More: yes, Started: func(int) { beside = b.spare.started != nil }}
	check := func(want bool) bool {
		b.Rest()
		run(t, b, c)
		if b.spare.started == nil || time.Since(b.ended) > long {
			t.Errorf("after a call: a worker: %t, ended %s", b.spare.started != nil, b.ended)
		}
		return beside == want
	}
	b.ended = time.Now().Add(-time.Hour)
	if !check(false) {
		t.Error("a worker was started beside a call that follows no other at once")
	}
	eventually(t, "a call that begins before toStart is over", func() bool {
		b.ended = time.Now()
		return check(true)
	})
}

// A call leaves no worker if its context has ended, or if its caller says at its end that no call follows: nobody would end it by Rest.
// Promise 5.
func TestNoneAheadOfTheLastCall(t *testing.T) {
	b, last := box(t), false
	ctx, cancel := context.WithCancel(t.Context())
	c := Command{Argv: shell("sleep 600"), Limits: Limits{Time: long}, More: func() bool { return !last }, Started: func(int) { cancel() }}
	if r, err := b.Run(ctx, c); err != nil || r.End != Cancelled || b.spare.started != nil {
		t.Errorf("%+v, %v; a call whose context has ended left a worker: %t", r, err, b.spare.started != nil)
	}
	b.Rest()
	c.Argv, c.Started = shell("true"), func(int) {
		last = true
		b.Rest()
	}
	if run(t, b, c); b.spare.started != nil {
		t.Error("the last call left a worker")
	}
	b.Rest()
}
