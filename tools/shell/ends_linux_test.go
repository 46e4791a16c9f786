//go:build amd64 || arm64

package shell

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/shell/folders"
)

// held is an Unclean that keeps the first mark that is taken back until it is released.
type held struct {
	mu      sync.Mutex
	marks   []string      // names of secrets; "" = taken back
	entered chan struct{} // closed when it keeps one
	release chan struct{}
	once    sync.Once
}

func newHeld() *held { return &held{entered: make(chan struct{}), release: make(chan struct{})} }

func (h *held) unclean(_ string, m folders.Mark) error {
	if m.Since.IsZero() {
		m.Names = nil
		h.once.Do(func() {
			close(h.entered)
			<-h.release
		})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks = append(h.marks, strings.Join(m.Names, ","))
	return nil
}

// soon is how long a fault is waited for; without one it passes.
const soon = 100 * time.Millisecond

// secretly gives a command a secret.
func (k *kit) secretly(t testing.TB, name, script string) {
	t.Helper()
	r := k.Call(t.Context(), &tools.Call{Tool: definition("command"), Params: map[string]any{"content": script}, Secrets: map[string]string{name: "swordfish"}, Files: k.files, Owner: "ada"})
	if r.Error != nil && r.Error.Kind == protocol.KindTransient {
		t.Errorf("no session began: %s", r.Error.Message)
	}
}

// now is the session that the owner has.
func (k *kit) now(t testing.TB) *session {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open["ada"] == nil {
		t.Fatal("no session began")
	}
	return k.open["ada"]
}

// Promise 6: Close returns after the end of a session that nobody called for long, too.
func TestCloseWaitsForWhatExpired(t *testing.T) {
	h := newHeld()
	k := newKit(t, Options{Unclean: h.unclean})
	k.secretly(t, "S", "echo")
	go k.expire("ada", k.now(t))
	<-h.entered
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = k.Close()
	}()
	select {
	case <-closed:
		t.Error("it returns before the session has ended")
	case <-time.After(soon):
	}
	close(h.release)
	<-closed
}

// The end of a session leaves the mark of the one after it, which a kill needs.
func TestASessionKeepsItsMark(t *testing.T) {
	for name, end := range map[string]func(k *kit){
		"its shell has left": func(k *kit) { k.secretly(t, "S", "exit 0") },
		"nobody called it": func(k *kit) {
			k.secretly(t, "S", "echo")
			k.expire("ada", k.now(t))
		},
	} {
		var m marks
		k := newKit(t, Options{Unclean: m.unclean})
		end(k)
		first := k.ends["ada"]
		k.secretly(t, "T", "echo")
		<-first
		if got := m.of("ada"); !strings.Contains(got, "T") {
			t.Errorf("%s: the mark is %q, want that of T", name, got)
		}
		if _ = k.Close(); m.of("ada") != "" {
			t.Errorf("%s: the mark %q was not taken back", name, m.of("ada"))
		}
	}
}

// Promise 6: a session whose sandbox is killed beside it has taken the command, and is lost.
func TestAKilledSandbox(t *testing.T) {
	k := newKit(t, Options{Time: long})
	done := make(chan tools.Result, 1)
	go func() { done <- k.do(t, "command", "echo begun >>begun; sleep 600") }()
	worker := 0
	eventually(t, "the command runs", func() bool {
		if text, _ := os.ReadFile(k.dir + "/own/begun"); string(text) != "begun\n" {
			return false
		}
		s := k.now(t)
		s.mu.Lock()
		defer s.mu.Unlock()
		worker = s.first
		return worker != 0
	})
	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if want(t, r, map[string]any{"status": "error", "session": "ended: its shell was ended by SIGKILL"}); r.Unsent {
		t.Error("it has begun")
	}
	want(t, k.do(t, "command", "cat begun"), map[string]any{"output": "begun\n", "session_restarted": true})
}

// A cancelled call returns before anybody has looked at all files: that takes as long as there are some.
func TestACancelledCallWaitsForNoSweep(t *testing.T) {
	var ends atomic.Bool
	release := make(chan struct{})
	k := newKit(t, Options{Time: long, Has: func(string) bool {
		if ends.Load() {
			<-release
		}
		return false
	}})
	k.secretly(t, "S", "echo >file")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tools.Result, 1)
	go func() {
		done <- k.Call(ctx, &tools.Call{Tool: definition("command"), Params: map[string]any{"content": "echo begun >>begun; sleep 600"}, Files: k.files, Owner: "ada"})
	}()
	eventually(t, "the command runs", func() bool {
		text, _ := os.ReadFile(k.dir + "/own/begun")
		return string(text) == "begun\n"
	})
	ends.Store(true)
	cancel()
	select {
	case r := <-done:
		if r.Status != tools.Cancelled || !r.Lost {
			t.Errorf("%+v", r)
		}
	case <-time.After(long):
		t.Error("it waits for the sweep")
	}
	close(release)
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// Close reads a folder that all sessions share once.
func TestASharedFolderIsReadOnce(t *testing.T) {
	var reads atomic.Int32
	k := newKit(t, Options{Has: func(text string) bool {
		if text == "of all" {
			reads.Add(1)
		}
		return false
	}})
	for _, agent := range []string{"ada", "bob", "eve"} {
		want(t, k.as(t, agent, "printf 'of all' >/fam/run/file", map[string]string{"S": "swordfish"}), said(""))
	}
	before := reads.Load()
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if n := reads.Load() - before; n != 1 {
		t.Errorf("it was read %d times", n)
	}
}

// Promise 1: a command that the shell did not read is an error, and the next one finds a shell that does.
func TestTheNameOfTheSourceCommand(t *testing.T) {
	k := newKit(t, Options{})
	for _, script := range []string{".() { :; }", "alias .=true", ".() { return 0; }; set -eu", "enable -n .", "printf() { :; }; trap() { :; }; unset() { :; }; .() { echo no; }"} {
		want(t, k.do(t, "command", script), map[string]any{"status": "ok"})
		r := k.do(t, "command", "echo ran > proof")
		got, _ := r.Output.(map[string]any)
		if r.Error != nil || got["status"] != "error" || got["output"] != "" {
			t.Errorf("%s: %+v %+v", script, r.Output, r.Error)
		}
		if _, err := os.Stat(k.dir + "/own/proof"); !os.IsNotExist(err) {
			t.Errorf("%s: %v", script, err)
		}
		want(t, k.do(t, "command", "echo fine"), said("fine\n"))
	}
	want(t, k.do(t, "command", "alias if=true"), said(""))
	want(t, k.do(t, "command", "echo ran"), map[string]any{"status": "error", "output": ""})
}
