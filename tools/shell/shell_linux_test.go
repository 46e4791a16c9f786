//go:build amd64 || arm64

package shell

import (
	"os"
	"strings"
	"testing"
	"time"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/builtin"
	"tavernsim/tools/mount"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/toolstest"
)

func TestMain(m *testing.M) { toolstest.Main(m, nil) }

// long is more time than anything takes that ends at all, also on a slow machine with much to do.
const long = 5 * time.Minute

// kit is the shell of one agent.
type kit struct {
	*Executor
	files *mount.Source
	dir   string
}

func newKit(t testing.TB, opt Options) *kit {
	t.Helper()
	if opt.Time == 0 {
		opt.Time = long
	}
	if opt.Sandbox == nil {
		opt.Sandbox = sandbox.New(sandbox.Options{})
	}
	r := opt.Sandbox.Probe(t.Context())
	if missing := r.Missing(); len(missing) > 0 {
		t.Skipf("no sandbox here: %v", missing)
	}
	dir := t.TempDir()
	k := &kit{New(opt), &mount.Source{Folders: map[string]string{mount.Agent: dir + "/own", mount.Run: dir + "/shared"}}, dir}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func definition(id string) *manifest.Tool {
	for _, d := range builtin.ShellTools() {
		if d.ID == id {
			return d
		}
	}
	return nil
}

// do calls a tool.
func (k *kit) do(t testing.TB, id, content string) tools.Result {
	t.Helper()
	return k.Call(t.Context(), &tools.Call{Tool: definition(id), Params: map[string]any{"content": content}, Files: k.files, Owner: "ada"})
}

// want checks the fields of an answer.
func want(t testing.TB, r tools.Result, fields map[string]any) {
	t.Helper()
	got, _ := r.Output.(map[string]any)
	for name, v := range fields {
		if got[name] != v {
			t.Errorf("%s: %#v, want %#v; %+v %+v", name, got[name], v, got, r.Error)
		}
	}
}

func said(output string) map[string]any {
	return map[string]any{"status": "ok", "exit_code": int64(0), "output": output}
}

// Promise 1: a command finds how the one before it ended, whatever the shell is asked between them.
func TestTheLastStatus(t *testing.T) {
	k := newKit(t, Options{})
	for _, c := range []struct{ script, output string }{
		{"echo $?", "0\n"}, {"echo $?", "0\n"}, {"(exit 7)", ""}, {"echo $?; false", "7\n"}, {"echo $?", "1\n"}, {"echo $?", "0\n"},
		{"trap 'echo bye' EXIT; (exit 3)", ""}, {"echo $?; trap - EXIT; (exit 4)", "3\n"}, {"echo $?; (exit 255)", "4\n"}, {"echo $?", "255\n"},
		{"trap 'echo heard $?' ERR; (exit 8)", "heard 8\n"}, {"echo $?; trap - ERR; set -e; true", "8\n"}, {"echo $?; set +e; (exit 9)", "0\n"},
		{"# trap 0\necho $?; printf %s \"$KARYI{S}\" | grep -c s; (exit 6)", "9\n1\n"}, {"echo $?", "6\n"},
		{"set -e; (exit 5) || set +e", ""}, {"echo $?", "0\n"},
	} {
		r := k.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": c.script}, Secrets: map[string]string{"S": "s"}, Files: k.files, Owner: "ada"})
		if got, _ := r.Output.(map[string]any); got["output"] != c.output || got["session"] != nil {
			t.Errorf("%s: %+v %+v, want %q", c.script, r.Output, r.Error, c.output)
		}
	}
}

// Promise 1.
func TestASessionKeepsItsState(t *testing.T) {
	k := newKit(t, Options{})
	for _, c := range [][2]string{
		{"pwd", "/fam/agent\n"},
		{"export A=1; B=2; mkdir -p x; cd x; f() { echo f $1; }; alias g='echo g'", ""},
		{"echo $A $B $PWD; f 3; g 4", "1 2 /fam/agent/x\nf 3\ng 4\n"},
		{"cat <<'EOF'\na\n  b $A\nEOF", "a\n  b $A\n"},
		{"printf abc", "abc"},
		{"printf 'a\\n\\nb\\n\\n'", "a\n\nb\n\n"},
		{"tty >/dev/null; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; stty size; echo $TERM $PAGER", "tty\n50 200\ndumb cat\n"},
		{"echo hi >file; ls", "file\n"},
		{"cat <(echo a) <(echo b) | tee >(cat >/dev/null)", "a\nb\n"},
	} {
		want(t, k.do(t, "command", c[0]), said(c[1]))
	}
	want(t, k.do(t, "command", "false"), map[string]any{"status": "error", "exit_code": int64(1), "output": "", "session_restarted": nil})
	if b, err := os.ReadFile(k.dir + "/own/x/file"); err != nil || string(b) != "hi\n" {
		t.Errorf("%q %v", b, err)
	}
}

// Promise 2.
func TestInputAndControl(t *testing.T) {
	k := newKit(t, Options{})
	want(t, k.do(t, "command", "read -p 'sure? ' x; echo got $x"), map[string]any{"status": "awaiting_input", "awaits": "line", "output": "sure? "})
	if r := k.do(t, "command", "echo no"); r.Error == nil || !strings.Contains(r.Error.Message, "busy") || !strings.Contains(r.Error.Message, "end its input with <ctrl>d</ctrl>") {
		t.Errorf("%+v", r)
	}
	want(t, k.do(t, "input", "y\n"), said("got y\n"))
	want(t, k.do(t, "command", "cat"), map[string]any{"status": "awaiting_input"})
	want(t, k.do(t, "input", "one\n"), map[string]any{"status": "awaiting_input", "output": "one\n"})
	want(t, k.do(t, "ctrl", "d"), said(""))
	const short = 300 * time.Millisecond
	text := ""
	for k.opt.Time = short; text == "" && k.opt.Time < long; k.opt.Time *= 2 {
		id, content := "command", "echo a; sleep 1000; echo b"
		if k.opt.Time > short {
			id, content = "ctrl", "q" // a busy machine: it had not begun
		}
		r := k.do(t, id, content)
		want(t, r, map[string]any{"status": "running"})
		got, _ := r.Output.(map[string]any)
		text, _ = got["output"].(string)
	}
	if text != "a\n" {
		t.Errorf("%q", text)
	}
	k.opt.Time = long
	want(t, k.do(t, "ctrl", "c"), map[string]any{"status": "error", "exit_code": int64(130), "output": ""})
	k.opt.Time = short
	want(t, k.do(t, "command", "while :; do :; done"), map[string]any{"status": "running"})
	k.opt.Time = long
	want(t, k.do(t, "ctrl", "Ctrl+C"), map[string]any{"status": "error", "exit_code": int64(130)})
	want(t, k.do(t, "command", "echo still here"), said("still here\n"))
}

// Promise 2: what a shell says when a command ends it is a part of the answer. After errexit, bash takes the
// redirections of a builtin back before it runs the trap, and those of a group after it.
func TestTheLastWordsOfAShellAreHeard(t *testing.T) {
	const trap = "trap 'echo bye; echo oh >&2; [ -t 0 ] && echo tty' EXIT\n"
	for name, c := range map[string]struct {
		script string
		exit   int64
		output string
	}{
		"errexit":           {"set -e\n" + trap + "echo a; false; echo no", 1, "a\nbye\noh\ntty\n"},
		"errexit, function": {"set -eE\n" + trap + "f() { echo a; (exit 3); echo no; }; f", 3, "a\nbye\noh\ntty\n"},
		"exit":              {trap + "echo a; exit 4", 4, "a\nbye\noh\ntty\n"},
		"no trap":           {"set -e; echo a; false", 1, "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, newKit(t, Options{}).do(t, "command", c.script), map[string]any{"status": "error", "exit_code": c.exit, "output": c.output})
		})
	}
}

// Promise 1: what an agent traces or traps shows nothing of the way to its script.
func TestTheWayToAScriptIsNotShown(t *testing.T) {
	if testing.Short() {
		t.Skip("all of it is of bash")
	}
	for name, commands := range map[string][][2]string{
		"set -x":         {{"set -x", ""}, {"echo a", "++ echo a\na\n"}, {"set +x", "++ set +x\n"}, {"echo b", "b\n"}},
		"ERR":            {{"trap 'echo failed' ERR", ""}, {"false; true", "failed\n"}, {"echo a; false", "a\nfailed\n"}},
		"ERR, errtrace":  {{"set -E; trap 'echo failed' ERR", ""}, {"f() { false; }; f; true", "failed\nfailed\n"}, {"false", "failed\n"}},
		"DEBUG":          {{"trap 'echo \"$BASH_COMMAND\"' DEBUG", ""}, {"echo a", "a\n"}},
		"EXIT and no -e": {{"trap 'echo bye' EXIT", ""}, {"echo a; false; echo b", "a\nb\n"}, {"trap - EXIT; set -x", ""}, {"echo a", "++ echo a\na\n"}},
		"EXIT, before":   {{"trap 'echo bye; echo oh >&2' EXIT", ""}, {"set -e", ""}, {"echo a; false", "a\nbye\noh\n"}},
		"set -C, -x":     {{"set -Cx", ""}, {"echo a", "++ echo a\na\n"}},
		"EXIT, no file":  {{"rm -f /tmp/.trap; mkdir /tmp/.trap; trap 'echo bye' EXIT", ""}, {"set -e", ""}, {"echo a; false", "a\nbye\n"}},
		"EXIT, as 0":     {{"trap 'echo bye; echo oh >&2' 0; set -e; false", "bye\noh\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, Options{})
			for _, c := range commands {
				want(t, k.do(t, "command", c[0]), map[string]any{"output": c[1]})
			}
		})
	}
}

// A session whose sandbox fails at once says why, whenever that is, and leaves nothing behind.
func TestASessionThatCannotBegin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir+"/tmp")
	if err := os.Mkdir(dir+"/tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	k := &kit{New(Options{Sandbox: &sandbox.Box{}, Time: long}), nil, dir}
	for range 300 {
		if r := k.do(t, "command", "true"); r.Error == nil || !strings.Contains(r.Error.Message, "sandbox_unavailable") || !r.Unsent {
			t.Fatalf("%+v", r.Error)
		}
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir + "/tmp"); err != nil || len(left) > 0 {
		t.Errorf("%d folders are left, %v", len(left), err)
	}
}

// Programs that copy a mode find a file system that keeps no access lists.
func TestModesAreCopied(t *testing.T) {
	k := newKit(t, Options{})
	want(t, k.do(t, "command", `set -e; echo a >f; chmod 750 f; cp -p f g; cp -a f h; install -m 755 f i; sed -i s/a/b/ f; mv f /tmp/f; stat -c %a g h i /tmp/f; set +e`), said("750\n750\n755\n750\n"))
}

// Promise 2: what a terminal loses of a line is told.
func TestALineThatIsTooLong(t *testing.T) {
	k := newKit(t, Options{})
	for n, note := range map[int]string{4095: "", 4096: "line_too_long"} {
		want(t, k.do(t, "command", "read -r x; echo ${#x}"), map[string]any{"status": "awaiting_input"})
		r := k.do(t, "input", strings.Repeat("x", n)+"\n")
		want(t, r, map[string]any{"output": "4095\n"})
		if got, _ := r.Output.(map[string]any)["note"].(string); (got == "") != (note == "") || !strings.HasPrefix(got, note) {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// Promise 5: what is masked is what the programs wrote, whatever its code is.
func TestAnOutputThatIsNoUTF8IsMasked(t *testing.T) {
	got := ""
	k := newKit(t, Options{Mask: func(_, text string) (string, error) {
		got = text
		return strings.ReplaceAll(text, "Gr\xfc\xdfe", "MASKED"), nil
	}})
	want(t, k.do(t, "command", `printf 'Gr\374\337e \374\n'`), said("MASKED \ufffd\n"))
	if got != "Gr\xfc\xdfe \xfc\n" {
		t.Errorf("%q", got)
	}
}
