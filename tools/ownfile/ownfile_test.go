package ownfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tavernsim/tools/ownfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	g := ownfile.Guard{Not: 0o022, Reason: "only its owner may change it", Mend: "go-w", Max: 5}
	for _, c := range []struct {
		text string
		mode fs.FileMode
		want string
	}{
		{"12345", 0o644, ""}, {"12345", 0o600, ""}, {"123456", 0o600, "has more than 5 bytes"},
		{"1", 0o664, "only its owner may change it: chmod go-w "}, {"1", 0o602, "has the mode -rw-----w-"},
	} {
		file := filepath.Join(dir, "f")
		if err := errors.Join(os.WriteFile(file, []byte(c.text), 0o600), os.Chmod(file, c.mode)); err != nil {
			t.Fatal(err)
		}
		data, err := ownfile.Read(file, g)
		if c.want == "" && (err != nil || string(data) != c.text) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %d bytes: %q, %v; want %q", c.mode, len(c.text), data, err, c.want)
		}
	}
	if _, err := ownfile.Read(dir, g); err == nil {
		t.Error("a folder is read")
	}
	if _, err := ownfile.Read(filepath.Join(dir, "none"), g); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What is no regular file is an error at once.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	pipe, file, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte("12345"), 0o600), os.Symlink(pipe, link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, link, dir, "/dev/zero"} {
		if _, err := ownfile.Open(name); err == nil || !strings.Contains(err.Error(), "want a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ownfile.Read(pipe, ownfile.Guard{Max: 5}); err == nil {
		t.Error("a pipe is read")
	}
	if data, err := ownfile.ReadAll(file, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ownfile.ReadAll(file, 4); err == nil || !strings.Contains(err.Error(), "has more than 4 bytes") {
		t.Error(err)
	}
	if _, err := ownfile.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A file in a folder is refused, and one whose path leads through it, in whatever way.
func TestOutside(t *testing.T) {
	root, err := ownfile.Folder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"p/sub", "q"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"p/in", "p/sub/in", "q/out", "p2"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link(root+"/q/out", "p/out")     // the project leads to a file of the operator
	link("p/in", "into")             // a file that is the project's
	link("p/sub", "deep")            // a folder of it
	link("../q", "p/q")              // a folder elsewhere, named by the project
	link("p", "p3")                  // the project by another name
	link("loop", "loop")             // no end
	link("q/out", "fine")            // nothing of the project
	link(root+"/p/q/out", "through") // a link whose way leads through it
	for file, refused := range map[string]bool{
		"p/in": true, "./p/../p/in": true, root + "/p/sub/in": true, "p/out": true, "into": true, "deep/in": true, "deep/../in": true, "p/q/out": true, "p3/in": true, "p3/none": true, "loop": true, "through": true, "q/../p/in": true,
		"fine": false, "q/out": false, "p2": false, "q/none": false, "p3/../q/out": false, "p/../q/out": false, root + "/q/out": false, "none/x": false,
	} {
		if err := ownfile.Outside(file, "p", "none", ""); (err != nil) != refused {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := ownfile.Outside("p/in", "", "none"); err != nil {
		t.Error(err)
	}
	if err := os.Link("q/out", "p/hard"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"q/out", "fine"} { // the link leads to the same file
		if err := ownfile.Outside(file, "p"); err == nil || !strings.Contains(err.Error(), "has 2 names (hard links)") {
			t.Errorf("%s with a hard link: %v", file, err)
		}
	}
	if err := errors.Join(os.Remove("p/hard"), ownfile.Outside("q/out", "p")); err != nil {
		t.Error(err)
	}
	t.Chdir("p/sub")
	for file, refused := range map[string]bool{"../in": true, "../../q/out": false, "in": true} {
		if err := ownfile.Outside(file, root+"/p3"); (err != nil) != refused {
			t.Errorf("%s: %v", file, err)
		}
	}
}
