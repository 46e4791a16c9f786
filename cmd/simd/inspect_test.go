package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

const postArchive = "../../scenes/view/inspect/testdata/post.txtar"

// inspected runs a command and returns what it printed.
func inspected(t *testing.T, want int, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), args, strings.NewReader(""), &stdout, &stderr); code != want {
		t.Fatalf("simd %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

// postRun runs the post office and returns its run directory.
func postRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(postArchive, dir); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "run")
	inspected(t, 0, "run", filepath.Join(dir, "post"), "--out", out, "-q", "--summary", "none")
	return out
}

// TestInspectPage: the examples of docs/formats/inspect.md are what the program
// prints. "…" stands for any text in a line, and a line of its own for any lines.
func TestInspectPage(t *testing.T) {
	page := doctest.Page(t, "formats/inspect.md")
	run := postRun(t)
	examples := regexp.MustCompile("(?s)<!-- inspect: ([^\n]*) -->\n```\\w+\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(examples) != 13 {
		t.Errorf("found %d examples; the pattern or the page is broken", len(examples))
	}
	for _, e := range examples {
		out, _ := inspected(t, 0, append([]string{"inspect", run}, strings.Fields(e[1])...)...)
		if line := differs(out, e[2]); line != "" {
			t.Errorf("inspect %s: no line %q where the page shows it; it printed\n%s", e[1], line, out)
		}
	}
}

// differs is the first line of a page that the output does not have in its place.
func differs(out, shown string) string {
	lines, at, loose := strings.Split(out, "\n"), 0, false
	for want := range strings.SplitSeq(strings.TrimSuffix(shown, "\n"), "\n") {
		if want == "…" {
			loose = true
			continue
		}
		pattern := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + `$`)
		for loose && at < len(lines) && !pattern.MatchString(lines[at]) {
			at++
		}
		if at >= len(lines) || !pattern.MatchString(lines[at]) {
			return want
		}
		at, loose = at+1, false
	}
	return ""
}

// goldens are views of the post office, by their files in testdata/inspect.
func goldens() map[string]string {
	return map[string]string{
		"agents":       "agents",
		"agent":        "agent ada --at 3s",
		"world":        "world ** --at version:2",
		"world_diff":   "world --diff 0s..3s",
		"events":       "events",
		"critical":     "critical-path",
		"facts":        "facts --wave 3..4 --kind world.* --kind event.*",
		"deliberation": "deliberation ada/1",
		"failed":       "deliberation dee/2",
		"audit":        "audit --until 2s",
		"dead_letters": "dead-letters --type parcel.*",
		"trace":        "trace ada/1.e1",
	}
}

// TestInspectGoldens: what each view prints for people, to the byte.
func TestInspectGoldens(t *testing.T) {
	run := postRun(t)
	for name, args := range goldens() {
		out, _ := inspected(t, 0, append([]string{"inspect", run}, strings.Fields(args)...)...)
		file := filepath.Join("testdata", "inspect", name+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != out {
			t.Errorf("inspect %s prints\n%s\nwant (%s; go test ./cmd/simd -run Goldens -update)\n%s", args, out, file, want)
		}
	}
}
