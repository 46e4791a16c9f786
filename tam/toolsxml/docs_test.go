package toolsxml

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
)

const formatPage = "formats/toolsxml.md"

// TestFormatPageExamples runs every example of the format page.
func TestFormatPageExamples(t *testing.T) {
	page := doctest.Page(t, formatPage)
	examples := regexp.MustCompile("(?s)```toolsxml\n(.*?)\n```\n\n```json\n(.*?)\n```").FindAllStringSubmatch(page, -1)
	if len(examples) < 4 || len(examples) != strings.Count(page, "```toolsxml") {
		t.Fatalf("found %d examples with a result", len(examples))
	}
	for _, x := range examples {
		var want, got bytes.Buffer
		if err := json.Compact(&want, []byte(x[2])); err != nil {
			t.Errorf("%s: %v", x[2], err)
		}
		if err := json.Compact(&got, []byte(resultJSON(t, Parse(x[1], Options{})))); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s\ngot\n%s\nwant\n%s", x[1], got.String(), want.String())
		}
	}
}

// TestFormatPageCodes holds the page's table of codes against the code.
func TestFormatPageCodes(t *testing.T) {
	page := doctest.Page(t, formatPage)
	source, err := os.ReadFile("diagnostic.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(page, "## Codes")
	table, _, _ = strings.Cut(table, "## Limits")
	codes := regexp.MustCompile(`Code\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	for _, c := range codes {
		if !strings.Contains(table, "| `"+c[1]+"` |") {
			t.Errorf("code %s is not on %s", c[1], formatPage)
		}
	}
	if rows := strings.Count(table, "\n| `"); rows != len(codes) {
		t.Errorf("%d rows, %d codes", rows, len(codes))
	}
}

// TestGoldenReachesEveryCode: there is a file that shows each code, except those
// that need a large text or a provider's report.
func TestGoldenReachesEveryCode(t *testing.T) {
	seen := map[string]bool{string(LimitExceeded): true, string(TooManyDiagnostics): true}
	for _, file := range goldenFiles(t) {
		_, src, _ := goldenSource(t, file)
		for _, d := range Parse(src, Options{}).Diagnostics {
			seen[string(d.Code)] = true
		}
	}
	source, err := os.ReadFile("diagnostic.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range regexp.MustCompile(`Code\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		if !seen[c[1]] {
			t.Errorf("no golden file shows %s", c[1])
		}
	}
}
