package metrics

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each value that a label of a fixed set has anywhere stands in a row of that label. Names that only a run knows,
// and words of other pages, do not.
func TestLabelValuesAreOnThePage(t *testing.T) {
	raw, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(raw), end)
	s := New()
	exercise(t, s)
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				names := slices.Contains([]string{"phase", "plugin", "warning"}, l.GetName()) || l.GetName() == "kind" && !slices.Contains([]string{"simd_orders_total", "simd_dead_letters_total"}, f.GetName())
				if strings.HasPrefix(f.GetName(), namespace+"_") && !names && !explained(page, l.GetName(), l.GetValue()) {
					missing[l.GetName()+"="+l.GetValue()+" of "+f.GetName()] = true
				}
			}
		}
	}
	for _, m := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s: the table of label values lacks %s", docsFile, m)
	}
	if explained(page, "outcome", "made") {
		t.Error("a value that is nowhere was not seen")
	}
}

// explained finds a value in a row of its label, unless the label is open.
func explained(page, label, value string) bool {
	if len(unexplained([]definition{{labels: []string{label}}}, "")) == 0 || value == overflowed || value == undeclared {
		return true
	}
	for row := range strings.Lines(page) {
		if head, values, ok := strings.Cut(strings.TrimPrefix(row, "| "), " | "); ok && strings.Contains(head, "`"+label+"`") && strings.Contains(values, "`"+value+"`") {
			return true
		}
	}
	return false
}

// Whoever adds a constant of one of these types adds it to the closed list of a counter.
func TestClosedListsAreWhole(t *testing.T) {
	s := New()
	calls := s.agents.tools.get("any").calls.names
	for _, list := range []struct {
		dir, typ string
		counted  []string
	}{
		{"engine/agent/agentfact", "Outcome", outcomes()},
		{"engine/bus", "Reason", slices.Concat(s.events.dropped.names, s.events.held.names)},
		{"engine/agent/agentfact", "DropReason", s.events.dropped.names},
		{"protocol", "CallStatus", calls},
	} {
		found := 0
		for _, value := range constants(t, filepath.Join("../..", list.dir), list.typ) {
			if found++; !slices.Contains(list.counted, value) {
				t.Errorf("%s.%s %q is in no closed list: it would be counted as %s", list.dir, list.typ, value, overflowed)
			}
		}
		if found == 0 {
			t.Errorf("%s has no constants of the type %s", list.dir, list.typ)
		}
	}
}

// constants are the texts that the files of a folder declare as constants of a type.
func constants(t *testing.T, dir, typ string) (values []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\s*(?:const )?[A-Z]\w* +` + typ + ` += "([^"]*)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			values = append(values, m[1])
		}
	}
	return values
}
