package toolsxml

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// planTools makes tools from words: c command, i input, k ctrl, g get_value,
// r:path read, e:path edit; "!" in front for a tool that does not run.
func planTools(words string) []Tool {
	var tools []Tool
	for i, w := range strings.Fields(words) {
		t := Tool{Index: i + 1, Executable: true}
		if rest, ok := strings.CutPrefix(w, "!"); ok {
			w, t.Executable = rest, false
		}
		t.Type = map[byte]Type{'c': Command, 'i': Input, 'k': Ctrl, 'g': GetValue, 'r': Read, 'e': Edit}[w[0]]
		if len(w) > 2 {
			for p := range strings.SplitSeq(w[2:], ",") {
				t.Files = append(t.Files, File{Src: p})
			}
		}
		tools = append(tools, t)
	}
	return tools
}

func TestX14Plan(t *testing.T) {
	for _, c := range []struct{ tools, want string }{
		{"c i k", "1[] 2[1] 3[2]"},
		{"r:a r:a r:b", "1[] 2[] 3[]"},
		{"e:a e:b e:a", "1[] 2[] 3[1]"},
		{"e:a r:a r:b", "1[] 2[1] 3[]"},
		{"r:a e:a", "1[] 2[1]"},
		{"c r:a e:b", "1[] 2[1] 3[1]"},
		{"r:a e:b c", "1[] 2[] 3[1 2]"},
		{"c e:a r:a c r:b", "1[] 2[1] 3[2] 4[1 2 3] 5[4]"},
		{"i r:a", "1[] 2[1]"},
		{"e:a k r:a", "1[] 2[1] 3[2]"},
		{"c i r:a", "1[] 2[1] 3[2]"},
		{"g c r:a g", "1[] 2[] 3[2] 4[]"},
		{"e:a !c r:b", "1[] 3[]"},
		{"e:src/a r:src", "1[] 2[1]"},
		{"e:src/a r:src2", "1[] 2[]"},
		{"e:./a e:a", "1[] 2[1]"},
		{"e:a/../b e:b", "1[] 2[1]"},
		{"e:A e:a", "1[] 2[1]"},
		{"e:src/a e:a", "1[] 2[]"},
		{"e:/w/src/a e:src/a", "1[] 2[1]"},
		{"e:/w/src/b e:src/a", "1[] 2[]"},
		{"e:../x/a e:a", "1[] 2[1]"},
		{"e:src/a r:/w", "1[] 2[1]"},
		{"e:a r:.", "1[] 2[1]"},
		{"e:$KARYI{D}/a e:b", "1[] 2[1]"},
		{"e:~/a e:b", "1[] 2[1]"},
		{"e:a,b e:c,b", "1[] 2[1]"},
	} {
		if got := planText(Plan(planTools(c.tools))); got != c.want {
			t.Errorf("%s: %s; want %s", c.tools, got, c.want)
		}
	}
}

func planText(steps []Step) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprintf("%d%v", s.Index, s.After))
	}
	return strings.Join(words, " ")
}

// TestX14PlanProperty: whatever runs, the terminal's tools are in order, two
// tools on one file of which one edits are in order, and a tool of the terminal is
// in order with every file tool.
func TestX14PlanProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"c", "i", "k", "g", "r:a", "r:b,a", "e:a", "e:b", "e:c/d", "r:c", "!c", "!e:a"}), 0, 14).Draw(t, "tools")
		tools := planTools(strings.Join(words, " "))
		waits := map[[2]int]bool{} // transitive
		for _, s := range Plan(tools) {
			for _, a := range s.After {
				waits[[2]int{s.Index, a}] = true
				for b := 1; b < a; b++ {
					if waits[[2]int{a, b}] {
						waits[[2]int{s.Index, b}] = true
					}
				}
			}
		}
		for i, a := range tools {
			for _, b := range tools[i+1:] {
				if ordered := waits[[2]int{b.Index, a.Index}]; a.Executable && b.Executable && mustWait(a, b) && !ordered {
					t.Fatalf("%d (%s) does not wait for %d (%s)", b.Index, b.Type, a.Index, a.Type)
				} else if ordered && a.Type == Read && b.Type == Read && !between(tools, a.Index, b.Index) {
					t.Fatalf("reads %d and %d are ordered for no reason", a.Index, b.Index)
				}
			}
		}
	})
}

func mustWait(a, b Tool) bool {
	pty := func(t Tool) bool { return t.Type == Command || t.Type == Input || t.Type == Ctrl }
	files := func(t Tool) bool { return t.Type == Read || t.Type == Edit }
	switch {
	case pty(a) && pty(b):
		return true
	case pty(a) && files(b), files(a) && pty(b):
		return true
	case files(a) && files(b) && (a.Type == Edit || b.Type == Edit):
		for _, x := range a.Files {
			for _, y := range b.Files {
				if x.Src == y.Src || strings.HasPrefix(x.Src, y.Src+"/") || strings.HasPrefix(y.Src, x.Src+"/") {
					return true
				}
			}
		}
	}
	return false
}

// between tells whether another tool stands between two.
func between(tools []Tool, a, b int) bool {
	for _, t := range tools[a : b-1] {
		if t.Executable && t.Type != Read && t.Type != GetValue {
			return true
		}
	}
	return false
}
