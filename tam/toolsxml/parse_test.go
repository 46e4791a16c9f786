package toolsxml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/protocol"
)

func TestReasoningIsMasked(t *testing.T) {
	one := root("<command>ls</command>")
	for _, src := range []string{"<think>" + one + "</think>", "<thinking a='b'>x <think>" + one + "</think> " + one + "</thinking>", "<think>\n" + one} {
		if r := expect(t, src+"", ""); r.Text != "" {
			t.Errorf("%s: text %q", src, r.Text)
		}
	}
	expect(t, "a <think> tag in prose "+one, `+command "ls"`)
	expect(t, root("<command>echo '<think>'</command>"), `+command "echo '<think>'"`)
}

func TestMentions(t *testing.T) {
	for _, src := range []string{"Use `<tools>`.", "a <tools> and <tools> again", "<tools", "</tools>", "<toolsx><command>", "< tools>"} {
		if r := expect(t, src, ""); r.Text != src {
			t.Errorf("text %q; want %q", r.Text, src)
		}
	}
	expect(t, "Use `<tools>` so:\n"+root("<command>ls</command>"), `+command "ls"`)
}

func TestLimits(t *testing.T) {
	many := func(n int, unit string) string { return strings.Repeat(unit, n) }
	for name, c := range map[string]struct {
		src  string
		runs int
	}{
		"tools":        {root(many(MaxTools, "<ctrl>c</ctrl>")), MaxTools},
		"tools+1":      {root(many(MaxTools+1, "<ctrl>c</ctrl>")), 0},
		"files":        {root("<read>" + many(MaxFiles, "<file src='a'/>") + "</read>"), 1},
		"files+1":      {root("<read>" + many(MaxFiles+1, "<file src='a'/>") + "</read>"), 0},
		"edits":        {root("<edit><file src='a'>" + many(MaxEdits, "<find>a</find><replace>b</replace>") + "</file></edit>"), 1},
		"edits+1":      {root("<edit><file src='a'>" + many(MaxEdits+1, "<find>a</find><replace>b</replace>") + "</file></edit>"), 0},
		"value":        {root("<command>" + many(MaxValue, "a") + "</command>"), 1},
		"value+1":      {root("<command>" + many(MaxValue+1, "a") + "</command>"), 0},
		"attributes+1": {root("<get_value key='a' reason='b' " + numbered(maxAttributes, "a%d=1 ") + "/>"), 0},
		"documents":    {root(many(maxLostSearches, "<command>cat <<A\nx</command>")), 0},
		"documents+1":  {root(many(maxLostSearches, "<command>cat <<A\nx</command>") + "<command>cat <<B\n</command><read><file src='a'/></read>\nB\n</command>"), 0},
		"secrets":      {root("<command>" + numbered(MaxSecrets, "$KARYI{A%d}") + "</command>"), 1},
		"secrets+1":    {root("<command>" + numbered(MaxSecrets+1, "$KARYI{A%d}") + "</command>"), 0},
	} {
		r := Parse(c.src, Options{})
		runs := 0
		for _, tool := range r.Tools {
			if tool.Executable {
				runs++
			}
		}
		exceeded := slices.Contains(r.Warnings, LimitExceeded)
		if runs != c.runs || exceeded != strings.HasSuffix(name, "+1") || len(r.Tools) > MaxTools {
			t.Errorf("%s: %d of %d tools run, want %d; warnings %v", name, runs, len(r.Tools), c.runs, r.Warnings)
		}
	}
	if r := Parse(many(MaxSource+1, "a"), Options{}); !slices.Equal(r.Warnings, []Code{LimitExceeded}) {
		t.Errorf("source: %v", r.Warnings)
	}
	r := Parse(root("<edit><file src='a'>"+many(MaxDiagnostics+50, "<replace>b</replace>")+"</file></edit>"), Options{})
	if len(r.Diagnostics) != MaxDiagnostics || !slices.Contains(r.Warnings, TooManyDiagnostics) {
		t.Errorf("%d diagnostics, %v", len(r.Diagnostics), r.Warnings)
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestCalls(t *testing.T) {
	r := Parse(root(`<command>ls</command><foo/><edit><file src="a"><find nth="2">&amp;</find><replace>b</replace></file></edit><ctrl>c</ctrl>`), Options{})
	calls := r.Calls("t7")
	want := []protocol.Call{
		{ID: "t7.1", Tool: "command", Index: 1, Params: map[string]any{"content": "ls"}},
		{ID: "t7.3", Tool: "edit", Index: 3, Params: map[string]any{"files": []any{map[string]any{"src": "a", "edits": []any{
			map[string]any{"find": "&", "replace": "b", "nth": int64(2), "find_other": "&amp;", "replace_other": "b"}}}}}},
		{ID: "t7.4", Tool: "ctrl", Index: 4, Params: map[string]any{"content": "c", "bytes": []any{int64(3)}}},
	}
	for i := range want {
		want[i].Origin, want[i].OnError, want[i].Block, want[i].After = protocol.OriginToolsXML, protocol.OnErrorContinue, 1, []string{"none", "1", "1, 3"}[i]
	}
	if !reflect.DeepEqual(calls, want) {
		t.Errorf("calls\n%+v\nwant\n%+v", calls, want)
	}
	if d := r.Diagnostics[0]; d.Tool != 2 || !strings.Contains(d.String(), "received <foo>; expected one of <command>") {
		t.Errorf("diagnostic %+v", d)
	}
}
