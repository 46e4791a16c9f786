package manifest

import (
	"slices"
	"testing"
)

// Every field of an implementation is of some type, and the table names no other: a field that no
// row has could not be written, and one that is none could not be missed.
func TestEveryFieldIsOfAType(t *testing.T) {
	fields, named := (&Implementation{}).given(), map[string]bool{}
	for _, row := range types() {
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
