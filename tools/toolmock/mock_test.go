package toolmock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

func read(t *testing.T, text string) *Mock {
	t.Helper()
	m, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parse(text string) (*Mock, error) {
	report := &source.Report{}
	doc := source.Parse("tools/mock.yaml", []byte(text), source.Limits{}, report)
	var m *Mock
	if doc != nil {
		m = Read(doc, report)
	}
	return m, report.Err()
}

func call(id string, params map[string]any) *tools.Call {
	x := &manifest.Tool{ID: id, Implementation: manifest.Implementation{Type: manifest.Service, Name: "x"}, Execution: manifest.Execution{Latency: "3s"}}
	x.Check()
	return &tools.Call{Tool: x, Params: params, Attempt: 1}
}

const script = `
rules:
  - match: {tool: "a/*", params: {town.name: [Rome, 7]}}
    answer: {output: {to: "{{.agent}} {{.turn}}", n: {$expr: "params.n + 1"}, list: ["{{.params.n}}", true], tool: "{{.tool}}"}}
    latency: {fixed: 1s}
  - match: {tool: [b, "c?"], agent: "x*", when: "params.n > 1"}
    answers: [{output: one}, {output: two}]
  - match: {tool: d, when: "attempt <= 2"}
    answer: {fail: transient, message: "no {{.attempt}}"}
  - match: {tool: d}
    answer: third
  - match: {tool: e}
    answer: {output: 1}
    failures: {timeout: 1}
  - match: {tool: f}
    answer: {fail: denied}
  - match: {tool: g, when: "params.missing.field > 1"}
    answer: x
  - match: {tool: h, chance: 0.5}
    answer: heads
otherwise: {output: {none: true}}
`

// Promise 1: and what each part of a rule means.
func TestRules(t *testing.T) {
	m := read(t, script)
	for _, c := range []struct {
		tool    string
		params  map[string]any
		agent   string
		retries int
		want    string
		latency time.Duration
	}{
		{"a/b", map[string]any{"town": map[string]any{"name": "Rome"}, "n": int64(4)}, "x", 0, "ok map[list:[4 true] n:5 to:x 9 tool:a/b]", time.Second},
		{"a/b", map[string]any{"town": map[string]any{"name": int64(7)}, "n": int64(4)}, "x", 0, "ok map[list:[4 true] n:5 to:x 9 tool:a/b]", time.Second},
		{"a/b", map[string]any{"town": map[string]any{"name": "Oslo"}}, "x", 0, "ok map[none:true]", 3 * time.Second},
		{"c1", map[string]any{"n": int64(2)}, "xy", 0, "ok one|ok two", 3 * time.Second},
		{"c12", map[string]any{"n": int64(2)}, "xy", 0, "ok map[none:true]", 3 * time.Second},
		{"b", map[string]any{"n": int64(2)}, "y", 0, "ok map[none:true]", 3 * time.Second},
		{"d", nil, "x", 0, "error transient no 1", 3 * time.Second},
		{"e", nil, "x", 5, "unknown unknown_outcome no answer within 30s; it may have been carried out, and must not be repeated", 30 * time.Second},
		{"f", nil, "x", 3, "denied denied as the mock says", 3 * time.Second},
		{"g", nil, "x", 0, "error invalid mock: rule 7", 3 * time.Second},
		{"h", nil, "x", 0, "ok heads|ok map[none:true]", 3 * time.Second},
	} {
		by := Asked{Agent: c.agent, Turn: 9, Draw: protocol.NewDraw(4)}
		r := m.Simulate(call(c.tool, c.params), by, tools.Options{Retries: c.retries, Draw: by.Draw})
		said := fmt.Sprint(r.Status, " ", r.Output)
		if r.Error != nil {
			said = fmt.Sprint(r.Status, " ", r.Error.Kind, " ", r.Error.Message)
		}
		fits := false
		for w := range strings.SplitSeq(c.want, "|") {
			fits = fits || strings.HasPrefix(said, w)
		}
		if !fits || r.Meta.Latency.Std() != c.latency {
			t.Errorf("%s %v: %s after %s, want %s after %s", c.tool, c.params, said, r.Meta.Latency.Std(), c.want, c.latency)
		}
		if again := m.Simulate(call(c.tool, c.params), by, tools.Options{Retries: c.retries, Draw: by.Draw}); fmt.Sprint(again.Output, again.Meta) != fmt.Sprint(r.Output, r.Meta) {
			t.Errorf("%s: %+v, then %+v", c.tool, r, again)
		}
	}
	free := call("d", nil)
	free.Tool.Execution.Repeat = manifest.Free
	if r := m.Simulate(free, Asked{}, tools.Options{Retries: 2}); r.Output != "third" || r.Meta.Attempts != 3 || r.Meta.Latency.Std() < 9*time.Second+480*time.Millisecond {
		t.Errorf("%+v", r)
	}
	seen := map[string]int{}
	for i := range 200 {
		r := m.Simulate(call("h", nil), Asked{Draw: protocol.NewDraw(uint64(i))}, tools.Options{})
		seen[fmt.Sprint(r.Output)]++
	}
	if seen["heads"] < 60 || seen["heads"] > 140 {
		t.Error(seen)
	}
	if r := read(t, "rules: []").Simulate(call("x", nil), Asked{}, tools.Options{}); r.Error == nil || r.Error.Kind != protocol.KindUnknown {
		t.Errorf("%+v", r)
	}
}

// Promise 2.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{answer: x, answers: [y]}]":               "mock.yaml:1:9: rules[0]: want answer, or answers",
		"rules: [{match: {tool: x}}]":                      "rules[0]: want answer, or answers",
		"rules: [{answer: x, match: {when: 'params.'}}]":   "rules[0].match.when: the expression does not compile",
		"rules: [{answer: x, match: {when: 'world.x'}}]":   "rules[0].match.when: the expression does not compile",
		"rules: [{answer: {output: '{{.world}}'}}]":        "rules[0].answer.output",
		"rules: [{answer: {output: {a: {$expr: '1 +'}}}}]": "rules[0].answer.output.a.$expr: the expression",
		"rules: [{answer: {output: 1, fail: timeout}}]":    "rules[0].answer.fail: an answer that fails",
		"rules: [{answer: {fail: sad}}]":                   "rules[0].answer.fail: \"sad\" is not allowed",
		"rules: [{answer: x, latency: {min: 2s}}]":         "rules[0].latency: want fixed, or min and max",
		"failures: {transient: 0.6, timeout: 0.6}":         "failures: the probabilities add up",
		"rules: [{answer: x, match: {tool: '[a'}}]":        "rules[0].match: \"[a\" is no pattern",
		"rules: [{answer: x, wait: 1s}]":                   "wait",
	} {
		if m, err := parse(text); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(script)
	f.Add("<<:") // a fault of the document, of which Read knows nothing
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parse(text)
		if m == nil && err == nil {
			t.Fatal("neither a mock nor a fault")
		}
		if m != nil {
			m.Simulate(call("a/b", map[string]any{"n": int64(1)}), Asked{}, tools.Options{Retries: 2})
		}
	})
}
