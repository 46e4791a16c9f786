package export

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
)

// docs/formats/export.md lists exactly the columns of each table, in order.
func TestColumnsAreDocumented(t *testing.T) {
	page := doctest.Page(t, "formats/export.md")
	for _, table := range Tables() {
		_, section, ok := strings.Cut(page, "\n## "+table.Name+"\n")
		if !ok {
			t.Fatalf("no section about %s", table.Name)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var have, want []string
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
				have = append(have, strings.Trim(cells[1], " `")+": "+strings.TrimSpace(cells[2]))
			}
		}
		for _, c := range table.Columns {
			line := c.Name + ": " + c.Type.String()
			if c.Empty {
				line += ", may be empty"
			}
			want = append(want, line)
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("%s is documented as\n%v\nit has\n%v", table.Name, have, want)
		}
	}
}
