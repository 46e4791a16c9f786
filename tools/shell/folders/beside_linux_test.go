package folders

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tavernsim/protocol"
)

// The mark and the files of a process that lives are its own: another one with the same folder is refused until the
// first has ended, and cleans what it left if it was killed.
func TestTwoProcessesWithOneFolder(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	key, mark := filepath.Join(own, "key"), own+marked
	write := func() {
		t.Helper()
		if err := os.MkdirAll(own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(key, []byte("swordfish"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is := func(there bool, names ...string) {
		t.Helper()
		for _, name := range names {
			if _, err := os.Stat(name); (err == nil) != there {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	known, has := func(name string) bool { return name == "k" }, func(text string) bool { return strings.Contains(text, "swordfish") }
	refused := func(what string, err error) {
		t.Helper()
		if protocol.KindOf(err) != protocol.KindConflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	write()
	m := Mark{Folders: []string{own}, Since: Moment(), Names: []string{"k"}}
	a, b := NewBeside(own), NewBeside(own)
	if err := a.Note(m); err != nil {
		t.Fatal(err)
	}
	if err := a.Note(m); err != nil { // it moves its own
		t.Error(err)
	}
	_, err := b.Clean(known, has)
	refused("a process that lives", err)
	if err == nil || !strings.Contains(err.Error(), own) {
		t.Errorf("%v", err)
	}
	refused("a mark of its own", b.Note(m))
	if err := b.Note(Mark{}); err != nil {
		t.Error(err)
	}
	is(true, key, mark)
	if removed, err := a.Clean(known, has); err != nil || removed.Any() {
		t.Errorf("%+v, %v", removed, err)
	}
	if err := a.Note(Mark{}); err != nil {
		t.Error(err)
	}
	is(false, mark)
	if removed, err := b.Clean(known, has); err != nil || removed.Any() {
		t.Errorf("%+v, %v", removed, err)
	}
	if err := b.Note(m); err != nil {
		t.Error(err)
	}
	b.Close() // as a kill does
	is(true, key, mark)
	refused("a mark that was left meanwhile", a.Note(m))
	if removed, err := a.Clean(known, has); err != nil || len(removed.Files) != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	is(false, key, mark)
	if err := a.Note(m); err != nil {
		t.Error(err)
	}
	a.Close()
	if err := os.RemoveAll(own); err != nil {
		t.Fatal(err)
	}
	if removed, err := b.Clean(known, has); err != nil || removed.Any() { // the folder is gone
		t.Errorf("%+v, %v", removed, err)
	}
	is(false, mark)
}

// A process that is being started has all descriptors for a moment. It keeps no lock that was given up.
func TestAStartingProcessKeepsNoLock(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	m := Mark{Folders: []string{own}, Since: Moment(), Names: []string{"k"}}
	a, b := NewBeside(own), NewBeside(own)
	for range 2 {
		if err := a.Note(m); err != nil {
			t.Fatal(err)
		}
		inherited, err := syscall.Dup(int(a.lock.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(inherited) }()
		if err := a.Note(Mark{}); err != nil {
			t.Fatal(err)
		}
		if err := b.Note(m); err != nil {
			t.Error(err)
		}
		if err := b.Note(Mark{}); err != nil {
			t.Error(err)
		}
	}
}
