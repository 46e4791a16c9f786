package template

import (
	"strings"
	"testing"

	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

// docs/formats/template.md lists every function.
func TestDocsAreComplete(t *testing.T) {
	raw := doctest.Page(t, "formats/template.md")
	for _, name := range append(protocol.SortedKeys(std()), "and", "or") {
		if !strings.Contains(raw, "`"+name+" ") {
			t.Errorf("%s is not documented", name)
		}
	}
}
