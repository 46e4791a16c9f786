package scripted

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata from what the code does")

// Promise 3: all faults of a script, each with its place. TestGolden runs testdata/*.txt: a script, then lines ">>> request", each
// followed by its answer; or a script and "!!!", followed by its faults.
// Rewrite with: go test ./llm/scripted -run Golden -update
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runGolden(t, string(raw))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(raw) {
				t.Errorf("differs:\n%s", got)
			}
		})
	}
}

func runGolden(t *testing.T, text string) string {
	var out strings.Builder
	blocks := strings.Split(text, "\n=====\n")
	for i, block := range blocks {
		if i > 0 {
			out.WriteString("\n=====\n")
		}
		if script, _, ok := strings.Cut(block, "\n!!!"); ok {
			_, err := Load("script.yaml", []byte(script))
			if err == nil {
				t.Errorf("no fault in\n%s", script)
				continue
			}
			out.WriteString(script + "\n!!!\n" + err.Error())
			continue
		}
		script, rest, _ := strings.Cut(block, "\n>>> ")
		m := load(t, script)
		out.WriteString(script)
		for part := range strings.SplitSeq(rest, "\n>>> ") {
			req, _, _ := strings.Cut(part, "\n")
			out.WriteString("\n>>> " + req + "\n" + say(t, m, req))
		}
	}
	return out.String() + "\n"
}
