package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// boxes gives a box for each outer stage that works here, in the short form for the first: the worker is the same.
func boxes(t *testing.T, do func(t *testing.T, b *Box)) {
	stages(t, func(t *testing.T, b *Box) {
		if testing.Short() && b.outers[0].name() == "bubblewrap" {
			t.Skip("not in short: the same worker")
		}
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

// A program may open its streams by their names, as shell scripts do.
func TestStreams(t *testing.T) {
	stages(t, func(t *testing.T, b *Box) {
		r := run(t, b, Command{Argv: shell("cat /dev/stdin >/dev/stdout; echo no >/dev/stderr"), Stdin: []byte("in")})
		if got := fmt.Sprintf("%q %q %d", r.Stdout.Bytes, r.Stderr.Bytes, r.Exit); got != `"in" "no\n" 0` {
			t.Error(got)
		}
	})
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

// TestAsUser runs the tests as a user without rights.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("as root, and not in short")
	}
	c := exec.Command(reachable(t), "-test.run", "^Test(EverythingIsRefused|Programs|Streams|Files|Bounds|EngineDies|Unavailable)$", "-test.v")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4321, Gid: 4321}}
	c.Dir, c.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "SANDBOX_TEST_AGAIN=1", "SIMD_TEST_LONG=" + os.Getenv("SIMD_TEST_LONG")}
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
