package toolsxml

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/tam/finding"
)

// FuzzParse holds promises 1, 2, 3, 6 and 7 against any text.
func FuzzParse(f *testing.F) {
	for _, file := range goldenFiles(f) {
		_, src, _ := goldenSource(f, file)
		f.Add(src)
	}
	for _, h := range hostile() {
		f.Add(hostileText(h.head, h.unit, h.tail[:min(len(h.tail), 60)], 200))
	}
	f.Fuzz(func(t *testing.T, src string) {
		r, work := parse(src, Options{})
		if limit := 64*len(src) + 4096; work > limit {
			t.Fatalf("%d steps for %d bytes; expected at most %d", work, len(src), limit)
		}
		if again := Parse(src, Options{}); !reflect.DeepEqual(r, again) {
			t.Fatalf("two parses differ:\n%+v\n%+v", r, again)
		}
		checkInvariants(t, src, r)
		cut := Parse(src, Options{Finish: protocol.FinishLength})
		for i, tool := range cut.Tools {
			if tool.Executable && !r.Tools[i].Executable {
				t.Fatalf("tool %d runs only when the answer was cut", i+1)
			}
		}
		Show(src, r)
	})
}

func checkInvariants(t *testing.T, src string, r Result) {
	t.Helper()
	bad := map[int]bool{}
	for i, d := range r.Diagnostics {
		if d.Offset < 0 || d.End < d.Offset || d.End > len(src) || d.Line < 1 || d.Col < 1 || d.Message == "" {
			t.Fatalf("diagnostic out of place: %+v (%d bytes)", d, len(src))
		}
		if i > 0 && r.Diagnostics[i-1].Offset > d.Offset {
			t.Fatalf("diagnostics out of order: %v, %v", r.Diagnostics[i-1], d)
		}
		if d.Severity == finding.Error {
			bad[d.Tool] = true
		}
	}
	for i, tool := range r.Tools {
		switch {
		case tool.Index != i+1:
			t.Fatalf("tool %d has index %d", i+1, tool.Index)
		case tool.Executable && bad[tool.Index]:
			t.Fatalf("tool %d runs in spite of an error", tool.Index)
		case !tool.Executable && !bad[tool.Index] && !bad[0] && len(r.Diagnostics) < MaxDiagnostics:
			t.Fatalf("tool %d does not run and no error says why", tool.Index)
		case tool.Span.Start < 0 || tool.Span.End < tool.Span.Start || tool.Span.End > len(src):
			t.Fatalf("tool %d has span %v of %d", tool.Index, tool.Span, len(src))
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
}

// FuzzJSONAnswer: a text inside a JSON answer means the same as the text alone,
// whatever the JSON encoder escapes.
func FuzzJSONAnswer(f *testing.F) {
	for _, file := range goldenFiles(f) {
		_, src, _ := goldenSource(f, file)
		f.Add(src, true)
		f.Add(src, false)
	}
	f.Fuzz(func(t *testing.T, tools string, html bool) {
		tools = strings.ToValidUTF8(tools, "?")
		if strings.Contains(tools, `"tools"`) {
			t.Skip("an answer in an answer")
		}
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if err := e.Encode(map[string]string{"reply": "ok", "tools": tools}); err != nil {
			t.Skip()
		}
		src := b.String()
		got, plain := Parse(src, Options{}), Parse(tools, Options{})
		checkInvariants(t, src, got)
		if len(got.Tools) != len(plain.Tools) || !reflect.DeepEqual(got.Warnings, plain.Warnings) {
			t.Fatalf("%d tools, warnings %v; plain %d, %v", len(got.Tools), got.Warnings, len(plain.Tools), plain.Warnings)
		}
		for i := range got.Tools {
			a, b := got.Tools[i], plain.Tools[i]
			a.Span, b.Span = Span{}, Span{}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("tool %d: %+v, plain %+v", i+1, a, b)
			}
		}
	})
}
