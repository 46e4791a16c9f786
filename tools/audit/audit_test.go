package audit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/internal/doctest"
)

func open(t *testing.T, file string) *Log {
	t.Helper()
	l, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	return l
}

func call(t *testing.T, l *Log, params any) {
	t.Helper()
	n, err := l.Begin(Entry{By: "cli", User: "ada", Project: "/home/ada/harbour", Tool: "weather.wind", Mode: "live", Definition: Hash([]byte("definition"))}, params)
	if err == nil {
		err = l.End(n, Entry{Status: "ok", Attempts: 1, Took: 12e6, Result: Hash([]byte("result"))})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPage: the example of docs/formats/audit.md is what a log has.
func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "audit.jsonl")
	l := open(t, file)
	call(t, l, map[string]any{"latitude": 43.3, "token": "[redacted]"})
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if page := doctest.Page(t, "formats/audit.md"); !strings.Contains(page, "```json\n"+string(b)+"```") {
		t.Errorf("docs/formats/audit.md has another example than\n%s", b)
	}
	r, err := Check(file, Hash([]byte(strings.Split(string(b), "\n")[0])))
	if err != nil || r.First != 1 || r.Last != 2 || r.Calls != 1 || len(r.Open) != 0 || r.Torn || !r.Found {
		t.Errorf("%+v, %v", r, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Promise 2: whatever is done to lines, but for the last ones, the check finds it.
func TestChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, file)
	for i := range 4 {
		call(t, l, map[string]any{"q": i})
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
	head := Hash([]byte(lines[7]))
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 6).Draw(t, "line")
		changed := append([]string{}, lines...)
		changed[7] += "\n"
		switch how := rapid.SampledFrom([]string{"bit", "out", "twice", "swapped", "end"}).Draw(t, "how"); how {
		case "bit":
			line := []byte(changed[i])
			at := rapid.IntRange(0, len(line)-2).Draw(t, "at")
			line[at] ^= 1 << rapid.IntRange(0, 6).Draw(t, "which")
			changed[i] = string(line)
		case "out":
			changed = append(changed[:max(i, 1)], changed[max(i, 1)+1:]...)
		case "twice":
			changed[i] += changed[i]
		case "swapped":
			changed[i], changed[i+1] = changed[i+1], changed[i]
		case "end":
			changed = changed[:i+1]
		}
		if err := os.WriteFile(file, []byte(strings.Join(changed, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Check(file, head)
		var broken *Broken
		if !errors.As(err, &broken) || broken.File != file || broken.Line < 1 || broken.Line > 9 {
			t.Fatalf("%v", err)
		}
	})
}

// Promises 1, 3 and 4: many writers, some of them killed, and files that are set aside have
// one chain.
func TestWriters(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.jsonl")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			l := open(t, file) // as another process would
			l.most = 4 << 10
			for k := range 20 {
				call(t, l, map[string]any{"q": fmt.Sprint(i, "-", k)})
			}
		})
	}
	all.Wait()
	r, err := Check(file, "")
	if err != nil || r.Last != 160 || len(r.Files) > MaxFiles || len(r.Files) < 3 || len(r.Open) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":161,"what":"ca`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if r, err := Check(file, ""); err != nil || !r.Torn {
		t.Errorf("half a line: %+v, %v", r, err)
	}
	l := open(t, file)
	if _, err := l.Begin(Entry{Tool: "x"}, strings.Repeat("x", 20<<10)); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(file, ""); err != nil || r.Torn || r.Last != 161 || fmt.Sprint(r.Open) != "[161]" {
		t.Errorf("behind half a line: %+v, %v", r, err)
	}
	l.most = 1
	for range MaxFiles + 3 {
		call(t, l, nil)
	}
	if r, err := Check(file, ""); err != nil || len(r.Files) >= MaxFiles+1 || r.First == 1 {
		t.Errorf("the oldest: %d files from %d, %v", len(r.Files), r.First, err)
	}
}

// Promise 1: what cannot be noted is an error.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(file string) error{
		"not an audit": func(file string) error { return os.WriteFile(file, []byte("{}\n"), 0o600) },
		"a folder":     func(file string) error { return os.Mkdir(file, 0o700) },
		"a pipe":       func(file string) error { return exec.Command("mkfifo", file).Run() },
	} {
		file := filepath.Join(dir, name)
		if err := make(file); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		if _, err := open(t, file).Begin(Entry{Tool: "x"}, nil); err == nil {
			t.Errorf("%s: a line was written", name)
		}
	}
	if _, err := Open(filepath.Join(dir, "not an audit", "x")); err == nil || !strings.Contains(err.Error(), "--audit") {
		t.Errorf("a folder that cannot be made: %v", err)
	}
	if _, err := Check(filepath.Join(dir, "none"), ""); err == nil {
		t.Error("a file that is not there")
	}
}

// More calls without a result than the report lists are counted.
func TestManyOpenCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, file)
	for range maxOpen + 5 {
		if _, err := l.Begin(Entry{Tool: "x"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int64{1, 50} { // one of those that are not listed, and one that is
		if err := l.End(n, Entry{Status: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Check(file, "")
	if err != nil || len(r.Open) != maxOpen-1 || r.OpenCalls != maxOpen+3 || !strings.Contains(r.String(), " and 4 older ones\n") {
		t.Errorf("%+v, %v", r, err)
	}
}
