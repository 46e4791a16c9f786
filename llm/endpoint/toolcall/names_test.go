package toolcall

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/internal/wirejson"
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
		"SayTool": "SayTool", "workflow:skills/hum": "workflow_skills_hum_a3ada9", "workflow:skills_hum": "workflow_skills_hum_a32374", "old tool": "old_tool_d7b001",
		"": "_e3b0c4", "\u4f60\u597d": "___670d97", long + "1": long[:57] + "_5d023c", long + "2": long[:57] + "_4b2c4f",
	} {
		got := n.Wire(id)
		if got != want || n.ID(got) != id || seen[got] || len(got) > 64 {
			t.Errorf("%q travels as %q (want %q) and comes back as %q", id, got, want, n.ID(got))
		}
		seen[got] = true
	}
	if n.ID("unknown") != "unknown" || n.Wire("not:offered") != "not_offered_ad10be" {
		t.Error("names that were not offered change")
	}
	if none := Of(&protocol.ModelRequest{}); none.ID("x") != "x" || none.Wire("y/z") != "y_z_ba08c6" {
		t.Error("a request without tools")
	}
}

// Six digits are too few for 5,000 tools: two names that would be the same have eight, whichever
// comes first, and so has one that is the name of another tool.
func TestNamesThatMeet(t *testing.T) {
	byName := map[string]string{}
	var one, other string
	for i := 0; other == ""; i++ {
		id := fmt.Sprintf("x%s%d", strings.Repeat(":", 60), i)
		if one = byName[made(id, fewDigits)]; one != "" {
			other = id
		}
		byName[made(id, fewDigits)] = id
	}
	own := made("a.b", fewDigits)
	for _, ids := range [][]string{{one, other, "a.b", own}, {own, "a.b", other, one}} {
		n := namesOf(ids)
		for _, id := range ids {
			want := made(id, fewDigits+moreDigits)
			if id == own {
				want = own
			}
			if got := n.Wire(id); got != want || n.ID(got) != id {
				t.Errorf("%v: %q travels as %q (want %q) and comes back as %q", ids, id, got, want, n.ID(got))
			}
		}
	}
}

var accept = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Whatever tools there are: endpoints accept their names, no two tools have one name, each name leads back to its tool, an
// id that endpoints accept stays as it is, and no name depends on the order of the tools.
func TestNamesOfAnyTools(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`[ab:._]{0,3}`), rapid.StringMatching(`[a:_-]{62,66}`), rapid.String())
		ids := rapid.SliceOfN(id, 0, 12).Draw(r, "ids")
		for i := range ids { // names that are made are ids of others, too
			if rapid.IntRange(0, 3).Draw(r, "made") == 0 {
				ids = append(ids, made(ids[i], fewDigits+moreDigits*rapid.IntRange(0, 2).Draw(r, "digits")))
			}
		}
		n, again := namesOf(ids), namesOf(rapid.Permutation(ids).Draw(r, "order"))
		bearer := map[string]string{}
		for _, id := range ids {
			name := n.Wire(id)
			if known, taken := bearer[name]; taken && known != id || !accept.MatchString(name) || n.ID(name) != id || accept.MatchString(id) && name != id || again.Wire(id) != name {
				r.Fatalf("%q travels as %q, which leads to %q; %q has it, too; in another order %q", id, name, n.ID(name), known, again.Wire(id))
			}
			bearer[name] = id
		}
	})
}

func namesOf(ids []string) *Names {
	q := &protocol.ModelRequest{}
	for _, id := range ids {
		q.Tools = append(q.Tools, protocol.ToolSpec{Name: id})
	}
	n := Of(q)
	return &n
}

func TestCalls(t *testing.T) {
	n := namesOf([]string{"workflow:hum"})
	for text, want := range map[string]any{
		``: nil, `{}`: map[string]any{}, `{"bars": 2}`: map[string]any{"bars": int64(2)}, `null`: nil, "  \n": nil,
		`{bars: 2,}`: map[string]any{"bars": int64(2)}, "```json\n{\"bars\": 2}\n```": map[string]any{"bars": int64(2)},
		`{"bars": 2`: "broken", `{"bars": 9223372036854775808}`: "broken", `{"bars": 1e400}`: "broken", `[1]`: "broken", `7`: "broken", `bars`: "broken",
	} {
		c := n.Call(new(wirejson.Reader), "id", "workflow_hum_576731", text)
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
