package answer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml"
)

// Every problem of an answer is counted as what it is.
func TestFindings(t *testing.T) {
	for text, want := range map[string][]Finding{
		"<|[REQUEST_TOOL]|>\np:»»»1«««\n<|[END_TOOL]|>":                                   {{TAM, "no_command", true}},
		"<|[REQUEST_TOOL]|>\ncommand_1:»»»X«««\np_1:»»»1«««\np_7:»»»1«««\n<|[END_TOOL]|>": {{TAM, "orphan_param", false}},
		"<tools><shout>x: y</shout></tools>":                                              {{ToolsXML, "unknown_tool", true}},
		"<tools><ctrl>c</ctrl>":                                                           {{ToolsXML, "missing_root_close", false}},
	} {
		a := Read(text, "stop")
		if len(a.Problems) != len(want) {
			t.Errorf("%s: %q", text, a.Problems)
			continue
		}
		for i, p := range a.Problems {
			if f, ok := FindingOf(p); !ok || f != want[i] {
				t.Errorf("%s: %+v, want %+v", p, f, want[i])
			}
		}
	}
	for _, other := range []string{"", "line 1", "reflection: no model: x", "toolsxml: x", "block 1: x: y"} {
		if f, ok := FindingOf(other); ok {
			t.Errorf("%q is %+v", other, f)
		}
	}
}

// What the texts do not say about tools of ToolsXML is as the parser has it, in all its golden texts.
func TestWarningsOfToolsXML(t *testing.T) {
	names, err := filepath.Glob("../toolsxml/testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for from := range strings.SplitSeq(string(b), "<tools>") { // also what is in the middle of a text
			for _, d := range toolsxml.Parse("<tools>"+from, toolsxml.Options{}).Diagnostics {
				if f, ok := FindingOf("toolsxml: " + d.String()); d.Severity != finding.Info && d.Code != toolsxml.NotAvailable && (!ok || f.Error != (d.Severity == finding.Error)) {
					t.Errorf("%s: %s is %+v", name, d, f)
				}
				seen++
			}
		}
	}
	if seen == 0 {
		t.Error("no text has a finding")
	}
}
