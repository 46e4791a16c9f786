package manifest

import (
	"slices"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
)

// Every field of an implementation is of some type, and the table names no other: a field that no
// row has could not be written, and one that is none could not be missed.
func TestEveryFieldIsOfAType(t *testing.T) {
	fields, named := (&Implementation{}).given(), map[string]bool{}
	page := doctest.Page(t, "formats/tool.md")
	for _, row := range types() {
		if row.is == "" {
			t.Errorf("types: the row %s does not say for the page what carries the tool out (is)", row.name)
		}
		if !strings.Contains(page, "\n**`"+row.name+"`.** ") {
			t.Errorf("docs/formats/tool.md has no paragraph that explains the type %s; begin it with **`%s`.**", row.name, row.name)
		}
		for _, name := range slices.Concat(row.wants, row.may) {
			if _, is := fields[name]; !is {
				t.Errorf("types: the row %s names %q, which is no field of Implementation", row.name, name)
			}
			named[name] = true
		}
	}
	for name := range fields {
		if !named[name] {
			t.Errorf("types: no row names the field %q of Implementation: no tool may have it", name)
		}
	}
}
