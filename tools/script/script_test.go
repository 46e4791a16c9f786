package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/toolstest"
)

func TestMain(m *testing.M) { toolstest.Main(m, nil) }

func executor(t testing.TB) *Executor {
	t.Helper()
	x := New(toolstest.Sandbox(t))
	t.Cleanup(func() { x.Close() })
	return x
}

func python(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is not installed")
	}
}

// script makes a tool.
func script(t testing.TB, command string, files ...manifest.File) *manifest.Tool {
	t.Helper()
	x := &manifest.Tool{ID: "t", Implementation: manifest.Implementation{Type: manifest.Script, Command: command}}
	if faults := x.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	if err := x.SetFiles(files); err != nil {
		t.Fatal(err)
	}
	return x
}

func sh(text string) manifest.File { return manifest.File{Path: "x.sh", Data: []byte(text)} }

func call(t testing.TB, x *Executor, tool *manifest.Tool, params map[string]any) tools.Result {
	t.Helper()
	return x.Call(t.Context(), &tools.Call{Tool: tool, Params: params, Key: "k", Attempt: 1})
}

func TestConforms(t *testing.T) {
	x := executor(t)
	python(t)
	toolstest.Run(t, func(t *testing.T, act toolstest.Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
		program := map[toolstest.Act]string{
			toolstest.Answers: "import json,os,sys\nprint(json.dumps({'said': json.load(sys.stdin)['say'], 'key': os.environ['SIMD_IDEMPOTENCY_KEY']}))",
			toolstest.SaysNo:  "import sys\nsys.exit('no')",
			toolstest.Hangs:   "import time\ntime.sleep(60)",
			toolstest.Floods:  "print('x' * (2<<20))",
			toolstest.Breaks:  "import os\nprint('{', flush=True)\nos.kill(os.getpid(), 9)",
		}[act]
		if program == "" {
			return nil, nil
		}
		tool := script(t, "python3 x.py", manifest.File{Path: "x.py", Data: []byte(program)})
		tool.Execution.Repeat = repeat
		return x, tool
	})
}

// Promises 1 and 2.
func TestParametersAndOutputs(t *testing.T) {
	x := executor(t)
	nasty := `"; echo owned; $(echo owned) '` + "`echo owned`\n\u2028"
	echo := call(t, x, script(t, "cat"), map[string]any{"a": nasty})
	if got, _ := echo.Output.(map[string]any); echo.Status != tools.OK || got["a"] != nasty {
		t.Errorf("%+v %+v", echo, echo.Error)
	}
	for text, want := range map[string]any{
		`cat >/dev/null; printf '{"a": [1, 2.5, null]}\n'`: map[string]any{"a": []any{int64(1), 2.5, nil}},
		`printf '  42 '`:                        int64(42),
		`printf 'true'`:                         true,
		`printf '"text"'`:                       "text",
		`printf '[18446744073709551615]'`:       []any{1.8446744073709552e19},
		`printf '[1e400]'`:                      `[1e400]`,
		`echo plain; echo words`:                "plain\nwords\n",
		`printf '{"a": 1} {"b": 2}'`:            `{"a": 1} {"b": 2}`,
		`printf '{"a": 1, "a": 2}'`:             `{"a": 1, "a": 2}`,
		`printf '\377x'`:                        "\xffx",
		`:`:                                     nil,
		`echo bad >&2; echo fine`:               "fine\n",
		`echo "$1$#" "$SIMD_TOOL$SIMD_ATTEMPT"`: "0 t1\n",
		`echo "$PWD $HOME $SIMD_WORK"; echo x >"$HOME/y"; ls "$HOME"`: "/tool /work /work\ny\n",
		`echo x >y 2>/dev/null || echo refused`:                       "refused\n",
		`env | cut -d= -f1 | sort | tr '\n' ' '`:                      "HOME LANG PATH PWD SIMD_ATTEMPT SIMD_IDEMPOTENCY_KEY SIMD_TOOL SIMD_WORK TMPDIR ",
	} {
		r := call(t, x, script(t, "sh ./x.sh", sh(text)), nil)
		got, _ := json.Marshal(r.Output)
		w, _ := json.Marshal(want)
		if r.Status != tools.OK || string(got) != string(w) {
			t.Errorf("%s: %s %s %+v, want %s", text, r.Status, got, r.Error, w)
		}
	}
	for text, want := range map[string]string{
		`echo why >&2; exit 3`: "tool: the program ended with exit code 3: why",
		`echo why; exit 1`:     "tool: the program ended with exit code 1: why",
		`exit 1`:               "tool: the program ended with exit code 1",
		`kill -9 $$`:           "transient: the program was ended by SIGKILL",
	} {
		r := call(t, x, script(t, "./x.sh", sh("#!/bin/sh\n"+text)), nil)
		if got := fmt.Sprintf("%s: %s", r.Error.Kind, r.Error.Message); got != want || r.Status != tools.Failed {
			t.Errorf("%s: %s", text, got)
		}
	}
	if r := call(t, x, script(t, "no-such-program"), nil); r.Status != tools.Failed || r.Error.Kind != protocol.KindNotFound || !r.Unsent {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// Promise 3: each call begins with the files as they were, in an empty folder.
func TestEachCallIsNew(t *testing.T) {
	x := executor(t)
	tool := script(t, "sh x.sh lib/word", sh(`cat "$1"; echo changed >lib/word; echo left >/work/left; echo left >/tmp/left; ls /work`), manifest.File{Path: "lib/word", Data: []byte("first\n")})
	for range 2 {
		if r := call(t, x, tool, nil); r.Output != "first\nleft\n" {
			t.Errorf("%+v %+v", r, r.Error)
		}
	}
}

// Promise 4.
func TestNothingRunsWithoutASandbox(t *testing.T) {
	t.Setenv("PATH", "")
	if os.Getenv("SIMD_TEST_NOTHING") == "" {
		c := exec.Command("/usr/bin/unshare", "-Ur", "/bin/sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" -test.run '^TestNothingRuns' -test.v`, os.Args[0])
		c.Env = append(os.Environ(), "SIMD_TEST_NOTHING=1")
		out, err := c.CombinedOutput()
		if err != nil && !strings.Contains(string(out), "=== RUN") {
			t.Skipf("no user namespaces to begin with: %v %s", err, out)
		}
		if err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	x := New(sandbox.New(sandbox.Options{}))
	for _, c := range []*tools.Call{{Tool: script(t, "sh x.sh", sh("echo ran"))}, {Tool: manifest.NewCodeInterpreter(), Params: map[string]any{"language": "sh", "code": "echo ran"}}} {
		r := x.Call(t.Context(), c)
		if r.Error == nil || r.Error.Kind != protocol.KindUnknown || !strings.Contains(r.Error.Message, "sandbox_unavailable: profile strict lacks processes") || !r.Unsent || r.Output != nil {
			t.Errorf("%+v %+v", r, r.Error)
		}
	}
}

// Promise 5.
func TestCode(t *testing.T) {
	x := executor(t)
	tool := manifest.NewCodeInterpreter()
	run := func(params map[string]any) string {
		r := tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: params}, tools.Options{})
		if r.Error != nil {
			return fmt.Sprintf("%s: %s", r.Error.Kind, r.Error.Message)
		}
		b, err := json.Marshal(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	missing := strings.Join(Missing(), " ")
	for _, c := range []struct{ language, code, want string }{
		{"python", "print(sum(range(10)))\nimport helper", `{"artifacts":[],"exit_code":0,"stderr":"","stdout":"45\nhelped\n"}`},
		{"python", "1/0", `"exit_code":1,"stderr":"Traceback`},
		{"javascript", "console.log([1,2].map(x => x * 2)); require('./helper.js')", `{"artifacts":[],"exit_code":0,"stderr":"","stdout":"[ 2, 4 ]\nhelped\n"}`},
		{"sh", "cat data/in.txt; echo out >data/in.txt; cat data/in.txt; exit 7", `{"artifacts":[{"name":"data/in.txt","uri":"artifact:sha256-54034ac5c6e9ea95734ec2b729fd6d62abf64af34a9f9ce5d466cb788191a73d"}],"exit_code":7,"stderr":"","stdout":"in\nout\n"}`},
		{"sh", "kill -9 $$", `"exit_code":-1,"signal":"SIGKILL"`},
		{"python", "import socket; socket.create_connection(('127.0.0.1', 80))", "PermissionError"},
		{"python", "open('/etc/passwd')", "FileNotFoundError"},
		{"ruby", "1", `invalid: language "ruby": want one of [python javascript sh]`},
	} {
		if strings.Contains(missing, c.language) {
			continue
		}
		got := run(map[string]any{"language": c.language, "code": c.code, "files": map[string]any{"helper.py": "print('helped')", "helper.js": "console.log('helped')", "data/in.txt": "in\n"}})
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.language, c.code, got, c.want)
		}
	}
	for _, path := range []string{"../x", "/x", "", "main.sh", "a/../b"} {
		if got := run(map[string]any{"language": "sh", "code": "x", "files": map[string]any{path: "x"}}); !strings.HasPrefix(got, "invalid: ") {
			t.Errorf("%q: %s", path, got)
		}
	}
	begun := time.Now()
	if got := run(map[string]any{"language": "sh", "code": "sleep 50", "timeout": 0.2}); !strings.HasPrefix(got, "timeout: ") || time.Since(begun) > 50*time.Second {
		t.Error(got)
	}
}

// Promise 7: TestMain finds what is left.
func TestCancelledCall(t *testing.T) {
	x := executor(t)
	ctx, cancel := context.WithCancel(t.Context())
	tool := script(t, "sleep 60")
	r := tools.Run(ctx, tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
		defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
		return x.Call(ctx, c)
	}), &tools.Call{Tool: tool}, tools.Options{})
	if r.Status != tools.Unknown { // the tool must not be repeated, and nobody knows how far it came
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// Calls may return after Close: they leave no worker for a next call.
// Promise 7: TestMain finds what is left.
func TestACallThatReturnsAfterClose(t *testing.T) {
	x, dir := New(toolstest.Sandbox(t)), t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the program has the rights of another user
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "go")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Chmod(pipe, 0o644)); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	done := make(chan tools.Result, 1)
	tool := script(t, "sh x.sh", sh("cat /here/go"))
	go func() {
		done <- x.Call(t.Context(), &tools.Call{Tool: tool, Key: "k", Attempt: 1, Binds: []tools.Bind{{Host: dir, Inside: "/here"}}})
	}()
	program, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once the program reads
	if err != nil {
		t.Fatal(err)
	}
	_ = x.Close()
	_, _ = program.WriteString("answer")
	_ = program.Close()
	if r := <-done; r.Error != nil || r.Output != "answer" {
		t.Errorf("%+v %v", r, r.Error)
	}
}

// A program whose sandbox is killed beside it has begun: nobody may repeat it as one that has not.
func TestAKilledSandbox(t *testing.T) {
	x := executor(t)
	ctx, cancel := context.WithTimeout(t.Context(), toolstest.Long)
	defer cancel()
	mark := fmt.Sprintf("%d.25", 1<<20+os.Getpid())
	done := make(chan tools.Result, 1)
	go func() {
		done <- x.Call(ctx, &tools.Call{Tool: script(t, "sleep "+mark), Key: "k", Attempt: 1})
	}()
	worker := 0
	for ; worker == 0 && ctx.Err() == nil; <-time.After(5 * time.Millisecond) { // another process
		worker = parentOf("sleep\x00" + mark + "\x00")
	}
	if worker == 0 {
		t.Fatalf("it did not begin: %+v", <-done)
	}
	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Error == nil || r.Error.Kind != protocol.KindTransient || !r.Lost || r.Unsent {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// parentOf is the parent of the process with a command line; 0 = there is none.
func parentOf(line string) (pid int) {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range list {
		if text, _ := os.ReadFile(name); string(text) == line {
			status, _ := os.ReadFile(filepath.Dir(name) + "/status")
			_, rest, _ := strings.Cut(string(status), "PPid:")
			_, _ = fmt.Sscan(rest, &pid)
		}
	}
	return pid
}

// Promise 6: what a program leaves in its folder comes along, bounded; links and hidden files do not, and
// nothing goes on after its end that could change it.
func TestFilesThatAreLeft(t *testing.T) {
	x := executor(t)
	names := func(r tools.Result) string {
		var list []string
		for _, b := range r.Blobs {
			list = append(list, fmt.Sprintf("%s %s %d", b.Name, b.Type, len(b.Data)))
		}
		return strings.Join(list, ", ")
	}
	code := &manifest.Tool{ID: "c", Implementation: manifest.Implementation{Type: manifest.Code}}
	run := func(text string, params map[string]any) tools.Result {
		all := map[string]any{"language": "sh", "code": text}
		maps.Copy(all, params)
		return call(t, x, code, all)
	}
	files := map[string]any{"files": map[string]any{"given": "as it was", "changed": "old"}}
	r := run(`mkdir sub; echo a >sub/b.txt; printf '\211PNG\r\n\032\n' >p; echo new >changed; : >empty; echo x >.hidden; mkdir .d; echo x >.d/x; ln -s /etc/passwd link; ln -s sub dir; mkfifo pipe; (sleep 60; echo late >late) & exit 3`, files)
	if got, want := names(r), "changed text/plain; charset=utf-8 4, empty text/plain; charset=utf-8 0, p image/png 8, sub/b.txt text/plain; charset=utf-8 2"; got != want {
		t.Errorf("%s, want %s (%+v)", got, want, r)
	}
	out, _ := r.Output.(map[string]any)
	list, _ := out["artifacts"].([]any)
	if out["exit_code"] != int64(3) || len(list) != 4 || !strings.HasPrefix(fmt.Sprint(list[2]), "map[name:p uri:artifact:sha256-") || out["files_left_out"] != nil {
		t.Errorf("%v", out)
	}
	r = run(`i=0; while [ $i -lt 100 ]; do echo $i >f$i; i=$((i+1)); done; head -c 20000000 /dev/zero >big; echo x >"$(printf 'a\nb')"`, nil)
	if out, _ := r.Output.(map[string]any); len(r.Blobs) != 64 || out["files_left_out"] != int64(38) {
		t.Errorf("%d files, %v left out", len(r.Blobs), out["files_left_out"])
	}
	if r := call(t, x, script(t, "sh ./x.sh", sh("cd /work; i=0; while [ $i -lt 70 ]; do echo $i >f$i; i=$((i+1)); done")), nil); len(r.Blobs) != 64 || r.LeftOut != 6 {
		t.Errorf("%d files, %d left out", len(r.Blobs), r.LeftOut)
	}
	for text, want := range map[string]string{`echo a >"$SIMD_WORK/x"; echo t >/tmp/y`: "x text/plain; charset=utf-8 2", `echo a >"$SIMD_WORK/x"; exit 1`: "", `echo a >/work/x; kill -9 $$`: ""} {
		if r := call(t, x, script(t, "sh ./x.sh", sh(text)), nil); names(r) != want {
			t.Errorf("%s: %q, want %q", text, names(r), want)
		}
	}
}
