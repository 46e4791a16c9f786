package answer

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// block is a TAM block of one command with a parameter.
func block(value string) string {
	return "<|[REQUEST_TOOL]|>\ncommand:»»»X«««\np:»»»" + value + "«««\n<|[END_TOOL]|>\n"
}

// Promises 2 to 4: what is a call is not in the text, what was meant as one is a problem,
// what was cut does not run, and what is quoted in a call belongs to it.
func TestRead(t *testing.T) {
	const root = "<tools><ctrl>c</ctrl></tools>"
	for name, c := range map[string]struct {
		text   string
		finish protocol.FinishReason
		said   string
		calls  string
		faults int // problems at least
	}{
		"prose":                         {"a <b> c", "", "a <b> c", "", 0},
		"both":                          {"a\n" + block("1") + "b\n" + root + "\nc", "", "a b c", "X ctrl", 0},
		"the other way round":           {"a\n" + root + "\nb\n" + block("1") + "c", "", "a b c", "ctrl X", 0},
		"a block without a tool":        {"a\n<|[REQUEST_TOOL]|>\np:»»»1«««\n<|[END_TOOL]|>\nb", "", "a b", "", 1},
		"an unknown tag":                {"a <tools><shout>x</shout></tools> b", "", "a b", "", 1},
		"a root in escaped JSON":        {`{"tools":"\u003ctools\u003e\u003cctrl\u003ec\u003c/ctrl\u003e\u003c/tools\u003e"}`, "", "", "ctrl", 0},
		"a block that was cut":          {"a\n" + block("1") + "<|[REQUEST_TOOL]|>\ncommand:»»»Y«««\np:»»»un", protocol.FinishLength, "a", "X", 1},
		"a root that was cut":           {"a\n<tools><ctrl>c</ctrl><command>npm te", protocol.FinishLength, "a", "", 1},
		"a block cut behind a call":     {"a\n<|[REQUEST_TOOL]|>\ncommand:»»»Y«««\n", protocol.FinishLength, "a", "", 1},
		"a block that lacks its end":    {"a\n<|[REQUEST_TOOL]|>\ncommand:»»»Y«««\n", protocol.FinishStop, "a", "Y", 0},
		"a root cut behind a call":      {"a\n<tools><ctrl>c</ctrl>", protocol.FinishLength, "a", "", 1},
		"a root that lacks its end":     {"a\n<tools><ctrl>c</ctrl>", protocol.FinishStop, "a", "ctrl", 1},
		"a root quoted in a block":      {"a\n" + block(root) + "b", "", "a b", "X", 0},
		"a root quoted behind a root":   {root + "\na\n" + block("say "+root) + "b", "", "a b", "ctrl X", 0},
		"a block quoted behind a block": {"a\n" + block("1") + "<tools><command>cat <<E\n" + block("say 2") + "E\n</command></tools> b", "", "a b", "X command", 0},
		"half a block in a root":        {"<tools><command>grep '<|[REQUEST_TOOL]|>' a; echo '<think>'</command></tools> a\n" + block("1"), "", "a", "command X", 0},
		"half a root in a block":        {block("<think> <tools><command>") + "a <tools><ctrl>d</ctrl></tools>", "", "a", "X ctrl", 0},
		"a root among fields":           {root + " <|[REQUEST_TOOL]|>\nP```\n{p:»»»" + root + " command:»»»Y«««", "", "", "ctrl ctrl", 1},
		"a tool without a root":         {"a <command>ls</command> b", "", "a <command>ls</command> b", "", 1},
		"a tool without a root, quoted": {"a\n" + block("<command>ls</command>") + "b", "", "a b", "X", 0},
		"a page":                        {"a <b>b</b> c", "", "a <b>b</b> c", "", 0},
		"a block quoted in a root":      {"a <tools><command>" + block("1") + "</command></tools> b", "", "a b", "command", 0},
	} {
		a := Read(c.text, c.finish)
		var calls []string
		for _, call := range a.Calls {
			calls = append(calls, call.Tool)
		}
		if got := strings.Join(strings.Fields(a.Text), " "); got != c.said {
			t.Errorf("%s: the text is %q, want %q", name, got, c.said)
		}
		if got := strings.Join(calls, " "); got != c.calls {
			t.Errorf("%s: calls %s, want %s", name, got, c.calls)
		}
		if len(a.Problems) < c.faults || c.faults == 0 && len(a.Problems) > 0 {
			t.Errorf("%s: problems %q", name, a.Problems)
		}
		if quoting := fmt.Sprint(a.Calls); strings.Contains(name, "quoted") && !strings.Contains(quoting, "</") && !strings.Contains(quoting, "REQUEST_TOOL") {
			t.Errorf("%s: the call lost what it quotes: %s", name, quoting)
		}
	}
}

// Promise 4: problems stand where they are in the answer, also behind calls of the other grammar, and a bounded part of an answer that
// changes between the grammars all the time is read.
func TestBothGrammars(t *testing.T) {
	a := Read("a\n"+block("1")+"<tools><shout>x</shout></tools>\n<tools><ctrl>c</ctrl></tools>\n<|[REQUEST_TOOL]|>\np:»»»1«««\n<|[END_TOOL]|>\n", "")
	if got := strings.Join(a.Problems, "\n"); !strings.Contains(got, "toolsxml: line 6, ") || !strings.Contains(got, "line 8, ") {
		t.Errorf("problems:\n%s", got)
	}
	const one = "<tools><ctrl>c</ctrl></tools>\n"
	a = Read(strings.Repeat(block("1")+one, 100), "")
	if n := len(a.Calls); n != maxTurns || len(a.Problems) != 1 {
		t.Errorf("%d calls, %q", n, a.Problems)
	}
	if a = Read(strings.Repeat(block("1")+block("2"), 100)+strings.Repeat(one, 100), ""); len(a.Calls) < 200 || a.Text != "" {
		t.Errorf("%d calls, %q", len(a.Calls), a.Text)
	}
	every := ""
	for c := range byte(0x20) {
		every += string(rune(c))
	}
	if a = Read(one+every+"b\n"+block("1"), ""); len(a.Calls) != 2 || !strings.Contains(a.Text, "b") {
		t.Errorf("%+v", a)
	}
}

// Promise 1: any text gives an answer, and the same one again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"a", block("1"), "<tools><ctrl>c</ctrl></tools>", "<tools><command>" + block("1"), "<|[REQUEST_TOOL]|>\n<tools>"} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		finish := protocol.FinishStop
		if cut {
			finish = protocol.FinishLength
		}
		if a, b := Read(text, finish), Read(text, finish); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v, then %+v", a, b)
		}
	})
}
