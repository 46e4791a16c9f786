package tavernsim

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestPromises: every numbered promise of these package docs is named by a test
// of its package, in the comment above it ("Promise 3", "Promises 2 and 7"), and
// no test names one that there is not. Whether the test would fail without the
// promise, only a look can tell: break the code, see it fail.
func TestPromises(t *testing.T) {
	for _, dir := range []string{"actors", "engine/agent", "engine/bus", "engine/bus/delivery", "engine/worldstate", "persistence",
		"scenes", "scenes/history", "scenes/machines", "scenes/load/setup"} {
		made, tested := promisesMade(read(t, filepath.Join(dir, "doc.go"))), map[int]bool{}
		for _, name := range testFiles(t, dir) {
			for n := range promisesNamed(read(t, name)) {
				if tested[n] = true; n < 1 || n > made {
					t.Errorf("%s names promise %d; %s makes %d", name, n, dir, made)
				}
			}
		}
		if made == 0 {
			t.Errorf("%s/doc.go makes no promises", dir)
		}
		for n := 1; n <= made; n++ {
			if !tested[n] {
				t.Errorf("%s: no test names promise %d", dir, n)
			}
		}
	}
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
