package doctest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/internal/source"
)

// Tables are the tables of definitions on pages: between <!-- fields package.Type -->
// and <!-- end -->, a row for each field.
type Tables struct {
	Dir       string            // of the pages
	Pages     map[string]string // file of a page, by the package of the types on it
	Types     []reflect.Type    // that must stand on a page
	Rules     source.Rules
	Sections  bool     // a column names the section of the specification
	Elsewhere []string // packages whose pages have tables of their own
}

// Check compares the tables with the types and rules. With update it writes them.
func (d Tables) Check(t *testing.T, update bool) {
	t.Helper()
	types := map[string]reflect.Type{}
	for _, typ := range d.Types {
		types[typ.String()] = typ
	}
	marker := regexp.MustCompile(`(?s)<!-- fields ([a-zA-Z.]+) -->\n.*?<!-- end -->`)
	seen := map[string]bool{}
	pages := slices.Sorted(maps.Values(d.Pages))
	for _, page := range slices.Compact(pages) {
		path := filepath.Join(d.Dir, page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := marker.ReplaceAllStringFunc(string(text), func(s string) string {
			name := marker.FindStringSubmatch(s)[1]
			if types[name] == nil {
				t.Fatalf("%s: no type %s", page, name)
			}
			seen[name] = true
			return fmt.Sprintf("<!-- fields %s -->\n%s<!-- end -->", name, d.table(types[name]))
		})
		if want == string(text) {
			continue
		}
		if !update {
			t.Errorf("%s is not what the loader does; run the test with -update", page)
		} else if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range types {
		if pkg, _, _ := strings.Cut(name, "."); !seen[name] && !slices.Contains(d.Elsewhere, pkg) {
			t.Errorf("no page has a table of %s", name)
		}
	}
}

func (d Tables) table(t reflect.Type) string {
	var b strings.Builder
	b.WriteString("| field | type | default | limits | meaning |")
	if d.Sections {
		b.WriteString(" spec |\n|---|---|---|---|---|---|\n")
	} else {
		b.WriteString("\n|---|---|---|---|---|\n")
	}
	for _, f := range source.Fields(t) {
		r := d.Rules.Of(t, f.Name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |", f.Name, d.typeText(f.Type), defaultText(r), limitText(r, d.typeText(f.Type)), strings.ReplaceAll(r.Doc, "|", "\\|"))
		if d.Sections {
			b.WriteString(" " + r.Section + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func defaultText(r source.Rule) string {
	switch {
	case r.Required:
		return "**required**"
	case r.Default == nil:
		return ""
	}
	text, _ := json.Marshal(r.Default)
	return "`" + string(text) + "`"
}

func limitText(r source.Rule, typ string) string {
	var parts []string
	if len(r.Enum) > 0 && len(r.Enum) < 12 {
		parts = append(parts, "`"+strings.Join(r.Enum, "` `")+"`")
	}
	switch {
	case r.Range != nil && typ == "duration":
		parts = append(parts, r.Range.Durations())
	case r.Range != nil:
		parts = append(parts, r.Range.String())
	}
	if r.MaxItems > 0 {
		parts = append(parts, fmt.Sprintf("at most %d", r.MaxItems))
	}
	return strings.Join(parts, "; ")
}

func (d Tables) typeText(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.typeText(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t.Kind() == reflect.Int64 && t.Name() == "Duration":
		return "duration"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of " + d.typeText(t.Elem())
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return "object"
		}
		return "object of " + d.typeText(t.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Struct:
		pkg, _, _ := strings.Cut(t.String(), ".")
		return "[" + t.Name() + "](" + cmp.Or(d.Pages[t.String()], d.Pages[pkg]) + "#" + strings.ToLower(t.Name()) + ")"
	}
	return "whole number"
}
