package tavernsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The pages about the program are compared with the program itself.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("the program is built and run without -short")
	}
	simd := build(t)
	t.Run("Guide", func(t *testing.T) { guide(t, simd) })
	t.Run("FirstTool", func(t *testing.T) { firstTool(t, simd) })
	t.Run("Play", func(t *testing.T) { play(t, simd) })
	t.Run("Travel", func(t *testing.T) { travels(t, simd) })
	t.Run("Goals", func(t *testing.T) { goals(t, simd) })
	t.Run("FirstPlugin", func(t *testing.T) { firstPlugin(t, simd) })
	t.Run("README", func(t *testing.T) { readme(t, simd) })
}

// guide does what docs/guide.md tells a newcomer to do.
func guide(t *testing.T, simd string) {
	dir := t.TempDir()
	text := read(t, "docs/guide.md")
	block := regexp.MustCompile("(?s)<!-- (\\w+): ([^\n]*) -->\n```\\w*\n(.*?)```")
	files, runs := 0, 0
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		switch kind, what, body := m[1], m[2], m[3]; kind {
		case "file":
			files++
			write(t, filepath.Join(dir, "ferry", what), body)
		case "run":
			runs++
			out := inDir(t, dir, 0, simd, strings.Fields(what)...)
			if problem := follows(out, body); problem != "" {
				t.Errorf("simd %s: %s\nit printed\n%s", what, problem, out)
			}
		case "broken":
			runs++
			name, change, _ := strings.Cut(what, " ")
			from, to, _ := strings.Cut(change, " -> ")
			file := filepath.Join(dir, "ferry", name)
			good := read(t, file)
			write(t, file, strings.Replace(good, from, to, 1))
			if out := inDir(t, dir, 3, simd, "validate", "ferry"); out != body {
				t.Errorf("simd validate printed\n%swant\n%s", out, body)
			}
			write(t, file, good)
		default:
			t.Errorf("guide: a block of kind %q", kind)
		}
	}
	if files != 5 || runs != 5 {
		t.Errorf("guide: %d files and %d runs; the pattern or the text is broken", files, runs)
	}
}

// firstTool does what docs/first-tool.md tells.
func firstTool(t *testing.T, simd string) {
	if _, err := exec.LookPath("python3"); err != nil || exec.Command(simd, "doctor", "--sandbox").Run() != nil {
		t.Skip("there is no python3, or no sandbox")
	}
	t.Setenv("SIMD_AUDIT", "off")
	dir := t.TempDir()
	inDir(t, dir, 0, simd, "init", "harbour", "my-harbour")
	if done := walk(t, simd, dir, "my-harbour", "docs/first-tool.md"); done != 10 {
		t.Errorf("%d blocks; the pattern or the text is broken", done)
	}
}

// play makes the play of docs/play.md and runs it.
func play(t *testing.T, simd string) {
	if done := walk(t, simd, t.TempDir(), "fete", "docs/play.md"); done != 12 {
		t.Errorf("%d blocks; the pattern or the text is broken", done)
	}
}

// travels makes the scenes of docs/travel.md and runs them.
func travels(t *testing.T, simd string) {
	if done := walk(t, simd, t.TempDir(), "pass", "docs/travel.md"); done != 19 {
		t.Errorf("%d blocks; the pattern or the text is broken", done)
	}
}

// goals makes the project of docs/formats/goals.md and runs it.
func goals(t *testing.T, simd string) {
	if done := walk(t, simd, t.TempDir(), "bakery", "docs/formats/goals.md"); done != 7 {
		t.Errorf("%d blocks; the pattern or the text is broken", done)
	}
}

// firstPlugin does what docs/first-plugin.md tells, by a user without grants and settings.
func firstPlugin(t *testing.T, simd string) {
	if _, err := exec.LookPath("python3"); err != nil || exec.Command(simd, "doctor", "--sandbox").Run() != nil {
		t.Skip("there is no python3, or no sandbox")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("SIMD_AUDIT", "off")
	if done := walk(t, simd, t.TempDir(), ".", "docs/first-plugin.md"); done != 21 {
		t.Errorf("%d blocks; the pattern or the text is broken", done)
	}
}

// walk does what a page tells: it writes and changes files of a folder within dir, and runs
// commands in dir. It counts the blocks.
func walk(t *testing.T, simd, dir, folder, page string) (done int) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)<!-- (\\w+)(?: (\\d))?: ([^\n]*) -->\n```\\w*\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
		done++
		switch kind, what, body := m[1], m[3], m[4]; kind {
		case "file":
			write(t, filepath.Join(dir, folder, what), body)
		case "move":
			from, to, _ := strings.Cut(what, " -> ")
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
				t.Fatal(err)
			}
		case "change":
			name, change, _ := strings.Cut(what, " ")
			from, to, _ := strings.Cut(change, " -> ")
			file := filepath.Join(dir, folder, name)
			text := read(t, file)
			if strings.Count(text, from) != 1 {
				t.Fatalf("%s has %q %d times", name, from, strings.Count(text, from))
			}
			write(t, file, strings.Replace(text, from, strings.ReplaceAll(to, "[newline]", "\n"), 1))
		default:
			code, _ := strconv.Atoi(m[2])
			out := inDir(t, dir, code, simd, words(what)...)
			if problem := follows(out, body); problem != "" {
				t.Errorf("simd %s: %s\nit printed\n%s", what, problem, out)
			}
		}
	}
	return done
}

// words splits a command line at spaces outside of single quotes.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// readme holds what README.md shows to what the program prints.
func readme(t *testing.T, simd string) {
	shown := regexp.MustCompile("(?s)<!-- run: ([^\n]*) -->\n```text\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(shown) != 1 {
		t.Fatalf("README.md shows %d runs", len(shown))
	}
	args := append(strings.Fields(shown[0][1]), "--out", filepath.Join(t.TempDir(), "run"))
	out := inDir(t, ".", 0, simd, args...)
	if problem := follows(out, shown[0][2]); problem != "" {
		t.Errorf("README.md: %s\nit printed\n%s", problem, out)
	}
}

// follows compares output with what a page shows, line by line and without regard
// to indentation. "…" stands for any text in a line, and a line with nothing
// else for any lines.
func follows(out, shown string) string {
	lines, at, loose := strings.Split(out, "\n"), 0, false
	for want := range strings.SplitSeq(strings.TrimSuffix(shown, "\n"), "\n") {
		if strings.TrimSpace(want) == "…" {
			loose = true
			continue
		}
		pattern := regexp.MustCompile(`^\s*` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*") + `\s*$`)
		for loose && at < len(lines) && !pattern.MatchString(lines[at]) {
			at++
		}
		if at >= len(lines) || !pattern.MatchString(lines[at]) {
			return fmt.Sprintf("there is no line %q where the page shows it", want)
		}
		at, loose = at+1, false
	}
	return ""
}

func TestFollows(t *testing.T) {
	for _, c := range []struct {
		out, shown string
		ok         bool
	}{
		{"a\nb 17\nc", "a\nb …\nc", true},
		{"a\nx\ny\nc", "a\n  …\nc", true},
		{"a\nx\nc", "a\nc", false},
		{"a\nb", "a\nb\nc", false},
		{"a.b", "a+b", false},
		{"    a\n  b ", "  a\nb", true},
	} {
		if got := follows(c.out, c.shown); (got == "") != c.ok {
			t.Errorf("%q against %q: %q", c.out, c.shown, got)
		}
	}
}

// build makes the program once.
func build(t *testing.T) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in the path")
	}
	simd := filepath.Join(t.TempDir(), "simd")
	if out, err := exec.Command(goTool, "build", "-o", simd, "./cmd/simd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return simd
}

// inDir runs a program and wants an exit code; it returns what it printed.
func inDir(t *testing.T, dir string, code int, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), name, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%s %s: exit code %d, want %d\n%s", filepath.Base(name), strings.Join(args, " "), got, code, out.String())
	}
	return out.String()
}
