package tavernsim

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// promisesOpen are packages of whose promises some have no test yet. The list may
// only shrink: no package joins it, and one whose promises are all named leaves it.
func promisesOpen() []string {
	return []string{"engine/template", "tam", "tam/toolsxml"}
}

// TestPromises: every numbered promise of a package doc is named by a test of its
// package, in the comment above it ("Promise 3", "Promises 2 and 7"), and no test
// names one that there is not. Whether the test would fail without the promise,
// only a look can tell: break the code, see it fail.
func TestPromises(t *testing.T) {
	packages, open := promisingPackages(t), promisesOpen()
	for _, dir := range open {
		if packages[dir] == 0 {
			t.Errorf("%s makes no promises: take it out of promisesOpen", dir)
		}
	}
	for dir, made := range packages {
		tested := map[int]bool{}
		for _, name := range testFiles(t, dir) {
			for n := range promisesNamed(read(t, name)) {
				if tested[n] = true; n < 1 || n > made {
					t.Errorf("%s names promise %d; %s makes %d", name, n, dir, made)
				}
			}
		}
		if slices.Contains(open, dir) {
			if len(tested) == made {
				t.Errorf("%s: every promise is named: take it out of promisesOpen", dir)
			}
			continue
		}
		for n := 1; n <= made; n++ {
			if !tested[n] {
				t.Errorf("%[1]s: no test names promise %[2]d: write one of the package that fails without it, with \"Promise %[2]d\" in the comment above it", dir, n)
			}
		}
	}
}

// promisingPackages finds the packages whose doc has a section "# Promises" and
// counts what each promises.
func promisingPackages(t *testing.T) map[string]int {
	made := map[string]int{}
	for _, f := range files(t) {
		text := read(t, f.path)
		if !strings.Contains(text, "\n// # Promises\n") {
			continue
		}
		n := promisesMade(text)
		if n == 0 {
			t.Errorf("%s has a section of promises without a numbered one", f.path)
		}
		made[filepath.ToSlash(filepath.Dir(f.path))] += n
	}
	if len(made) < 30 {
		t.Errorf("only %d packages with promises were found", len(made))
	}
	return made
}

// promisesMade counts the entries of the list below "# Promises".
func promisesMade(doc string) int {
	n := 0
	for _, section := range regexp.MustCompile(`(?s)// # Promises\n(.*?)(?:// # |\npackage )`).FindAllStringSubmatch(doc, 1) {
		for _, number := range regexp.MustCompile(`(?m)^//  (\d+)\. `).FindAllStringSubmatch(section[1], -1) {
			if i, _ := strconv.Atoi(number[1]); i == n+1 {
				n = i
			}
		}
	}
	return n
}

// promisesNamed are those in comments that say "Promise" or "Promises" at the
// beginning of a sentence.
func promisesNamed(text string) map[int]bool {
	named := map[int]bool{}
	for _, m := range regexp.MustCompile(`[/:.] [Pp]romises? (\d+)((?:(?:, | and )\d+)*)( to \d+)?`).FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(m[1])
		named[first] = true
		for _, more := range regexp.MustCompile(`\d+`).FindAllString(m[2], -1) {
			n, _ := strconv.Atoi(more)
			named[n] = true
		}
		for _, last := range regexp.MustCompile(`\d+`).FindAllString(m[3], -1) {
			n, _ := strconv.Atoi(last)
			for i := first; i <= n; i++ {
				named[i] = true
			}
		}
	}
	return named
}

func testFiles(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if ok, _ := filepath.Match("*_test.go", e.Name()); ok {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}
