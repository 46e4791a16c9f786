package template

import (
	"os"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// docs/formats/template.md lists every function.
func TestDocsAreComplete(t *testing.T) {
	raw, err := os.ReadFile("../../docs/formats/template.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(protocol.SortedKeys(Std()), "and", "or") {
		if !strings.Contains(string(raw), "`"+name+" ") {
			t.Errorf("%s is not documented", name)
		}
	}
}
