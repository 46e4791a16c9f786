package standard_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"tavernsim/engine/workflow/standard"
)

var update = flag.Bool("update", false, "rewrite docs/formats/prompt.md from the files")

// The page shows the workflows of the program as they are.
func TestDocPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/prompt.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range standard.IDs() {
		file, err := standard.Read(id)
		if err != nil {
			t.Fatal(err)
		}
		text := string(page)
		at := strings.Index(text, "<!-- standard: "+id+" -->")
		if at < 0 {
			t.Errorf("docs/formats/prompt.md does not show %s", id)
			continue
		}
		begin := at + strings.Index(text[at:], "```yaml\n") + len("```yaml\n")
		end := begin + strings.Index(text[begin:], "```")
		if text[begin:end] == string(file) {
			continue
		}
		if !*update {
			t.Errorf("docs/formats/prompt.md shows another %s; go test ./engine/workflow/standard -update", id)
			continue
		}
		page = []byte(text[:begin] + string(file) + text[end:])
		if err := os.WriteFile("../../../docs/formats/prompt.md", page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
