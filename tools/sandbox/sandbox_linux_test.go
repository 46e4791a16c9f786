package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tavernsim/protocol"
)

// The test's own program is the worker, the program inside, and an engine.
func TestMain(m *testing.M) {
	if code, worker := Reexec(os.Args); worker {
		syscall.Exit(code) // before os.Exit the race detector waits for a second
	}
	if len(os.Args) == 3 && os.Args[1] == "inside" {
		syscall.Exit(inside(os.Args[2]))
	}
	if mark := os.Getenv("SANDBOX_TEST_ENGINE"); mark != "" {
		os.Exit(engine(mark))
	}
	goleak.VerifyTestMain(m)
}

// box gives a box of this machine, or skips.
func box(t testing.TB) *Box {
	b := New(Options{})
	r := b.Probe(t.Context())
	if missing := r.Missing(); len(missing) > 0 {
		t.Skipf("no sandbox here: %v", missing)
	}
	return b
}

// boxes gives a box for each outer stage that works here.
func boxes(t *testing.T, do func(t *testing.T, b *Box)) {
	stages(t, func(t *testing.T, b *Box) {
		r := b.Probe(t.Context())
		if missing := r.Missing(); len(missing) > 0 {
			t.Skipf("%s does not work here: %v", b.outers[0].name(), missing)
		}
		do(t, b)
	})
}

// stages gives a box for each outer stage, also for one that lets through what it must not.
func stages(t *testing.T, do func(t *testing.T, b *Box)) {
	for _, o := range []outer{namespaces{}, bubblewrap{self: reachable(t)}} {
		t.Run(o.name(), func(t *testing.T) {
			b := &Box{outers: []outer{o}, system: systemPaths()}
			if _, err := exec.LookPath("bwrap"); err != nil && o.name() == "bubblewrap" {
				t.Skip("bubblewrap is not installed")
			}
			do(t, b)
		})
	}
}

// reachable copies this program to where every user may read it.
func reachable(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(open(t), "worker")
	if err := os.WriteFile(file, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// open gives a folder that the program's user owns.
func open(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	uid, gid := hostIDs()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, uid, gid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, b *Box, c Command) Result {
	t.Helper()
	r, err := b.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// long is more time than anything takes that ends at all, also on a slow machine with much to do.
const long = 5 * time.Minute

func shell(script string) []string { return []string{"sh", "-c", script} }

// TestEverythingIsRefused prints what the probe tried.
// Promise 1.
func TestEverythingIsRefused(t *testing.T) {
	stages(t, func(t *testing.T, b *Box) {
		for _, p := range []Profile{Strict, Net} {
			r := b.ProbeOf(t.Context(), p)
			if r.Failed != "" {
				t.Skipf("%s cannot be set up here: %s: %s", p, r.Failed, r.Reason)
			}
			for _, try := range r.Tries {
				if !try.Refused {
					t.Errorf("%s: %s: %s: %s", p, try.Guarantee, try.What, try.How)
				}
			}
			if len(r.Tries) < 100 {
				t.Errorf("%s: %d tries, %v; the probe does less than it did", p, len(r.Tries), r.Missing())
			}
		}
	})
}

func TestPrograms(t *testing.T) {
	b := box(t)
	r := run(t, b, Command{Argv: shell(`echo "$A $PWD"; cat; echo no >&2; exit 3`), Env: []string{"A=b"}, Stdin: []byte("in")})
	if got := fmt.Sprintf("%q %q %d %s", r.Stdout.Bytes, r.Stderr.Bytes, r.Exit, r.End); got != `"b /work\nin" "no\n" 3 exited` {
		t.Error(got)
	}
	if r = run(t, b, Command{Argv: shell("kill -9 $$")}); r.Exit != -1 || r.Signal != "SIGKILL" || r.End != Exited {
		t.Errorf("%+v", r)
	}
	for _, c := range [][]string{
		{"python3", "-c", "import json,subprocess,threading; print(json.dumps(subprocess.run(['echo','ok'],capture_output=True,text=True).stdout))"},
		{"node", "-e", "require('child_process').exec('echo ok', (e, out) => console.log(JSON.stringify(out)))"},
		{"sh", "-c", `printf "%s" '"ok\n"'`},
	} {
		if _, err := exec.LookPath("/usr/bin/" + c[0]); err != nil {
			continue
		}
		if r = run(t, b, Command{Argv: c}); strings.TrimSpace(string(r.Stdout.Bytes)) != `"ok\n"` {
			t.Errorf("%s: %+v %s", c[0], r, r.Stderr.Bytes)
		}
	}
}

func TestBadCommands(t *testing.T) {
	b := box(t)
	for want, c := range map[string]Command{
		"the command is empty":      {},
		"in the profile net, and":   {Profile: Net, Argv: shell("true")},
		"trusted is not built":      {Profile: "trusted", Argv: shell("true")},
		"no sandbox profile \"x\"":  {Profile: "x", Argv: shell("true")},
		"NUL byte":                  {Argv: []string{"true", "\x00"}},
		"at most 131072":            {Argv: []string{"true", strings.Repeat("x", 200_000)}},
		"must be absolute":          {Argv: shell("true"), Mounts: []Mount{{Host: "x", Inside: "/x"}}},
		"belongs to the system":     {Argv: shell("true"), Mounts: []Mount{{Host: "/", Inside: "/a/../usr"}}},
		"no such file":              {Argv: shell("true"), Mounts: []Mount{{Host: "/none", Inside: "/x"}}},
		"cannot be started":         {Argv: []string{"no-such-program"}},
		"\"./x\" cannot be started": {Argv: []string{"./x"}},
	} {
		if _, err := b.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) || protocol.KindOf(err) == protocol.KindInternal {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFiles: nothing of ours is read, whichever way a program takes.
// Promises 2 and 6.
func TestFiles(t *testing.T) {
	const canary = "canary-8c1f"
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(secret) // a descriptor of the engine
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	unix.FcntlInt(held.Fd(), unix.F_SETFD, 0)
	t.Setenv("SANDBOX_TEST_CANARY", canary)
	boxes(t, func(t *testing.T, b *Box) {
		plugin, work := open(t), open(t)
		os.WriteFile(plugin+"/tool.sh", []byte("echo ran"), 0o755)
		os.Symlink(secret, plugin+"/link")
		os.Symlink(filepath.Dir(secret), work+"/.git") // what lies in a mount is never followed by the engine
		mounts := []Mount{{Host: plugin, Inside: "/plugin"}, {Host: work, Inside: "/workspace", Write: true}}
		r := run(t, b, Command{Mounts: mounts, Env: []string{"SECRET=" + secret}, Argv: shell(`
			cat "$SECRET" "/workspace/../$SECRET" /workspace/.git/* /plugin/link "/proc/self/root$SECRET" "/proc/1/root$SECRET" "/proc/1/cwd/$SECRET" /proc/[0-9]*/environ /proc/[0-9]*/cmdline
			for fd in 0 3 4 5 6 7 8 9 10 11; do cat /proc/1/fd/$fd /proc/self/fd/$fd; done
			find / -path /usr -prune -o -path /proc -prune -o -path /dev -prune -o -type f -size -64k -print0 | xargs -0 cat
			ln -s "$SECRET" /workspace/l; cat /workspace/l; ln "$SECRET" /workspace/h; ln /plugin/link /workspace/h2; cat /workspace/h2
			cat /etc/passwd /etc/shadow
		`)})
		if all := string(r.Stdout.Bytes) + string(r.Stderr.Bytes); strings.Contains(string(r.Stdout.Bytes), canary) || strings.Contains(all, "root:") {
			t.Errorf("read something of ours:\n%s", all)
		}
		r = run(t, b, Command{Mounts: mounts, Argv: shell(`
			sh /plugin/tool.sh
			echo x >/plugin/tool.sh; echo x >/plugin/new; rm /plugin/tool.sh; mv /plugin/tool.sh /workspace/
			echo x >/usr/bin/x; echo x >/etc/x; mkdir /x; echo x >/proc/sys/kernel/core_pattern; chmod 777 /usr
			echo kept >/workspace/file; exit 0
		`)})
		if string(r.Stdout.Bytes) != "ran\n" {
			t.Errorf("%s%s", r.Stdout.Bytes, r.Stderr.Bytes)
		}
		for path, want := range map[string]string{plugin + "/tool.sh": "echo ran", work + "/file": "kept\n", plugin + "/new": ""} {
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	})
}

// TestFilesOfACommand: they are there, and cannot be changed.
func TestFilesOfACommand(t *testing.T) {
	boxes(t, func(t *testing.T, b *Box) {
		big := bytes.Repeat([]byte("x"), 4<<20)
		r := run(t, b, Command{
			Argv: []string{"./run.sh"}, Dir: Files,
			Files: []File{{Path: "run.sh", Data: []byte("#!/bin/sh\ncat lib/a; wc -c <big; echo x 2>/dev/null >run.sh || echo x 2>/dev/null >lib/new || rm -f lib/a 2>/dev/null || echo kept; cat lib/a"), Exec: true}, {Path: "lib/a", Data: []byte("a\n")}, {Path: "big", Data: big}},
		})
		if got := string(r.Stdout.Bytes); got != "a\n4194304\nkept\na\n" {
			t.Errorf("%q %s", got, r.Stderr.Bytes)
		}
		for _, path := range []string{"../x", "/x", "", ".", "a/../b", "a\x00"} {
			if _, err := b.Run(t.Context(), Command{Argv: shell("true"), Files: []File{{Path: path}}}); protocol.KindOf(err) != protocol.KindInvalid {
				t.Errorf("%q: %v", path, err)
			}
		}
		for _, second := range []string{"a", "a/b", strings.Repeat("x", 256)} {
			for _, files := range [][]File{{{Path: "a"}, {Path: second}}, {{Path: second}, {Path: "a"}}} {
				if _, err := b.Run(t.Context(), Command{Argv: shell("true"), Files: files}); protocol.KindOf(err) != protocol.KindInvalid {
					t.Errorf("%q: %v", second, err)
				}
			}
		}
		if _, err := b.Run(t.Context(), Command{Argv: shell("true"), Files: []File{{Path: "a", Data: make([]byte, MaxFiles+1)}}}); protocol.KindOf(err) != protocol.KindLimit {
			t.Error(err)
		}
	})
}

// TestSwappedLink: a link that changes all the time never leads out.
// Promise 2.
func TestSwappedLink(t *testing.T) {
	b := box(t)
	work, outside := open(t), t.TempDir()
	os.WriteFile(outside+"/f", []byte("foreign"), 0o644)
	os.Mkdir(work+"/real", 0o755)
	os.WriteFile(work+"/real/f", []byte("own"), 0o644)
	r := run(t, b, Command{
		Mounts: []Mount{{Host: work, Inside: "/workspace", Write: true}}, Limits: Limits{Time: long},
		Argv: shell(`cd /workspace; (while :; do ln -sfn ` + outside + ` d; ln -sfn real d; done) & for i in $(seq 1 500); do cat d/f 2>/dev/null; done`),
	})
	if !bytes.Contains(r.Stdout.Bytes, []byte("own")) || bytes.Contains(r.Stdout.Bytes, []byte("foreign")) {
		t.Errorf("%.200s", r.Stdout.Bytes)
	}
}

// TestKernelCalls tries what needs more than one call. The probe has tried the others.
// Promise 3.
func TestKernelCalls(t *testing.T) {
	boxes(t, func(t *testing.T, b *Box) {
		self := reachable(t)
		call := func(name string) Result {
			return run(t, b, Command{Argv: []string{"/test/self", "inside", name}, Mounts: []Mount{{Host: self, Inside: "/test/self"}}})
		}
		if r := call("x32"); r.Signal != "SIGSYS" {
			t.Errorf("x32: %+v", r)
		}
		if r := call("pair"); r.Exit != 0 {
			t.Errorf("a pair of streams: %s", r.Stderr.Bytes)
		}
		i386 := filepath.Join(open(t), "i386")
		os.WriteFile(i386, elf32(), 0o755)
		if exec.Command(i386).Run() != nil {
			t.Skip("this kernel runs no programs of i386")
		}
		if r := run(t, b, Command{Argv: []string{"/test/i386"}, Mounts: []Mount{{Host: i386, Inside: "/test/i386"}}}); r.Signal != "SIGSYS" {
			t.Errorf("i386: %+v", r)
		}
	})
}

func inside(name string) int {
	switch name {
	case "x32":
		syscall.RawSyscall(1<<30|syscall.SYS_GETPID, 0, 0, 0)
	case "bomb":
		bomb()
	case "pair":
		if _, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// elf32 is a program of i386 that does exit(0).
func elf32() []byte {
	b := []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00")
	b = append(b, "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x5b\x00\x00\x00\x5b\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00"...)
	return append(b, 0x31, 0xc0, 0x40, 0x31, 0xdb, 0xcd, 0x80) // xor eax,eax; inc eax; xor ebx,ebx; int 0x80
}

// mark is a number of seconds that no other process sleeps.
func mark() string {
	return "7" + strconv.Itoa(os.Getpid()) + "." + strconv.Itoa(int(time.Now().UnixNano()%1e9))
}

// left lists processes of the host that have the mark among their arguments.
func left(mark string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, _ := os.ReadFile(f); bytes.Contains(text, []byte(mark)) {
			pids = append(pids, f)
		}
	}
	return pids
}

// TestBounds: whatever a program does, it is bounded, ends in time and leaves nothing.
// Promises 4 and 5.
func TestBounds(t *testing.T) {
	boxes(t, func(t *testing.T, b *Box) {
		if testing.Short() && b.outers[0].name() == "bubblewrap" {
			t.Skip("the same worker; not in short")
		}
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
			// Twice what a Go program may map at its start: the worker itself is bound, too.
			"shared memory": {[]string{"python3", "-c", "import mmap\nm=mmap.mmap(-1,8<<30)\nfor i in range(0,8<<30,4096): m[i]=1"}, Limits{Time: long, Memory: 256 << 20}, func(r Result) bool { return r.End == OutOfMem }},
			"memory of many": {[]string{"python3", "-c", "import os,time\nfor i in range(16):\n  if os.fork()==0:\n    b=bytearray(20<<20); time.sleep(60)\ntime.sleep(60)"}, Limits{Time: long, Memory: 256 << 20},
				func(r Result) bool { return r.End == OutOfMem }},
			// Tables of pages for addresses that were only read, two MiB apart.
			"tables of pages": {[]string{"python3", "-c", "import mmap,time\nm=mmap.mmap(-1,256<<30,flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS|0x4000,prot=mmap.PROT_READ)\nfor i in range(0,256<<30,2<<20): m[i]\nprint('all',flush=True)\ntime.sleep(60)"}, Limits{Time: long, Memory: 256 << 20},
				func(r Result) bool { return r.End == OutOfMem }},
			"locks of files":    {[]string{"python3", "-c", "import fcntl,os,time\nf=[os.open(str(i),os.O_CREAT|os.O_RDWR) for i in range(200)]\nfor j in range(0,4000,2):\n  for x in f: fcntl.lockf(x,fcntl.LOCK_EX,1,j)\nprint('400,000 locks',flush=True); time.sleep(60)"}, Limits{Time: long}, func(r Result) bool { return r.End == OutOfMem }},
			"what sockets hold": {[]string{"python3", "-c", sockets}, Limits{Time: long, Memory: 256 << 20}, func(r Result) bool { return r.End == OutOfMem }},
			"signals": {shell("i=1; while [ $i -lt 65 ]; do kill -$i 1; i=$((i+1)); done; i=99; while [ $i -gt 0 ]; do kill -34 1; i=$((i-1)); done; kill -11 1; kill -6 1; sleep 0.1; echo still"), free,
				func(r Result) bool { return r.End == Exited && strings.Contains(string(r.Stdout.Bytes), "still\n") }},
			"many files": {[]string{"python3", "-c", "import time\ntry:\n  for i in range(10**6): open(str(i),'w').close()\nexcept OSError as e: print('full at',i,flush=True)\ntime.sleep(1)"}, Limits{Time: long, Files: 5000},
				func(r Result) bool {
					return r.End == TooManyFiles || strings.HasPrefix(string(r.Stdout.Bytes), "full at 49")
				}},
		} {
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

// engine is an engine that is killed. It says which worker it started ahead.
func engine(mark string) int {
	b := New(Options{})
	b.Run(context.Background(), Command{Argv: shell("trap '' TERM; setsid sleep " + mark + " & echo x; wait; sleep " + mark), Limits: Limits{Time: time.Hour}, Started: func(int) {
		b.keepSpare(b.tried[Strict].chosen)
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

// TestAsUser runs the tests as a user without rights.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("as root, and not in short")
	}
	c := exec.Command(reachable(t), "-test.run", "^Test(EverythingIsRefused|Programs|Files|Bounds|EngineDies|Unavailable)$", "-test.v")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4321, Gid: 4321}}
	c.Dir, c.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", skips(out))
}

func skips(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "SKIP") || strings.Contains(line, "does not work") || strings.Contains(line, "no sandbox") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// BenchmarkStart measures a program in the sandbox beside the bare program.
func BenchmarkStart(b *testing.B) {
	x := box(b)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sandbox", func(b *testing.B) {
		for b.Loop() {
			if r, err := x.Run(b.Context(), Command{Argv: []string{"/usr/bin/true"}}); err != nil || r.Exit != 0 {
				b.Fatal(r, err)
			}
		}
	})
}
