package tam

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata/golden from what the parser says: go test ./tam -run Golden -update")

// goldenCase is one file of testdata/golden: an optional line "options: …", the
// text, and behind a line "=====" the JSON of the result. A text that ends
// without a line end is followed by "=====" behind a line "\ (no line end)".
type goldenCase struct {
	name, path  string
	head, input string
	want        string
	opt         Options
}

const (
	divider = "=====\n"
	noEOL   = "\\ (no line end)\n"
)

func goldenCases(t testing.TB) []goldenCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files", err)
	}
	var out []goldenCase
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, readCase(p, string(raw)))
	}
	return out
}

func readCase(path, raw string) goldenCase {
	c := goldenCase{name: strings.TrimSuffix(filepath.Base(path), ".txt"), path: path}
	input, want, _ := strings.Cut(raw, "\n"+divider)
	input += "\n"
	for strings.HasPrefix(input, "// ") || strings.HasPrefix(input, "options:") {
		line, rest, _ := strings.Cut(input, "\n")
		c.head += line + "\n"
		input = rest
		for o := range strings.FieldsSeq(strings.TrimPrefix(line, "options:")) {
			c.option(o)
		}
	}
	if s, ok := strings.CutSuffix(input, "\n"+noEOL); ok {
		input = s
	}
	c.input, c.want = unescape(input), want
	return c
}

func (c *goldenCase) option(o string) {
	switch o {
	case "finish=length":
		c.opt.Finish = protocol.FinishLength
	case "tools=File.Write":
		c.opt.IsTool = func(id string) bool { return id == "File.Write" }
	case "small":
		c.opt.limits = limits{Block: 200, Value: 20, Fields: 4, Steps: 2}
	}
}

// unescape reads the few bytes that would not survive an editor.
func unescape(s string) string {
	return strings.NewReplacer("␍", "\r", "⟨BOM⟩", "\ufeff", "⟨ZW⟩", "\u200b", "⟨NBSP⟩", "\u00a0").Replace(s)
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			got := goldenJSON(t, c.opt.Parse(c.input))
			if *update {
				raw, err := os.ReadFile(c.path)
				if err != nil {
					t.Fatal(err)
				}
				head, _, _ := strings.Cut(string(raw), "\n"+divider)
				if err := os.WriteFile(c.path, []byte(head+"\n"+divider+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func goldenJSON(t testing.TB, r Result) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
