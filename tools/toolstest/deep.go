package toolstest

import (
	"os"
	"strings"
	"testing"
)

// Deep makes n folders below dir, one in the other, and opens the innermost, which the caller closes. Each has a name of 200
// letters: the path of the 21st is too long for a system call.
func Deep(t testing.TB, dir string, n int) *os.Root {
	t.Helper()
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 200)
	for range n {
		if err := at.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		below, err := at.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		_ = at.Close()
		at = below
	}
	return at
}
