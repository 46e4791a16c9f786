// Package doctest helps tests that compare pages of docs and golden scripts with the
// code. Only tests import it.
package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/internal/lenient"
)

// Page returns a page by its name below docs, such as formats/events.md.
func Page(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := filepath.Abs(".")
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "docs", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// Examples returns the blocks of a page that follow <!-- example: kind -->. A page
// without one fails the test.
func Examples(tb testing.TB, page, kind string) (blocks []string) {
	tb.Helper()
	re := regexp.MustCompile("(?s)<!-- example: " + regexp.QuoteMeta(kind) + " -->\n```[a-z]+\n(.*?)```")
	for _, m := range re.FindAllStringSubmatch(Page(tb, page), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		tb.Fatalf("docs/%s: no example %q", page, kind)
	}
	return blocks
}

// Value reads JSON as a value of package protocol.
func Value(tb testing.TB, text string) any {
	tb.Helper()
	t, err := lenient.Read(text, lenient.Options{Plain: true, Strict: true})
	if err != nil || len(t.Repairs) > 0 {
		tb.Fatalf("%s: %v %v", text, err, t.Repairs)
	}
	return t.Value
}

// Scripts plays every file that the pattern matches, in a test of its own: play
// gives the text that the file ought to have. With update it is written.
func Scripts(t *testing.T, pattern string, update bool, play func(t *testing.T, text string) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if got == string(want) {
				return
			}
			if !update {
				t.Fatalf("%s differs %s\n(-update rewrites it)", file, Parting(got, string(want)))
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Archives plays txtar archives: play gets an archive without the section and
// what the section holds, and gives what it ought to hold.
func Archives(t *testing.T, pattern, section string, update bool, play func(t *testing.T, a *txtar.Archive, held string) string) {
	Scripts(t, pattern, update, func(t *testing.T, text string) string {
		a := txtar.Parse([]byte(text))
		i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == section })
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: section})
		}
		rest := &txtar.Archive{Comment: a.Comment, Files: slices.Delete(slices.Clone(a.Files), i, i+1)}
		a.Files[i].Data = []byte(play(t, rest, string(a.Files[i].Data)))
		return string(txtar.Format(a))
	})
}

// Parting shows where two texts part.
func Parting(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	n := 0
	for n < min(len(g), len(w)) && g[n] == w[n] {
		n++
	}
	show := func(lines []string) string {
		return strings.Join(lines[min(n, len(lines)):min(n+5, len(lines))], "\n\t")
	}
	return "after " + strings.Join(g[max(n-3, 0):n], "\n\t") + "\ngot\t" + show(g) + "\nwant\t" + show(w)
}
