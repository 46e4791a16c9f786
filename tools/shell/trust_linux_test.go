//go:build amd64 || arm64

package shell

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tavernsim/tools"
	"tavernsim/tools/mount"
	"tavernsim/tools/shell/folders"
)

// marks are those that are written down now, by agent: the names of secrets.
type marks struct {
	mu  sync.Mutex
	now map[string]string
	no  error // nothing can be written
}

func (m *marks) unclean(owner string, x folders.Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.no != nil {
		return m.no
	}
	if m.now == nil {
		m.now = map[string]string{}
	}
	if m.now[owner] = strings.Join(x.Names, ","); x.Since.IsZero() {
		m.now[owner] = ""
	}
	return nil
}

func (m *marks) of(owner string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now[owner]
}

func hasSwordfish(text string) bool { return strings.Contains(text, "swordfish") }

// as calls a command for an agent with files of its own.
func (k *kit) as(t testing.TB, owner, script string, secrets map[string]string) tools.Result {
	t.Helper()
	files := &mount.Source{Folders: map[string]string{mount.Agent: k.dir + "/" + owner, mount.Run: k.dir + "/shared"}}
	return k.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": script}, Secrets: secrets, Files: files, Owner: owner})
}

// Promise 5: what an agent copies of the shared files has no secret either, whether or not it was given one; and until
// that is known it has a mark.
func TestCopiesOfOtherAgents(t *testing.T) {
	var m marks
	k := newKit(t, Options{Has: hasSwordfish, Unclean: m.unclean, Named: func(owner, name string) string { return owner + ":" + name }})
	want(t, k.as(t, "bob", "echo fine >fine", nil), said(""))
	if got := m.of("bob"); got != "" {
		t.Errorf("the mark %q before any secret", got)
	}
	for _, agent := range []string{"bob", "eve"} { // the session of one is open when there is a secret, that of the other begins then
		script := "echo $KARYI{S} >~/key; (until [ -e /fam/run/" + agent + " ]; do sleep 0.05; done; cat ~/key >/fam/run/y) &"
		want(t, k.as(t, "ada", script, map[string]string{"S": "swordfish"}), map[string]any{"exit_code": int64(0)})
		r := k.as(t, agent, ": >/fam/run/"+agent+"; until [ -s /fam/run/y ]; do sleep 0.05; done; cp -r /fam/run bk", nil)
		if got, _ := r.Output.(map[string]any); !strings.Contains(fmt.Sprint(got["note"]), "bk/y") {
			t.Errorf("%s: %+v", agent, r.Output)
		}
		if got := m.of(agent); got != "ada:S" {
			t.Errorf("%s: the mark %q, want that of the secret", agent, got)
		}
		if _, err := os.Stat(k.dir + "/" + agent + "/bk/y"); !os.IsNotExist(err) {
			t.Errorf("%s has a copy: %v", agent, err)
		}
	}
	_ = k.Close()
	for _, agent := range []string{"ada", "bob", "eve"} {
		if m.of(agent) != "" {
			t.Errorf("%s: the mark %q was not taken back", agent, m.of(agent))
		}
	}
	if _, err := os.Stat(k.dir + "/bob/fine"); err != nil {
		t.Error(err)
	}
}

// Promise 5: no program gets a secret that nobody could note; the next call tries again.
func TestAMarkThatCannotBeWritten(t *testing.T) {
	m := marks{no: errors.New("the disk is full")}
	k := newKit(t, Options{Unclean: m.unclean})
	for range 2 {
		if r := k.as(t, "ada", "echo $KARYI{S}", map[string]string{"S": "swordfish"}); r.Error == nil || !strings.Contains(r.Error.Message, "the disk is full") || !r.Unsent {
			t.Errorf("%+v %+v", r.Output, r.Error)
		}
	}
	m.mu.Lock()
	m.no = nil
	m.mu.Unlock()
	want(t, k.as(t, "ada", "echo $KARYI{S}", map[string]string{"S": "swordfish"}), said("swordfish\n"))
	if m.of("ada") != "S" {
		t.Errorf("%q", m.of("ada"))
	}
}

// Promise 5: a program that writes a secret through a mapping of a file moves no time of it.
func TestAMappedFile(t *testing.T) {
	k := newKit(t, Options{Has: hasSwordfish})
	if r := k.as(t, "ada", "which python3", nil); r.Output.(map[string]any)["exit_code"] != int64(0) {
		t.Skip("no python3 here")
	}
	script := `cat >~/w.py <<'E'
import mmap, os, time
f = open("/fam/agent/mapped", "r+b")
m = mmap.mmap(f.fileno(), 0)
m[0:1] = b"x"
open("/tmp/touched", "w")
while not os.path.exists("/tmp/go"): time.sleep(0.02)
m[0:9] = open("/tmp/key", "rb").read(9)
open("/tmp/written", "w")
time.sleep(1000)
E
printf '%s' $KARYI{S} >/tmp/key; head -c 4096 /dev/zero >mapped; python3 ~/w.py & until [ -e /tmp/touched ]; do sleep 0.05; done; sleep 0.1`
	want(t, k.as(t, "ada", script, map[string]string{"S": "swordfish"}), map[string]any{"exit_code": int64(0)})
	want(t, k.as(t, "ada", "sleep 0.1", nil), map[string]any{"exit_code": int64(0)})
	want(t, k.as(t, "ada", ": >/tmp/go; until [ -e /tmp/written ]; do sleep 0.05; done", nil), map[string]any{"exit_code": int64(0)})
	_ = k.Close()
	if text, err := os.ReadFile(k.dir + "/ada/mapped"); !os.IsNotExist(err) {
		t.Errorf("it is there with %.9q: %v", text, err)
	}
}

// Promise 5: the mark of a session whose files nobody could look at stays, and the next session of the agent takes it back.
func TestAMarkStays(t *testing.T) {
	var m marks
	opt := Options{Has: hasSwordfish, Unclean: m.unclean}
	all := newTrust(&opt)
	file := t.TempDir() + "/f"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ bounds, mark string }{{file, "S"}, {t.TempDir(), ""}} {
		s := &session{opt: &opt, trust: all, owner: "ada", bounds: []string{c.bounds}}
		all.enter(s)
		if err := all.given(s, map[string]string{"S": "swordfish"}); err != nil {
			t.Fatal(err)
		}
		all.leave(s, lastSweep([]*session{s})[c.bounds] == nil)
		if got := m.of("ada"); got != c.mark {
			t.Errorf("%s: %q, want %q", c.bounds, got, c.mark)
		}
	}
}

// Promise 5: the mark of an agent does not move past a file that nobody looked at, whichever session of it sweeps.
func TestAMarkMovesPastNothing(t *testing.T) {
	var since time.Time
	opt := Options{Has: hasSwordfish, Unclean: func(_ string, m folders.Mark) error {
		since = m.Since
		return nil
	}}
	all, dir := newTrust(&opt), t.TempDir()
	first := &session{opt: &opt, trust: all, owner: "ada", bounds: []string{dir}}
	all.enter(first)
	if err := errors.Join(all.given(first, map[string]string{"S": "swordfish"}), os.WriteFile(dir+"/key", []byte("swordfish"), 0o600)); err != nil {
		t.Fatal(err)
	}
	mark := since
	all.leave(first, false) // its last sweep failed
	next := &session{opt: &opt, trust: all, owner: "ada", bounds: []string{dir}, begun: time.Now().Add(time.Hour)}
	all.enter(next)
	if _, err := next.sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/key"); !os.IsNotExist(err) && since.After(mark) {
		t.Errorf("the mark moved past a file with a secret: %v", err)
	}
}
