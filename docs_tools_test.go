package tavernsim

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestToolTests: each row of the page of what tools are held to names tests or golden scripts
// that there are, and no row is missing.
func TestToolTests(t *testing.T) {
	const page = "docs/tool-tests.md"
	tests := regexp.MustCompile("`([\\w/]+): ((?:Test|Benchmark|Fuzz)\\w+(?:, (?:Test|Benchmark|Fuzz)\\w+)*)`")
	script := regexp.MustCompile("`([\\w/]+\\.txt(?:ar)?)`")
	declared := map[string]string{} // sources of the tests, by package
	var rows []string
	for line := range strings.Lines(read(t, page)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 || strings.Contains(line, "shown by |") {
			continue
		}
		row, shown := strings.TrimPrefix(cells[0], "| "), 0
		rows = append(rows, row)
		for _, m := range tests.FindAllStringSubmatch(line, -1) {
			if _, known := declared[m[1]]; !known {
				declared[m[1]] = testsIn(t, m[1])
			}
			for name := range strings.SplitSeq(m[2], ", ") {
				shown++
				if !strings.Contains(declared[m[1]], "\nfunc "+name+"(") {
					t.Errorf("%s: %s: %s has no %s", page, row, m[1], name)
				}
			}
		}
		for _, m := range script.FindAllStringSubmatch(line, -1) {
			shown++
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %s: %v", page, row, err)
			}
		}
		if shown == 0 {
			t.Errorf("%s: nothing shows the row %s", page, row)
		}
	}
	for _, want := range []string{"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "B1"} {
		if !slices.Contains(rows, want) {
			t.Errorf("%s has no row %s", page, want)
		}
	}
	if len(rows) < 25 {
		t.Errorf("%d rows; the pattern is broken", len(rows))
	}
}

// testsIn is the source of all tests of a package.
func testsIn(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	var b strings.Builder
	for _, f := range list {
		if strings.HasSuffix(f.Name(), "_test.go") {
			b.WriteString(read(t, dir+"/"+f.Name()))
		}
	}
	return b.String()
}

// shownOfViews names the types of views that a file of internal/show makes lists of. They are written as
// JSON, too.
func shownOfViews(f file) (names []string) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		x, ok := n.(*ast.IndexExpr)
		if !ok {
			return true
		}
		list, isList := x.X.(*ast.Ident)
		typ, isOther := x.Index.(*ast.SelectorExpr)
		if isList && isOther && list.Name == "List" {
			names = append(names, fmt.Sprint(typ.X)+"."+typ.Sel.Name)
		}
		return true
	})
	return names
}
