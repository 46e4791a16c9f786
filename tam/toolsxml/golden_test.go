package toolsxml

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files: go test ./tam/toolsxml -run Golden -update")

const divider = "\n==== result ====\n"

// goldenCases are the files of testdata: what the file shows, the answer of a
// model, and the result.
//
//	# what this file shows
//	<the text>
//	==== result ====
//	<the JSON>
//	==== show ====
//	<Show, when the name begins with show_>
func goldenFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	return files
}

func goldenSource(t testing.TB, file string) (head, src, want string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ := strings.Cut(string(raw), divider)
	head, src, ok := strings.Cut(input, "\n")
	if !ok || !strings.HasPrefix(head, "# ") {
		t.Fatalf("%s: the first line must say what the file shows, as \"# …\"", file)
	}
	return head, src, want
}

func resultJSON(t testing.TB, r Result) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			head, src, want := goldenSource(t, file)
			r := Parse(src, Options{})
			got := resultJSON(t, r)
			if strings.HasPrefix(filepath.Base(file), "show_") {
				got += "==== show ====\n" + Show(src, r)
			}
			if *update {
				if err := os.WriteFile(file, []byte(head+"\n"+src+divider+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("%s\ngot\n%s\nwant\n%s\n(if the change is right: go test ./tam/toolsxml -run Golden -update)", head, got, want)
			}
		})
	}
}
