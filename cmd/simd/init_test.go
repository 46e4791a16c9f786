package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"tavernsim/protocol"
)

// raced is a template while whose second file is read another process fills the folder.
type raced struct {
	fstest.MapFS
	other func()
}

func (r raced) ReadFile(name string) ([]byte, error) {
	if name == "b" {
		r.other()
	}
	return r.MapFS.ReadFile(name)
}

// A template that cannot be copied takes away what it has brought, and no file of another.
func TestInitBesideAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p", "q")
	from := raced{fstest.MapFS{"a": {}, "b": {}, "c/d": {}}, func() {
		if err := os.WriteFile(filepath.Join(dir, "b"), []byte("theirs"), 0o600); err != nil {
			t.Error(err)
		}
	}}
	if err := copyNew(dir, from); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(data) != "theirs" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what it brought is still there: %v", err)
	}
	own := filepath.Join(t.TempDir(), "own")
	if err := copyNew(own, from.MapFS); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(own, "c", "d")); err != nil {
		t.Error(err)
	}
}
