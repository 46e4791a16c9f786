package outside_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
	"tavernsim/scenes/outside"
)

// The examples of docs/formats/effects.md are the bytes that are written.
func TestDocsExamples(t *testing.T) {
	page := doctest.Page(t, "formats/effects.md")
	for _, raw := range outside.Samples() {
		v, err := raw.Value()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if want := "```json\n" + strings.ReplaceAll(string(text), ",", ", ") + "\n```"; !strings.Contains(page, want) {
			t.Errorf("the page lacks\n%s", want)
		}
	}
}
