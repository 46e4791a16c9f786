package folders

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a killed process left of a session with secrets is cleaned: files with a known secret, whenever they
// changed, and all that changed since if one is not known; what no mark names stays.
func TestClean(t *testing.T) {
	for _, known := range []bool{true, false} {
		files := t.TempDir()
		dir, own := filepath.Join(files, ".sessions"), filepath.Join(files, "s", "agents", "a[1]")
		write := func(folder, name, text string) {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(own, "old", "fine")
		write(own, "mapped", "swordfish")   // a program may have written it since: a mapping of a file moves no time
		<-time.After(50 * time.Millisecond) // the mark begins 20 ms before it is written
		m := Mark{Folders: []string{own}, Since: Moment(), Names: []string{"k"}}
		if err := m.Note(dir, files, "x"); err != nil {
			t.Fatal(err)
		}
		write(own, "key", "swordfish")
		write(filepath.Join(own, "d"), "fine", "fine")
		write(filepath.Join(files, "s", "agents", "b"), "key", "swordfish")
		removed, err := Clean(dir, files, func(name string) bool { return known && name == "k" }, func(text string) bool { return strings.Contains(text, "swordfish") })
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"key", "mapped"}
		if !known {
			want = []string{"d/fine", "key", "mapped"}
		}
		if slices.Sort(removed.Files); !slices.Equal(removed.Files, want) {
			t.Errorf("known %t: %+v, want %q", known, removed, want)
		}
		if again, err := Clean(dir, files, func(string) bool { return false }, nil); err != nil || again.Any() {
			t.Errorf("again: %+v, %v", again, err)
		}
		m.Since = time.Time{}
		if err := m.Note(dir, files, "x"); err != nil { // it is gone already
			t.Error(err)
		}
	}
}

// A mark that is damaged, or leads elsewhere, is an error that says what to look at.
func TestBadMarks(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "unexpected EOF", `{"folders":["../x"],"since":"2026-01-01T00:00:00Z"}`: "none of the run", `{"folders":["."],"since":"2026-01-01T00:00:00Z"}`: "none of the run",
		`{"folders":[],"since":"2026-01-01T00:00:00Z"}`: "names no folder or moment", `{"folders":["a"]}`: "names no folder or moment", strings.Repeat(" ", maxMark+1): "too large",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x"+marked), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Clean(dir, dir, nil, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "then remove it") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}
