package toolcall

import (
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	q := protocol.ModelRequest{
		Tools: []protocol.ToolSpec{
			{Name: "SayTool"}, {Name: "workflow:skills/hum"}, {Name: "workflow:skills_hum"}, {Name: "workflow:skills/hum"}, {Name: long + "1"}, {Name: long + "2"}, {Name: ""}, {Name: "\u4f60\u597d"},
		},
		Messages: []protocol.ModelMessage{{Calls: []protocol.Call{{Tool: "old tool"}, {Tool: "SayTool"}}}},
	}
	n := Of(&q)
	seen := map[string]bool{}
	for id, want := range map[string]string{
		"SayTool": "SayTool", "workflow:skills/hum": "wf_skills_hum", "workflow:skills_hum": "wf_skills_hum_2", "old tool": "old_tool", "": "tool", "\u4f60\u597d": "__",
		long + "1": long[:64], long + "2": long[:60] + "_2",
	} {
		got := n.Wire(id)
		if got != want || n.ID(got) != id || seen[got] || len(got) > 64 {
			t.Errorf("%q travels as %q (want %q) and comes back as %q", id, got, want, n.ID(got))
		}
		seen[got] = true
	}
	if n.ID("unknown") != "unknown" || n.Wire("not:offered") != "not_offered" {
		t.Error("names that were not offered change")
	}
	if none := Of(&protocol.ModelRequest{}); none.ID("x") != "x" || none.Wire("y/z") != "y_z" {
		t.Error("a request without tools")
	}
}

func TestCalls(t *testing.T) {
	n := Of(&protocol.ModelRequest{Tools: []protocol.ToolSpec{{Name: "workflow:hum"}}})
	for text, want := range map[string]any{
		``: nil, `{}`: map[string]any{}, `{"bars": 2}`: map[string]any{"bars": int64(2)}, `null`: nil, "  \n": nil,
		`{bars: 2,}`: map[string]any{"bars": int64(2)}, "```json\n{\"bars\": 2}\n```": map[string]any{"bars": int64(2)},
		`{"bars": 2`: "broken", `[1]`: "broken", `7`: "broken", `bars`: "broken",
	} {
		c := n.Call("id", "wf_hum", text)
		if c.Tool != "workflow:hum" || c.ID != "id" || c.Origin != protocol.OriginNative {
			t.Errorf("%+v", c)
		}
		if want == "broken" {
			if c.Broken != text || c.Params != nil {
				t.Errorf("%q is %v, broken %q", text, c.Params, c.Broken)
			}
		} else if got := any(c.Params); want == nil && c.Params != nil || want != nil && !reflect.DeepEqual(got, want) || c.Broken != "" {
			t.Errorf("%q is %#v (broken %q), want %#v", text, got, c.Broken, want)
		}
	}
	for _, ids := range [][]string{{"", "", ""}, {"a", "a", "b"}, {"call_2", "", "call_1"}, {"", "call_1", "call_2"}, {"call_1", "call_1", "call_1"}} {
		calls := make([]protocol.Call, len(ids))
		for i, id := range ids {
			calls[i].ID = id
		}
		Unique(calls)
		seen := map[string]bool{}
		for _, c := range calls {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("%v became %v", ids, calls)
			}
			seen[c.ID] = true
		}
	}
}
