package tooling_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/secrets"
)

// What a kill would leave of a call in a folder of somebody is noted beside it until it has ended. The next call cleans
// the folder, or says what it needs for that.
func TestWhatAKilledCallLeaves(t *testing.T) {
	box := sandbox.New(sandbox.Options{})
	r := box.Probe(t.Context())
	if missing := r.Missing(); len(missing) > 0 {
		t.Skipf("no sandbox here: %v", missing)
	}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.NewReplacer("TEXTS", `[\"x\"]`, "TICKS", "1").Replace(workers)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: "sk-Demo_7pW4yH8cR2nM", Tools: []string{"command"}}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	var warned []string
	open := func(store *secrets.Store) *tooling.Set {
		set, err := tooling.ForTries(tooling.Options{Project: p, Run: "r", Sandbox: box, Secrets: store, Mounts: tooling.Mounts{Agent: own}, Warn: func(text string) { warned = append(warned, text) }})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	command, _ := p.Tool("command")
	set := open(store)
	ended := make(chan any)
	go func() {
		r := set.Try(t.Context(), command, map[string]any{"content": "echo $KARYI{key} >key; until [ -e go ]; do sleep 0.05; done"}, 0)
		ended <- r.Output
	}()
	for begun := time.Now(); ; <-time.After(5 * time.Millisecond) { // another process
		if info, err := os.Stat(own + "/key"); err == nil && info.Size() > 0 {
			break
		}
		if time.Since(begun) > 5*time.Minute {
			t.Fatal("the command never began")
		}
	}
	mark, err := os.ReadFile(own + ".unclean.json")
	if err != nil {
		t.Fatal(err)
	}
	other := open(store)
	if err := other.Clean(); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("a call that lives: %v", err)
	}
	other.Close()
	for _, name := range []string{own + "/key", own + ".unclean.json"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(own+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log(<-ended)
	set.Close()
	if _, err := os.Stat(own + ".unclean.json"); !os.IsNotExist(err) {
		t.Errorf("the mark was not taken back: %v", err)
	}
	for name, text := range map[string]string{"key": "sk-Demo_7pW4yH8cR2nM", "mine": "mine"} { // as a kill leaves them
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(own+".unclean.json", mark, 0o600); err != nil {
		t.Fatal(err)
	}
	set = open(nil)
	if err := set.Clean(); err == nil || !strings.Contains(err.Error(), "programs had the secrets key, which --secrets does not give") {
		t.Errorf("%v", err)
	}
	set.Close()
	if _, err := os.Stat(own + "/key"); err != nil {
		t.Error(err)
	}
	set = open(store)
	defer set.Close()
	if err := set.Clean(); err != nil || len(warned) != 1 || !strings.HasSuffix(warned[0], ": key") {
		t.Errorf("%v, %q", err, warned)
	}
	if _, err := os.Stat(own + "/key"); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
	for _, name := range []string{own + "/mine", own + "/go"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(own + ".unclean.json"); !os.IsNotExist(err) {
		t.Errorf("the mark was not taken back: %v", err)
	}
}
