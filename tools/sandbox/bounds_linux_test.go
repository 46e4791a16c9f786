package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestBounds: whatever a program does, it is bounded, ends in time and leaves nothing. The worker below bubblewrap is that of
// namespaces, and so is that of another user; so there, and in the short form, one program of each kind runs.
// SIMD_TEST_LONG=1 runs all of them there, too.
// Promises 4 and 5.
func TestBounds(t *testing.T) {
	boxes(t, func(t *testing.T, b *Box) {
		sample := testing.Short() || (b.outers[0].name() == "bubblewrap" || os.Getenv("SANDBOX_TEST_AGAIN") != "") && os.Getenv("SIMD_TEST_LONG") == ""
		kinds := []string{"fork bomb", "double fork in a session of its own", "kills everybody", "ends at TERM", "endless output", "a full folder", "memory of many", "filters"}
		short, free := Limits{Time: 300 * time.Millisecond}, Limits{Time: long}
		for name, c := range map[string]struct {
			argv   []string
			limits Limits
			check  func(r Result) bool
		}{
			"fork bomb": {shell("f() { f | f & f; }; f; sleep MARK"), short, func(r Result) bool { return r.End == TimedOut || r.End == Exited || r.End == OutOfMem }},
			"double fork in a session of its own": {shell("(setsid sh -c 'trap \"\" TERM HUP; sleep MARK; sleep MARK' </dev/null >/dev/null 2>&1 &) ; sleep 0.1; echo done"), free,
				func(r Result) bool { return r.End == Exited && string(r.Stdout.Bytes) == "done\n" }},
			"a child that holds the outputs": {shell("sleep MARK & echo done"), free, func(r Result) bool { return r.End == Exited && string(r.Stdout.Bytes) == "done\n" }},
			"stops itself":                   {shell("sleep MARK & kill -STOP $$"), short, func(r Result) bool { return r.End == TimedOut }},
			"ignores TERM":                   {shell("trap '' TERM; echo begun; while :; do sleep MARK; done"), short, func(r Result) bool { return r.End == TimedOut && r.Took > grace }},
			"ends at TERM": {shell("trap 'echo bye; exit 4' TERM; echo begun; sleep MARK & wait"), short, func(r Result) bool {
				return r.End == TimedOut && r.Exit == 4 && string(r.Stdout.Bytes) == "begun\nbye\n"
			}},
			"kills everybody": {shell("sleep MARK & kill -9 -1; kill -9 1; kill -STOP 1; sleep MARK"), short, func(r Result) bool { return r.End == TimedOut }},
			"endless output":  {shell("yes begunMARK"), Limits{Time: short.Time, Output: 1 << 16}, func(r Result) bool { return r.End == TimedOut && len(r.Stdout.Bytes) == 1<<16 && r.Stdout.Dropped > 0 }},
			"endless errors":  {shell("echo begun; yes MARK >&2"), Limits{Time: short.Time, Output: 1 << 16}, func(r Result) bool { return r.End == TimedOut && len(r.Stderr.Bytes) == 1<<16 && r.Stderr.Dropped > 0 }},
			"a full folder":   {shell("cat /dev/zero >a; cat /dev/zero >b; echo full"), Limits{Time: long, FileSize: 60 << 20}, func(r Result) bool { return string(r.Stdout.Bytes) == "full\n" }},
			"processor time":  {shell("while :; do :; done"), Limits{Time: long, CPU: time.Second}, func(r Result) bool { return r.Exit == -1 && (r.Signal == "SIGXCPU" || r.Signal == "SIGKILL") }},
			"8 GiB":           {[]string{"python3", "-c", "bytearray(8<<30)"}, free, func(r Result) bool { return r.Exit == 1 && strings.Contains(string(r.Stderr.Bytes), "MemoryError") }},
			// What is shared stays when it is no longer resident, and when all but one page is no longer mapped.
			"shared memory": {[]string{"python3", "-c", shared}, free, func(r Result) bool {
				return r.Exit == 0 && string(r.Stdout.Bytes) == "PermissionError\nOSError\nOSError\nb'\\x00\\x00'\nb'x'\n"
			}},
			"memory of processes whose first thread has ended": {[]string{"python3", "-c", fmt.Sprintf(headless, unix.SYS_EXIT)}, free, func(r Result) bool { return r.End == OutOfMem }},
			"filters": {[]string{"python3", "-c", fmt.Sprintf(filters, unix.SYS_SECCOMP)}, free, func(r Result) bool {
				return string(r.Stdout.Bytes) == fmt.Sprintf("%d\n%d\n", unix.ENOSYS, unix.EINVAL)
			}},
			"timers": {[]string{"python3", "-c", fmt.Sprintf(timers, unix.SYS_TIMER_CREATE)}, free, func(r Result) bool { return string(r.Stdout.Bytes) == fmt.Sprintf("256 %d\n", unix.EAGAIN) }},
			"watches of files": {[]string{"python3", "-c", fmt.Sprintf(watches, unix.SYS_INOTIFY_INIT1)}, free, func(r Result) bool {
				return string(r.Stdout.Bytes) == fmt.Sprintf("%d\n%d\n%d\n", unix.ENOSYS, unix.EINVAL, unix.EINVAL)
			}},
			"memory of many": {[]string{"python3", "-c", "import os,time\nfor i in range(16):\n  if os.fork()==0:\n    b=bytearray(20<<20); time.sleep(60)\ntime.sleep(60)"}, Limits{Time: long, Memory: 256 << 20},
				func(r Result) bool { return r.End == OutOfMem }},
			// Tables of pages for addresses that were only read, two MiB apart.
			"tables of pages": {[]string{"python3", "-c", "import mmap,time\nm=mmap.mmap(-1,256<<30,flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS|0x4000,prot=mmap.PROT_READ)\nfor i in range(0,256<<30,2<<20): m[i]\nprint('all',flush=True)\ntime.sleep(60)"}, Limits{Time: long, Memory: 256 << 20},
				func(r Result) bool { return r.End == OutOfMem }},
			// Of four processes: the kernel goes through all locks of a file for each new one.
			"locks of files":    {[]string{"python3", "-c", "import fcntl,os,time\nfor p in range(4):\n  if os.fork()==0:\n    f=[os.open(f'{p}.{i}',os.O_CREAT|os.O_RDWR) for i in range(240)]\n    for j in range(0,400,2):\n      for x in f: fcntl.lockf(x,fcntl.LOCK_EX,1,j)\n    time.sleep(60)\ntime.sleep(60)"}, Limits{Time: long}, func(r Result) bool { return r.End == OutOfMem }},
			"what sockets hold": {[]string{"python3", "-c", sockets}, Limits{Time: long, Memory: 256 << 20}, func(r Result) bool { return r.End == OutOfMem }},
			"signals": {shell("i=1; while [ $i -lt 65 ]; do kill -$i 1; i=$((i+1)); done; i=99; while [ $i -gt 0 ]; do kill -34 1; i=$((i-1)); done; kill -11 1; kill -6 1; sleep 0.1; echo still"), free,
				func(r Result) bool { return r.End == Exited && strings.Contains(string(r.Stdout.Bytes), "still\n") }},
			"many files": {[]string{"python3", "-c", "import time\ntry:\n  for i in range(10**6): open(str(i),'w').close()\nexcept OSError as e: print('full at',i,flush=True)\ntime.sleep(1)"}, Limits{Time: long, Files: 5000},
				func(r Result) bool {
					return r.End == TooManyFiles || strings.HasPrefix(string(r.Stdout.Bytes), "full at 49")
				}},
		} {
			if sample && !slices.Contains(kinds, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel() // most of them wait
				m := mark()
				for i, word := range c.argv {
					c.argv[i] = strings.ReplaceAll(word, "MARK", m)
				}
				if _, err := exec.LookPath("/usr/bin/" + c.argv[0]); err != nil {
					t.Skip(c.argv[0], "is not installed")
				}
				if testing.Short() && c.limits.Memory > 0 {
					t.Skip("the bound holds for the worker, too, and the race detector needs more")
				}
				r := run(t, b, Command{Argv: c.argv, Limits: c.limits})
				for begins := strings.Contains(strings.Join(c.argv, " "), "begun"); begins && (!bytes.HasPrefix(r.Stdout.Bytes, []byte("begun")) || !c.check(r)) && c.limits.Time < long; {
					c.limits.Time *= 10 // a busy machine: the time was over before the program had begun, or had done it
					r = run(t, b, Command{Argv: c.argv, Limits: c.limits})
				}
				if !c.check(r) {
					t.Errorf("%s exit %d %s, %v, out %d+%d %.300q err %.300q", r.End, r.Exit, r.Signal, r.Took, len(r.Stdout.Bytes), r.Stdout.Dropped, r.Stdout.Bytes, r.Stderr.Bytes)
				}
				if got := left(m); len(got) > 0 {
					t.Errorf("left behind: %v", got)
				}
			})
		}
	})
}

// shared tries all ways to memory that processes share, of which a file in a folder is the last.
const shared = `
import mmap, os
tries = [lambda: mmap.mmap(-1, 4096)]
for device in '/dev/zero', '/dev/full':
    tries.append(lambda device=device: mmap.mmap(os.open(device, os.O_RDWR), 4096))
for t in tries:
    try: print('got', t())
    except OSError as e: print(type(e).__name__)
print(os.read(os.open('/dev/zero', os.O_RDONLY), 2))
f = os.open('/work/f', os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 4096)
m = mmap.mmap(f, 4096)
if os.fork() == 0:
    m[0:1] = b'x'
    os._exit(0)
os.wait()
print(m[0:1])
`

// headless makes processes whose first thread has ended, by the number of the system call for that.
const headless = `
import ctypes, os, threading, time
def hold():
    while open('/proc/self/statm').read()[0] != '0': time.sleep(0.01)
    b = bytearray(200 << 20)
    time.sleep(300)
for i in range(8):
    if os.fork() == 0:
        threading.Thread(target=hold).start()
        ctypes.CDLL(None).syscall(%d, 0)
time.sleep(300)
`

// filters tries to add one, by the number of the system call for that.
const filters = `
import ctypes
L = ctypes.CDLL(None, use_errno=True)
L.syscall(%d, 1, 0, None); print(ctypes.get_errno())
L.prctl(22, 2, None, 0, 0); print(ctypes.get_errno())
`

// timers makes as many timers as it can, by the number of the system call for that.
const timers = `
import ctypes, struct
L = ctypes.CDLL(None, use_errno=True)
event, id, n = struct.pack('qii48x', 0, 34, 1), ctypes.c_int(), 0
while n < 1000 and L.syscall(%d, 1, event, ctypes.byref(id)) == 0: n += 1
print(n, ctypes.get_errno())
`

// watches tries to be told what others do with files, by the number of a system call and by fcntl.
const watches = `
import ctypes, os
L = ctypes.CDLL(None, use_errno=True)
L.syscall(%d, 0); print(ctypes.get_errno())
L.fcntl(os.open('/usr/bin', os.O_RDONLY), 1026, 5); print(ctypes.get_errno())
L.fcntl(os.open('x', os.O_RDONLY | os.O_CREAT), 1024, 0); print(ctypes.get_errno())
`

// sockets fills pairs of streams in several processes, and waits.
const sockets = `
import os, socket, time
for i in range(8):
    if os.fork() == 0: break
pairs = []
while len(pairs) < 120:
    pair = socket.socketpair()
    for s in pair:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        s.setblocking(False)
        try:
            while True: s.send(bytes(65536))
        except BlockingIOError: pass
    pairs.append(pair)
time.sleep(60)
`

// Promise 5.
func TestCancelled(t *testing.T) {
	b, m := box(t), mark()
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled sync.WaitGroup
	cancelled.Go(func() {
		defer cancel()
		eventually(t, "the program runs", func() bool { return len(left("sleep\x00"+m)) > 0 })
	})
	if r, err := b.Run(ctx, Command{Argv: []string{"sleep", m}, Limits: Limits{Time: long}}); err != nil || r.End != Cancelled || r.Signal != "SIGTERM" || len(left(m)) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	cancelled.Wait()
}

// TestTheWorkerMayGoOn: a worker looks at its program as long as that lives, and what the looks take must end neither.
// Promise 4.
func TestTheWorkerMayGoOn(t *testing.T) {
	boxes(t, func(t *testing.T, b *Box) {
		r := run(t, b, Command{Argv: shell("ulimit -t; ulimit -Ht; ulimit -Hn; grep \"cpu time\" /proc/1/limits"), Limits: Limits{Time: long, CPU: 6500 * time.Millisecond, Open: 77}})
		if got := string(r.Stdout.Bytes); !strings.HasPrefix(got, "7\n7\n77\nMax cpu time ") || strings.Contains(strings.TrimPrefix(got, "7\n7\n77\n"), " 7 ") {
			t.Errorf("%s %s", got, r.Stderr.Bytes)
		}
	})
	look := looker{limits: DefaultLimits()}
	if n := testing.AllocsPerRun(2*locksEvery, func() { look.tooMuch() }); n > 0 {
		t.Errorf("a look allocates %.0f times, and nothing is collected", n)
	}
}

// engine is an engine that is killed. It says which worker it started ahead.
func engine(mark string) int {
	b := New(Options{})
	b.Run(context.Background(), Command{Argv: shell("trap '' TERM; setsid sleep " + mark + " & echo x; wait; sleep " + mark), Limits: Limits{Time: time.Hour}, Started: func(int) {
		b.keepSpare(context.Background(), b.tried[Strict].chosen, &Command{More: yes})
		fmt.Println((<-b.spare.started).cmd.Process.Pid)
	}})
	return 0
}

// TestEngineDies: its programs die with it.
// Promise 7.
func TestEngineDies(t *testing.T) {
	box(t)
	m := mark()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "SANDBOX_TEST_ENGINE="+m)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ahead := 0
	if _, err := fmt.Fscan(out, &ahead); err != nil || gone(ahead) {
		t.Fatal(ahead, err)
	}
	eventually(t, "the program runs", func() bool { return len(left("sleep\x00"+m)) > 0 })
	c.Process.Kill()
	c.Wait()
	eventually(t, "nothing is left", func() bool { return len(left(m)) == 0 && gone(ahead) })
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < long; <-tick.C {
		if is() {
			return
		}
	}
	t.Error("it never came to this:", what)
}
