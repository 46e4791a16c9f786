package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tavernsim/protocol"
	"tavernsim/tools/sandbox/probe"
	"tavernsim/tools/sandbox/remains"
)

// lacking does something on a thread that cannot make a system call, nor can what it starts.
func lacking(t *testing.T, call uint32, no uint32, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		f := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | no},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- err
			return
		}
		if _, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); no != 0 {
			done <- no
			return
		}
		do()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Skip("no filter here:", err)
	}
}

// TestUnavailable takes one thing after the other away from the machine. Nothing runs in
// a weaker sandbox, and the error names what is missing.
// Promise 1.
func TestUnavailable(t *testing.T) {
	box(t)
	t.Setenv("PATH", "") // no bubblewrap
	for name, c := range map[string]struct {
		call, no uint32
		missing  probe.Guarantee
		says     string
	}{
		"Landlock is not in the kernel": {unix.SYS_LANDLOCK_CREATE_RULESET, uint32(unix.ENOSYS), probe.Files, "Landlock"},
		"Landlock is off":               {unix.SYS_LANDLOCK_CREATE_RULESET, uint32(unix.EOPNOTSUPP), probe.Files, "Landlock"},
		"no rules of Landlock":          {unix.SYS_LANDLOCK_RESTRICT_SELF, uint32(unix.E2BIG), probe.Files, "Landlock"},
		"no mounts":                     {unix.SYS_MOUNT, uint32(unix.EPERM), probe.Files, "mount"},
		"no change of the root":         {unix.SYS_PIVOT_ROOT, uint32(unix.EINVAL), probe.Files, "build the view"},
		"an old kernel":                 {unix.SYS_MOUNT_SETATTR, uint32(unix.ENOSYS), probe.Files, "open"},
		"no close_range":                {unix.SYS_CLOSE_RANGE, uint32(unix.ENOSYS), probe.Processes, "without a word"},
		"no limits":                     {unix.SYS_PRLIMIT64, uint32(unix.EPERM), probe.Resources, "limit of"},
		"no capabilities to give up":    {unix.SYS_CAPSET, uint32(unix.EPERM), probe.Processes, "not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			var r probe.Report
			lacking(t, c.call, c.no, func() {
				b := New(Options{})
				_, err = b.Run(t.Context(), Command{Argv: shell("echo ran")})
				r = b.Probe(t.Context())
			})
			var u *Unavailable
			if !errors.As(err, &u) || protocol.KindOf(err) != protocol.KindUnknown {
				t.Fatalf("%v", err)
			}
			if u.Missing[0].Guarantee != c.missing || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "sandbox_unavailable") {
				t.Errorf("%v; want %s and %q", err, c.missing, c.says)
			}
			if len(r.Others) != 1 || !strings.Contains(r.Others[0].Reason, "bwrap") {
				t.Errorf("bubblewrap: %+v", r.Others)
			}
		})
	}
}

// A call that ends while the sandbox is tried lacks nothing, and the next one tries again.
func TestACallThatEndsBeforeItsSandbox(t *testing.T) {
	b := New(Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := b.Run(ctx, Command{Argv: shell("echo ran")})
	if _, is := errors.AsType[*Unavailable](err); is || protocol.KindOf(err) != protocol.KindCancelled {
		t.Errorf("%v", err)
	}
	r, err := b.Run(t.Context(), Command{Argv: shell("echo ran")})
	if _, is := errors.AsType[*Unavailable](err); is {
		t.Skip(err)
	}
	if err != nil || r.Exit != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAKilledWorker: a program whose worker is killed beside it may have done something, so it has a Result. Only a
// worker that ends before it starts the program says that there is no sandbox.
// Promise 9.
func TestAKilledWorker(t *testing.T) {
	boxes(t, func(t *testing.T, b *Box) {
		out, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		worker := make(chan int, 1)
		go func() {
			defer theirs.Close()
			r, err := b.Run(t.Context(), Command{Argv: shell("echo why >&2; echo begun; sleep 600"), Out: theirs, Limits: Limits{Time: 2 * long}, Started: func(pid int) { worker <- pid }})
			fmt.Fprintln(theirs, r.Exit, r.Signal, r.End, err, string(r.Stderr.Bytes))
		}()
		said := bufio.NewReader(out)
		if line, err := said.ReadString('\n'); line != "begun\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := syscall.Kill(<-worker, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if line, err := said.ReadString('\n'); line != "-1 SIGKILL exited <nil> why\n" {
			t.Errorf("%q, %v", line, err)
		}
		j := b.job(Command{Argv: shell("echo ran")}, nil)
		j.View = b.outers[0].plain()
		p, err := newProcess(b.outers[0], &j, &Command{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := p.give(&j, nil); err != nil {
			t.Fatal(err)
		}
		r := Result{End: p.wait(t.Context(), long, true)}
		ran := len(p.out.output().Bytes) > 0 // below another outer stage that was killed the worker may go on
		f, ok := errors.AsType[*failure](p.conclude(&r, &Command{}))
		if ok && (ran || f.missing.Guarantee != probe.Processes) || !ok && j.View {
			t.Errorf("killed before it had its job: %+v, ran %t", r, ran)
		}
	})
}

// orphaning is an outer stage that is gone before its child has begun.
type orphaning struct{ namespaces }

func (orphaning) command(*job) (*exec.Cmd, error) {
	c := exec.Command("/bin/sh", "-c", "sleep 600 & exit")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c, nil
}

// A child that an outer stage leaves behind, with the pipes of the worker that it did not become, is ended: nobody waits for
// it for ever.
func TestAnOrphanIsEnded(t *testing.T) {
	p, err := newProcess(orphaning{}, &job{}, &Command{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.give(&job{Keep: remains.Keep{Files: 1, Bytes: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	r := Result{End: p.wait(t.Context(), long, true)}
	if _, ok := errors.AsType[*failure](p.conclude(&r, &Command{})); !ok {
		t.Errorf("%+v", r)
	}
}

// TestOldLandlock is a kernel whose Landlock does not know every way to change a file.
// Promise 1.
func TestOldLandlock(t *testing.T) {
	box(t)
	t.Setenv("PATH", "")
	var err error
	answering(t, unix.SYS_LANDLOCK_CREATE_RULESET, minLandlock-1, func() {
		_, err = New(Options{}).Run(t.Context(), Command{Argv: shell("echo ran")})
	})
	var u *Unavailable
	if !errors.As(err, &u) || u.Missing[0].Guarantee != probe.Files || !strings.Contains(err.Error(), "Landlock has version 2") {
		t.Errorf("%v", err)
	}
}

// answering does something on a thread for which, and for what it starts, a system call gives
// a number and does nothing.
func answering(t *testing.T, call uint32, number int64, do func()) {
	t.Helper()
	made := make(chan int, 1)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		f := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			fd, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
			if made <- int(fd); no != 0 {
				err = no
			}
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	listener := -1
	for {
		select {
		case listener = <-made:
		case err := <-done:
			_ = unix.Close(listener)
			if err != nil {
				t.Skip("no filter here:", err)
			}
			return
		default:
			answer(listener, number)
		}
	}
}

// answer waits a moment for a system call, and answers it.
func answer(listener int, number int64) {
	const most = 50 // ms
	fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, most); n != 1 || err != nil || fds[0].Revents&unix.POLLIN == 0 {
		return
	}
	var asked struct {
		id   uint64
		rest [72]byte // the process and the call
	}
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&asked))); no != 0 {
		return
	}
	given := struct {
		id     uint64
		number int64
		no     int32
		flags  uint32
	}{id: asked.id, number: number}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&given)))
}

// TestNoUserNamespaces is a machine that has none: neither we nor bubblewrap can start anything.
// Promise 1.
func TestNoUserNamespaces(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_NONE") != "" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			t.Skip(err)
		}
		_, err := New(Options{}).Run(t.Context(), Command{Argv: shell("echo ran")})
		var u *Unavailable
		if !errors.As(err, &u) || u.Missing[0].Guarantee != probe.Processes {
			t.Errorf("%v", err)
		}
		fmt.Println("refused:", err)
		return
	}
	c := exec.Command("/proc/self/exe", "-test.run", "^TestNoUserNamespaces$", "-test.v")
	c.Env = append(os.Environ(), "SANDBOX_TEST_NONE=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || bytes.Contains(out, []byte("SKIP")) {
		t.Skipf("no user namespaces to begin with: %v %s", err, out)
	}
	if err != nil || !bytes.Contains(out, []byte("refused:")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWeakerIsFound: what the probe reaches is a missing guarantee, whatever else holds.
func TestWeakerIsFound(t *testing.T) {
	full := func(but probe.Guarantee) []probe.Try {
		var out []probe.Try
		for _, g := range probe.Guarantees() {
			out = append(out, probe.Try{Guarantee: g, What: "x", Refused: true}, probe.Try{Guarantee: g, What: "y", Refused: g != but, How: "reached"})
		}
		return out
	}
	for _, g := range probe.Guarantees() {
		r := probe.Report{Tries: full(g)}
		if m := r.Missing(); len(m) != 1 || m[0] != (probe.Missing{Guarantee: g, Reason: "y: reached"}) {
			t.Errorf("%s: %v", g, m)
		}
		for i, try := range r.Tries {
			r.Tries[i].Refused = true
			if try.Guarantee == g {
				r.Tries[i].Guarantee = "other"
			}
		}
		if m := r.Missing(); len(m) != 1 || m[0].Guarantee != g || !strings.Contains(m[0].Reason, "did not try") {
			t.Errorf("%s is not tried: %v", g, m)
		}
	}
	if r := (probe.Report{Tries: full("")}); len(r.Missing()) != 0 {
		t.Error(r.Missing())
	}
}

// A probe that starts every process that it may must not be taken for one with too much memory: on a busy machine
// one probe in many was ended so, and every call of a script was refused.
func TestProbeFitsIntoItsMemory(t *testing.T) {
	const each = 16 << 20 // of a process that the probe forks, its own pages and those that it shares
	if l := probeLimits(); int64(l.Processes)*each > l.Memory {
		t.Errorf("%d processes may have more than %d bytes together", l.Processes, l.Memory)
	}
}
