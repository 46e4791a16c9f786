package parts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tavernsim/internal/doctest"
)

// The page has a row for every part but those that a kill alone leaves.
func TestPage(t *testing.T) {
	table, _, _ := strings.Cut(doctest.Page(t, "formats/run-directory.md"), "\n## ")
	var shown []string
	for line := range strings.Lines(table) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			shown = append(shown, strings.TrimSuffix(name, "/"))
		}
	}
	var known []string
	for _, p := range all() {
		if !strings.HasPrefix(p.name, ".") && !strings.HasSuffix(p.name, New) && p.name != Passive && p.name != Copies {
			known = append(known, p.name)
		}
	}
	slices.Sort(shown)
	slices.Sort(known)
	if !slices.Equal(shown, known) {
		t.Errorf("the page has %q\nthe list     %q", shown, known)
	}
}

// fill makes files, each with its name as its text.
func fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// paths are all files of a folder.
func paths(t *testing.T, dir string) (list []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	for _, p := range all() {
		fill(t, dir, strings.ReplaceAll(p.name, "*", "123"))
	}
	fill(t, dir, "notes.txt", "answers.jsonl.bak", "passive")
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if left := paths(t, dir); strings.Join(left, " ") != "answers.jsonl.bak notes.txt passive" {
		t.Error(left)
	}
	if err := Remove(filepath.Join(dir, "none")); err != nil {
		t.Error(err)
	}
}

// What cannot be read is named, and the rest is copied.
func TestCarry(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	fill(t, from, Answers, ToolAnswers+"/answers.jsonl", Files+"/s/run/a.txt", Orders, LaterOrders, Interviews, Summary, Letters+"/1.order.json")
	if err := os.Chmod(filepath.Join(from, Files), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(from, Files, "s", "run", "b.txt")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(from, Files, "s", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := Carry(from, to)
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0], "files/s/pipe (") {
		t.Fatal(left, err)
	}
	if got := strings.Join(paths(t, to), " "); got != "answers.jsonl files/s/run/a.txt files/s/run/b.txt interviews.jsonl orders.json orders.jsonl tool_answers/answers.jsonl" {
		t.Error(got)
	}
	info, err := os.Stat(filepath.Join(to, Files))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	if b, err := os.ReadFile(filepath.Join(to, Files, "s", "run", "b.txt")); err != nil || string(b) != Files+"/s/run/a.txt" {
		t.Errorf("%s, %v", b, err)
	}
	if left, err := Carry(from, to); err == nil {
		t.Error("files were written over", left)
	}
}

// A kill at the beginning leaves a folder without a manifest; the error says what it is.
func TestBegun(t *testing.T) {
	for _, c := range []struct {
		files []string
		begun bool
	}{{nil, false}, {[]string{Inputs + ".part-7/a.yaml"}, true}, {[]string{Inputs + "/a.yaml", Journal + "/1.log"}, true}, {[]string{Inputs + "/a.yaml", Manifest}, false}, {[]string{Inputs + "/a.yaml", "mine.txt"}, false}} {
		dir := t.TempDir()
		fill(t, dir, c.files...)
		_, err := Free(dir)
		if Begun(dir) != c.begun || c.begun != (err != nil && strings.Contains(err.Error(), "has the beginning of a run")) || (err == nil) != (c.files == nil) {
			t.Errorf("%q: %t, %v", c.files, Begun(dir), err)
		}
	}
}

func TestFree(t *testing.T) {
	old, fresh := t.TempDir(), filepath.Join(t.TempDir(), "run")
	for _, dir := range []string{old, fresh} {
		undo, err := Free(dir)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, dir, Manifest, Journal+"/db/1.log")
		if _, err := Free(dir); err == nil {
			t.Error("a folder with files is free")
		}
		if err := undo(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); (err == nil) != (dir == old) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if left := paths(t, old); len(left) > 0 {
		t.Error(left)
	}
}
