package newfile

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tavernsim/protocol"
)

// A file has its name when it is whole, and never takes another's place unasked.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "facts.csv")
	list := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	f, err := Create(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if have := list(); len(have) != 1 || !strings.HasSuffix(have[0], ".partial") {
		t.Fatalf("an open file shows as %q", have)
	}
	f.Drop()
	if have := list(); len(have) != 0 {
		t.Fatalf("a dropped file left %q", have)
	}
	for i, content := range []string{"one", "two"} {
		if f, err = Create(name, i > 0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(content); err != nil {
			t.Fatal(err)
		}
		if err := f.Keep(); err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(name); err != nil || string(have) != content {
			t.Fatalf("%q, %v", have, err)
		}
	}
	if _, err := Create(name, false); protocol.KindOf(err) != protocol.KindConflict {
		t.Fatalf("a file was to be replaced: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "no", "such", "place"), false); protocol.KindOf(err) != protocol.KindNotFound {
		t.Fatalf("a folder that is not there: %v", err)
	}
	if _, err := Create(dir, true); protocol.KindOf(err) != protocol.KindConflict {
		t.Fatalf("a folder was to be replaced: %v", err)
	}
}

// begun is a file with this content, which has no name yet.
func begun(t *testing.T, name, content string, replace bool) *File {
	t.Helper()
	f, err := Create(name, replace)
	if err == nil {
		_, err = f.WriteString(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// has wants a file of this content, and of this mode but for 0.
func has(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	have, err := os.ReadFile(name)
	info, err2 := os.Stat(name)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if string(have) != content || mode != 0 && info.Mode() != mode {
		t.Errorf("%s: %q, %v; want %q, %v", name, have, info.Mode(), content, mode)
	}
}

// Of those that write one new file at once, one has the name, also where a file system has no links.
func TestManyWriters(t *testing.T) {
	for name, link := range map[string]func(old, now string) error{
		"links":    os.Link,
		"no links": func(old, now string) error { return &os.LinkError{Op: "link", Old: old, New: now, Err: syscall.EPERM} },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "facts.csv")
			writers := map[string]*File{}
			for i := range 20 {
				writers[strconv.Itoa(i)] = begun(t, file, strconv.Itoa(i), false)
			}
			var all sync.WaitGroup
			kept := make(chan string, len(writers))
			for text, f := range writers {
				all.Go(func() {
					switch err := f.keep(link); {
					case err == nil:
						kept <- text
					case protocol.KindOf(err) != protocol.KindConflict || !errors.Is(err, os.ErrExist):
						t.Error("a later writer was told:", err)
					}
				})
			}
			all.Wait()
			if len(kept) != 1 {
				t.Fatal("writers that were told that they have the name:", len(kept))
			}
			has(t, file, <-kept, 0)
			if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
				t.Error("left:", left)
			}
		})
	}
}

// A file in the place of another one keeps its mode, and a symbolic link stays: its target is written.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name, link, far := filepath.Join(dir, "real", "facts.csv"), filepath.Join(dir, "link"), filepath.Join(dir, "far")
	if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("old"), 0o600), os.Symlink("real/facts.csv", link), os.Symlink(link, far)); err != nil {
		t.Fatal(err)
	}
	f := begun(t, far, "new", true)
	if left, _ := filepath.Glob(name + ".*.partial"); len(left) != 1 {
		t.Error("beside the target:", left)
	}
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Error("others can read what is written in the place of a private file:", info.Mode(), err)
	}
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	has(t, name, "new", 0o600)
	if to, err := os.Readlink(far); err != nil || to != link {
		t.Error("the link is gone:", to, err)
	}
	if err := errors.Join(os.Remove(name), begun(t, link, "made", true).Keep()); err != nil {
		t.Fatal("a link to nothing:", err)
	}
	has(t, name, "made", 0)
	if _, err := Create(link, false); protocol.KindOf(err) != protocol.KindConflict {
		t.Error("a link is no free name:", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(loop, true); err == nil {
		t.Error("a link to itself was replaced")
	}
	if _, err := Create(os.DevNull, true); protocol.KindOf(err) != protocol.KindConflict {
		t.Error("a device was to be replaced:", err)
	}
}
