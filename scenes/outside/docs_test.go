package outside_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tavernsim/scenes/outside"
)

// The examples of docs/formats/effects.md are the bytes that are written.
func TestDocsExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats/effects.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range outside.Samples() {
		v, err := raw.Value()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if want := "```json\n" + strings.ReplaceAll(string(text), ",", ", ") + "\n```"; !strings.Contains(string(page), want) {
			t.Errorf("the page lacks\n%s", want)
		}
	}
}
