//go:build amd64 || arm64

package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/shell/screen"
)

// remaining lists the processes of sessions of this test program.
func remaining(t testing.TB) (list []string) {
	t.Helper()
	for _, pid := range below(os.Getpid(), nil)[1:] {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if len(text) > 0 { // not one that only waits to be reaped
			list = append(list, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return list
}

// Promises 3 and 6: whatever a script does, its call answers, the next command works, and no
// process is left. The short form runs those after which this program does something else: scripts that end their
// session, those that want a key, and those that go on behind their call.
func TestHostileScripts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // others have sessions, too
	differ := []string{"leaves", "is another shell", "stops its shell", "has a loud daemon", "forks"}
	for name, c := range map[string]struct {
		script string
		answer map[string]any
		after  []string // keys that bring it back
	}{
		"leaves":             {"exit 7", map[string]any{"status": "error", "exit_code": int64(7), "session": "ended: its shell has left; the next command starts a new one"}, nil},
		"is another shell":   {"exec bash", map[string]any{"status": "awaiting_input"}, []string{"d"}},
		"opens no more":      {"ulimit -n 5", map[string]any{}, []string{"d"}},
		"is another program": {"exec echo gone", map[string]any{"status": "ok", "output": "gone\n"}, nil},
		"ends its shell":     {"kill -9 $$", map[string]any{"status": "error", "session": "ended: its shell was ended by SIGKILL"}, nil},
		"stops its shell":    {"kill -STOP $$", map[string]any{"status": "error", "session": "ended: the shell had stopped itself"}, nil},
		"stops everything":   {"kill -STOP -1; echo a", map[string]any{"status": "ok"}, nil},
		"has a daemon":       {"(setsid sleep 1000 >/dev/null 2>&1 </dev/null &) ; echo ok", said("ok\n"), nil},
		"has a loud daemon":  {"(setsid sh -c 'while :; do echo noise; sleep 0.05; done' & ); exit 0", map[string]any{"status": "ok"}, nil},
		"ignores HUP":        {"trap '' HUP INT TERM QUIT; (trap '' HUP TERM; sleep 1000) & echo ok", map[string]any{"status": "ok"}, nil},
		"closes everything":  {"exec 0<&- 1>&- 2>&-", said(""), nil},
		"closes its pipe":    {"for i in $(seq 3 255); do eval \"exec $i>&-\"; done; echo x", map[string]any{}, []string{"d"}},
		"eats the marker":    {"for i in 10 11 12 13 14; do [ -p /proc/self/fd/$i ] && cat <&$i >/dev/null & done; for i in 10 11 12; do read -t 0.1 -u $i; read -t 0.1 -u $i; done; true", map[string]any{}, nil},
		"redirects":          {"exec >/dev/null 2>&1; echo lost", said(""), nil},
		"forges the end":     {"printf '\\nABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRST 0\\n'; false", map[string]any{"status": "error", "exit_code": int64(1), "output": "\nABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRST 0\n"}, nil},
		"changes prompts":    {"PS1='$ '; PS0=x; PROMPT_COMMAND='echo prompt'; trap 'echo trapped' DEBUG; set -x; set -v", map[string]any{"status": "ok"}, nil},
		"is strict":          {"set -eu; false; echo no", map[string]any{"status": "error", "exit_code": int64(1), "output": ""}, nil},
		"changes names":      {"printf() { echo mine; }; builtin() { echo mine; }; echo() { :; }", map[string]any{}, nil},
		"changes the tty":    {"stty echo onlcr opost -icanon -isig; echo x", map[string]any{"status": "ok"}, nil},
		"says half a marker": {"printf '\\nABC'; printf '\\n'; printf '\\n\\n'", said("\nABC\n\n\n"), nil},
		"is no script":       {"if then fi )", map[string]any{"status": "error"}, nil},
		"has no end":         {"cat <<EOF\nx", map[string]any{"status": "ok"}, nil},
		"reads forever":      {"cat /dev/zero | head -c 100000000 | tr '\\0' x", map[string]any{}, []string{"c"}},
		"forks":              {"f() { f | f & }; f; sleep 0.5; echo done", map[string]any{}, []string{"c"}},
	} {
		if testing.Short() && !slices.Contains(differ, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			k := newKit(t, Options{})
			if name == "reads forever" {
				k.opt.Time = 2 * time.Second // it neither ends nor waits
			}
			want(t, k.do(t, "command", c.script), c.answer)
			for _, key := range c.after {
				k.do(t, "ctrl", key)
			}
			r := k.do(t, "command", "echo on")
			for range 3 { // what it left behind may eat this one, too, or the next
				if name != "eats the marker" || !strings.Contains(fmt.Sprint(r.Output), "nobody knows") {
					break
				}
				r = k.do(t, "command", "echo on")
			}
			// What still runs in the background writes to the same terminal, before the answer and after it.
			got, _ := r.Output.(map[string]any)
			if lines := strings.Split(strings.ReplaceAll(fmt.Sprint(got["output"]), "\r", ""), "\n"); got == nil || !slices.Contains(lines, "on") && name != "changes names" {
				t.Errorf("after it: %+v %+v", r.Output, r.Error)
			}
			begun := time.Now()
			if err := k.Close(); err != nil || time.Since(begun) > long {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
			if list := remaining(t); len(list) > 0 {
				t.Errorf("left: %q", list)
			}
			if list, _ := filepath.Glob(os.TempDir() + "/simd-shell-*"); len(list) > 0 {
				t.Errorf("left: %q", list)
			}
		})
	}
}

// A key that is a signal while nothing runs does not reach the shell: it would lose what it reads of the next command.
func TestSignalsWithoutACommand(t *testing.T) {
	k := newKit(t, Options{})
	want(t, k.do(t, "command", "trap 'echo interrupted >>signals' INT QUIT TSTP; : >signals"), said(""))
	for _, key := range []string{"c", "z", "\\"} {
		want(t, k.do(t, "ctrl", key), map[string]any{"status": "ok", "note": "no command runs, so nothing reads this now"})
	}
	want(t, k.do(t, "command", "sleep 0.1; cat signals"), said(""))
}

// Promise 6: a new session says that the one before was lost, once.
func TestALostSessionIsTold(t *testing.T) {
	k := newKit(t, Options{Idle: time.Hour})
	want(t, k.do(t, "command", "A=1"), map[string]any{"session_restarted": nil})
	want(t, k.do(t, "command", "exit"), map[string]any{"session_restarted": nil})
	if r := k.do(t, "input", "x\n"); r.Error == nil || r.Error.Kind != protocol.KindNotFound {
		t.Errorf("%+v", r)
	}
	want(t, k.do(t, "command", "echo [$A]"), map[string]any{"output": "[]\n", "session_restarted": true})
	want(t, k.do(t, "command", "echo"), map[string]any{"session_restarted": nil})
	other := New(Options{Sandbox: k.opt.Sandbox, Before: func(string) bool { return true }}) // after a kill
	defer other.Close()
	want(t, (&kit{Executor: other}).do(t, "command", "pwd"), map[string]any{"output": "/work\n", "session_restarted": true})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); <-time.After(5 * time.Millisecond) { // other processes
		if time.Since(begun) > long {
			t.Fatal("it never came to this: " + what)
		}
	}
}

// Promise 6: the bounds of sessions.
func TestBoundsOfSessions(t *testing.T) {
	full := newKit(t, Options{Most: 1})
	full.do(t, "command", "echo")
	if r := full.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": "echo"}, Owner: "bob"}); r.Error == nil || r.Error.Kind != protocol.KindLimit {
		t.Errorf("%+v", r)
	}
	if err := full.Close(); err != nil {
		t.Error(err)
	}
	idle := newKit(t, Options{Idle: 300 * time.Millisecond, Most: 1})
	want(t, idle.do(t, "command", "sleep 0.4; echo it was called"), said("it was called\n"))
	eventually(t, "it ends", func() bool { return len(remaining(t)) == 0 })
	if r := idle.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": "echo b"}, Owner: "bob"}); r.Error != nil {
		t.Errorf("%+v", r.Error)
	}
	if err := idle.Close(); err != nil {
		t.Error(err)
	}
	k := newKit(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	r := k.Call(ctx, &tools.Call{Tool: definition("command"), Params: map[string]any{"content": "sleep 100"}, Owner: "bob"})
	if r.Status != tools.Cancelled || !r.Lost || len(remaining(t)) > 0 {
		t.Errorf("%+v, left %q", r, remaining(t))
	}
}

// Promise 6: folders that lie on the disk of the host cannot be filled.
func TestFoldersAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTheBackgroundIsBounded meets the bound in the short form")
	}
	k := newKit(t, Options{})
	r := k.do(t, "command", "for i in $(seq 1 110); do mkdir d$i; (cd d$i; seq 1 100 | xargs touch); done; sleep 1000")
	if r.Error == nil || r.Error.Kind != protocol.KindLimit {
		t.Errorf("%+v", r)
	}
	want(t, k.do(t, "command", "rm -rf d*; sleep 0.5; ls"), map[string]any{"status": "ok", "output": "", "session_restarted": true})
	r = k.do(t, "command", "for i in $(seq 1 5); do head -c 60000000 /dev/zero >f$i; done; sleep 1000")
	if r.Error == nil || r.Error.Kind != protocol.KindLimit {
		t.Errorf("%+v", r)
	}
}

// Promises 2 and 4: what has no end is cut, counted, and stopped by a key.
func TestEndlessOutput(t *testing.T) {
	k := newKit(t, Options{})
	k.opt.Time = time.Second
	r := k.do(t, "command", "yes endless")
	for ; r.Dropped == 0 && k.opt.Time < long; k.opt.Time *= 2 { // a busy machine
		r = k.do(t, "ctrl", "q")
	}
	k.opt.Time = long
	got, _ := r.Output.(map[string]any)
	text, _ := got["output"].(string)
	if got["status"] != "running" || got["truncated"] != true || len(text) > maxShown || !strings.Contains(text, "bytes are left out; all 1048576 bytes are artifact:sha256-") || r.Dropped == 0 || len(r.Blobs) != 1 || len(r.Blobs[0].Data) != screen.MaxText {
		t.Errorf("%d bytes, %d dropped, %+v", len(text), r.Dropped, r.Error)
	}
	want(t, k.do(t, "ctrl", "c"), map[string]any{"exit_code": int64(130)})
	want(t, k.do(t, "command", "echo calm"), said("calm\n"))
}

// Promises 3 and 4: however the stream is cut, the text, the end and the exit code are the
// same.
func FuzzStream(f *testing.F) {
	for _, text := range []string{"abc", "a\n\nMARK 1\n", "\nMARK", "\nMARK x\n\nMARK 99999999\n", "\r\nMARK 0\r\n", "50%\r100%\r\nx\by\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b(B\xe2\x82", "\x1b]0;a\x1b\\b\x1bPq\x18c"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		play := func(parts ...string) (string, int, bool) {
			s := &session{marker: []byte("\nMARK ")}
			for _, p := range parts {
				s.feed([]byte(p))
			}
			out, _, exit := s.answer(true)
			return out, exit, s.marker == nil
		}
		whole := text + "\nMARK 3\nafter"
		out, exit, ended := play(whole)
		if !ended {
			t.Fatalf("%q has no end", whole)
		}
		if strings.ContainsFunc(out, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
			t.Errorf("%q is %q", whole, out)
		}
		if cut < 0 || cut > len(whole) {
			cut = len(whole) / 2
		}
		if o, e, n := play(whole[:cut], whole[cut:]); o != out || e != exit || !n {
			t.Errorf("%q cut at %d: %q %d, want %q %d", whole, cut, o, e, out, exit)
		}
		if o, e, n := play(strings.Split(whole, "")...); o != out || e != exit || !n {
			t.Errorf("%q in characters: %q %d, want %q %d", whole, o, e, out, exit)
		}
	})
}

// Promises 2 and 3: what may begin an end marker is told before it is known to be none, and only once; what only looks
// like one is output; the line break of one is no output.
func TestMarkers(t *testing.T) {
	for _, c := range []struct{ fed, told string }{ // parts between |, each fed and then told
		{"a\n|b", "a\n|b"},
		{"a\n||b", "a\n||b"},
		{"a\nMA|RK 3\nb", "a|b"},
		{"a\nMARK 1|2345678", "|a\nMARK 12345678"}, // it waits for the rest, which comes at once
		{"a\nMARK 12345678\n|b", "a\nMARK 12345678\n|b"},
		{"a\nMARK x\n|b", "a\nMARK x\n|b"},
		{"50%\r\nMARK 0\nafter", "50%after"},
	} {
		s := &session{marker: []byte("\nMARK ")}
		var told []string
		for part := range strings.SplitSeq(c.fed, "|") {
			s.feed([]byte(part))
			text, _, _ := s.answer(false)
			told = append(told, text)
		}
		if got := strings.Join(told, "|"); got != c.told {
			t.Errorf("%q: %q, want %q", c.fed, got, c.told)
		}
	}
}

// What input and ctrl type.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		tool, content string
		params        map[string]any
		want          string
	}{
		{"input", "a", nil, "a"},
		{"input", "a", map[string]any{"enter": true}, "a\n"},
		{"input", "a", map[string]any{"enter": false}, "a"},
		{"input", "$KARYI{S}", nil, "value"},
		{"input", "a", map[string]any{"bytes": []any{}}, "a"},
		{"input", "a", map[string]any{"bytes": []any{int64(0), int64(255)}}, "\x00\xff"},
		{"input", "a", map[string]any{"bytes": []any{int64(-1)}}, "error"},
		{"input", "a", map[string]any{"bytes": []any{int64(256)}}, "error"},
		{"input", "a", map[string]any{"bytes": []any{"1"}}, "error"},
		{"ctrl", "c", nil, "\x03"},
		{"ctrl", "no key", nil, "error"},
	} {
		b, err := keysOf(&tools.Call{Tool: definition(c.tool), Params: c.params, Secrets: map[string]string{"S": "value"}}, c.content)
		if got := string(b); err != nil && c.want != "error" || err == nil && got != c.want {
			t.Errorf("%s %q %v: %q %v, want %q", c.tool, c.content, c.params, got, err, c.want)
		}
	}
}

// Promise 5: values are quoted as their place wants, and stand in no script.
func TestSecrets(t *testing.T) {
	const value = `it's "$(echo owned)" \ $HOME` + "\nsecond line"
	var masked []string
	k := newKit(t, Options{Mask: func(before, text string) (string, error) {
		masked = append(masked, before)
		if strings.Contains(text, "withheld") {
			return "", protocol.Errorf(protocol.KindDenied, "the output is withheld")
		}
		return strings.ReplaceAll(text, value, "$KARYI{S}"), nil
	}})
	run := func(id, script string) tools.Result {
		t.Helper()
		return k.Call(t.Context(), &tools.Call{Tool: definition(id), Params: map[string]any{"content": script}, Secrets: map[string]string{"S": value}, Files: k.files, Owner: "ada"})
	}
	for script, want := range map[string]string{
		"printf '[%s]' $KARYI{S}":                                              "[$KARYI{S}]",
		"printf '[%s]' \"a $KARYI{S} b\"":                                      "[a $KARYI{S} b]",
		"printf '[%s]' 'a $KARYI{S} b'":                                        "[a $KARYI{S} b]",
		"printf '[%s]' $'a\\t$KARYI{S}'":                                       "[a\t$KARYI{S}]",
		"printf '[%s]' \"$(printf %s $KARYI{S})\"":                             "[$KARYI{S}]",
		"cat <<EOF\na $KARYI{S} b\nEOF":                                        "a $KARYI{S} b\n",
		"X=$KARYI{S}; printf %s \"$X\"; # $KARYI{S}":                           "$KARYI{S}",
		"X=$KARYI{S} bash -c 'printf %s \"$X\"'":                               "$KARYI{S}",
		"X=$KARYI{S} bash -c 'printf %s \"$X\"' ; env | grep -c simd":          "$KARYI{S}0\n",
		"echo '$$KARYI{S}' $$KARYI{S} \"$$KARYI{S}\" $KARYI{OTHER}x '$KARYI{'": "$KARYI{S} $KARYI{S} $KARYI{S} {OTHER}x $KARYI{\n",
		"grep -c \"[$](echo\" /session/[0-9]*; : $KARYI{S}":                    "0\n",
	} {
		if got, _ := run("command", script).Output.(map[string]any); got["output"] != want {
			t.Errorf("%s: %+v, want %q", script, got, want)
		}
	}
	want(t, run("command", "set | grep -c ^__simd_secret; fc -l 2>&1 | grep -c KARYI; env | grep -c owned"), map[string]any{"output": "0\n0\n0\n"})
	want(t, run("command", "read -r a; echo \"<$a>\""), map[string]any{"status": "awaiting_input"})
	want(t, run("input", "first $KARYI{S}"), map[string]any{"output": "<first it's \"$(echo owned)\" \\ $HOME>\n"})
	for _, script := range []string{"cat <<'EOF'\n$KARYI{S}\nEOF", "if ( $KARYI{S}"} {
		if r := run("command", script); r.Error == nil || r.Error.Kind != protocol.KindInvalid || !r.Unsent {
			t.Errorf("%s: %+v", script, r)
		}
	}
	if r := run("command", "echo withheld"); r.Status != tools.Denied || r.Output != nil || strings.Contains(r.Error.Message, "it's") {
		t.Errorf("%+v", r)
	}
	if len(masked) < 3 || !strings.Contains(strings.Join(masked, ""), value) {
		t.Error("what was said before is not known")
	}
}

// Promise 5: no file of a run has a secret that a command wrote, whichever way it is spelled.
func TestNoFileHasASecret(t *testing.T) {
	has := func(text string) bool {
		return strings.Contains(text, "swordfish") || strings.Contains(text, "hsifdrows")
	}
	k := newKit(t, Options{Has: has})
	run := func(script string) tools.Result {
		return k.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": script}, Secrets: map[string]string{"S": "swordfish"}, Files: k.files, Owner: "ada"})
	}
	names := func() string {
		var list []string
		_ = filepath.WalkDir(k.dir, func(name string, d os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(k.dir, name); err == nil && !d.IsDir() {
				list = append(list, rel)
			}
			return nil
		})
		return strings.Join(list, " ")
	}
	want(t, k.do(t, "command", "echo swordfish >old; echo fine >fine; sleep 0.1"), said(""))
	r := run("echo $KARYI{S} >a; mkdir -p d; echo $KARYI{S} | rev >d/b; touch -d 2001-01-01 a; echo x >d/$KARYI{S}; ln -s $KARYI{S} l; echo $KARYI{S} >/fam/run/c; echo $KARYI{S} >~/home; cp fine d/fine; cat a")
	got, _ := r.Output.(map[string]any)
	note := fmt.Sprint(got["note"])
	if got["output"] != "swordfish\n" || !strings.HasPrefix(note, "removed, for there was a secret in it: ") || names() != "own/d/fine own/fine own/old" {
		t.Errorf("%+v, left %s", got, names())
	}
	want(t, run("cat ~/home; (sleep 0.3; cat ~/home >late) & :"), map[string]any{"exit_code": int64(0)})
	eventually(t, "the background writes", func() bool {
		b, _ := os.ReadFile(filepath.Join(k.dir, "own/late")) // it is there before it is written
		return len(b) > 0
	})
	_ = k.Close()
	if names() != "own/d/fine own/fine" { // the last sweep looks at all
		t.Errorf("left %s", names())
	}
}

// Promise 7.
func TestNothingRunsWithoutASandbox(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	r := x.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": "echo"}})
	if r.Error == nil || r.Error.Kind != protocol.KindUnknown || !r.Unsent {
		t.Errorf("%+v", r)
	}
}
