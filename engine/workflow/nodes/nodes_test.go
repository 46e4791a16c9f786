package nodes_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/engine/template"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// one runs a workflow of a single node whose literals are its inputs, and
// returns every output that the node has, as JSON; or the fault or failure.
// Promises 1 and 2: two runs of the one plan at a time come to the same.
func one(t *testing.T, node string, outputs ...string) string {
	t.Helper()
	return oneDrawn(t, protocol.NewDraw(1), node, outputs...)
}

func oneDrawn(t *testing.T, draw protocol.Draw, node string, outputs ...string) string {
	t.Helper()
	var n workflow.Node
	dec := json.NewDecoder(strings.NewReader(node))
	dec.UseNumber()
	if err := dec.Decode(&n); err != nil {
		t.Fatalf("%s: %v", node, err)
	}
	n.ID = "n"
	def := &workflow.Definition{ID: "w", InterfaceOutputs: map[string]workflow.Port{}, Nodes: []workflow.Node{n, {ID: "out", Type: workflow.TypeGroupOutput}}}
	for _, o := range outputs {
		def.InterfaceOutputs["_"+o] = workflow.Port{}
		def.Edges = append(def.Edges, workflow.Edge{Source: "n", SourceHandle: o, Target: "out", TargetHandle: "_" + o})
	}
	plan, faults := workflow.Compile(def, workflow.Options{Kinds: nodes.Standard(nodes.Options{ParseTAM: parseTAM, Tools: agent.ToolSpecs()})})
	if len(faults) > 0 {
		text := "fault"
		for _, f := range faults {
			text += " " + f.Pointer() + " " + f.Message + ";"
		}
		return text
	}
	beside := make(chan string)
	go func() { beside <- played(plan, draw) }()
	got := played(plan, draw)
	if other := <-beside; other != got {
		t.Errorf("%s\none run %s\nand one beside it %s", node, got, other)
	}
	return got
}

// played runs a plan and returns its outputs as JSON, or the failure.
func played(plan *workflow.Plan, draw protocol.Draw) string {
	var run workflow.Run
	if err := run.Start(plan, nil, workflow.Env{Draw: draw}); err != nil {
		return err.Error()
	}
	run.Advance(workflow.HostFunc(answer))
	for _, f := range run.Failures() {
		return "failed " + string(protocol.KindOf(f.Err)) + ": " + f.Err.Error()
	}
	out := map[string]any{}
	for name, v := range run.Outputs(map[string]any{}) {
		out[name[1:]] = v
	}
	return string(template.AppendJSON(nil, out))
}

func answer(q *workflow.Request) (workflow.Answer, bool) {
	if q.Ask == workflow.AskModel {
		last := q.Model.Messages[len(q.Model.Messages)-1].Text
		return workflow.Answer{Model: protocol.ModelAnswer{Text: last, Model: "m", Finish: protocol.FinishStop, Reasoning: "because",
			Usage: protocol.Usage{Input: 3, Output: 4}, Calls: []protocol.Call{{ID: "c", Tool: "t", Params: map[string]any{"a": int64(1)}}}}}, true
	}
	return workflow.Answer{Result: protocol.CallResult{Status: protocol.CallOK, Output: map[string]any{"tool": q.Call.Tool, "params": q.Call.Params}}}, true
}

func parseTAM(text string, _ protocol.FinishReason) nodes.Parsed {
	return nodes.Parsed{Text: " " + text + "\n", Problems: []string{"a problem"}, Calls: []protocol.Call{{Tool: "t", Index: 2, Retry: 1,
		RequestID: "r", OnError: protocol.OnErrorContinue, Origin: protocol.OriginTAM, URIs: map[string]string{"f": "fam://x"}, TypeHints: map[string]string{"f": "json"}}}}
}

// Promise 3: what does not compile is a fault with the node and the field.
func TestKinds(t *testing.T) {
	for _, c := range []struct{ node, outputs, want string }{
		{`{"type": "Constant", "configValues": {"value": {"a": [1, 2.5]}}}`, "value", `{"value":{"a":[1,2.5]}}`},
		{`{"type": "Constant", "configValues": {"value": null}}`, "value", `{"value":null}`},
		{`{"type": "Constant"}`, "value", `fault /nodes/0/configValues/value is missing;`},

		{`{"type": "TextTemplate", "configValues": {"template": "{{.a}} {{.b}} {{.c}}"}, "inputValues": {"a": "x", "b": [1, "y"], "c": 2.5}}`, "text variables",
			`{"text":"x [1,\"y\"] 2.5","variables":{"a":"x","b":[1,"y"],"c":2.5}}`},
		{`{"type": "TextTemplate", "configValues": {"template": "{{.a"}}`, "text", `fault /nodes/0/configValues/template template: n:1: unclosed action;`},
		{`{"type": "TextTemplate", "configValues": {"template": 3}}`, "text", `fault /nodes/0/configValues/template want text, got 3;`},
		{`{"type": "TextMerge", "inputValues": {"texts": ["a", "", 3]}}`, "text", `{"text":"a\n\n3"}`},
		{`{"type": "TextMerge", "configValues": {"separator": "-", "keepEmpty": true}, "inputValues": {"texts": ["a", "", "b"]}}`, "text", `{"text":"a--b"}`},

		{`{"type": "ParseJSON", "inputValues": {"text": "{\"a\": 1}"}}`, "value warnings", `{"value":{"a":1},"warnings":[]}`},
		{`{"type": "ParseJSON", "configValues": {"expect": "array"}, "inputValues": {"text": "{}"}}`, "value", `failed invalid: the text holds OBJECT; want ARRAY`},
		{`{"type": "ParseJSON", "inputValues": {"text": "no"}}`, "value", `failed invalid: no JSON in the text "no"`},

		{`{"type": "Get", "configValues": {"path": "a[1].b"}, "inputValues": {"from": {"a": [0, {"b": "c"}]}}}`, "value found", `{"found":true,"value":"c"}`},
		{`{"type": "Get", "configValues": {"path": "[\"a.b\"].0"}, "inputValues": {"from": {"a.b": [7]}}}`, "value", `{"value":7}`},
		{`{"type": "Get", "configValues": {"path": ""}, "inputValues": {"from": 7}}`, "value", `{"value":7}`},
		{`{"type": "Get", "configValues": {"path": "x"}, "inputValues": {"from": {}}}`, "value found", `failed not_found: there is nothing at "x"`},
		{`{"type": "Get", "configValues": {"path": "x", "onMissing": "skip"}, "inputValues": {"from": {}}}`, "value found", `{"found":false}`},
		{`{"type": "Get", "configValues": {"path": "x", "onMissing": "null"}, "inputValues": {"from": {}}}`, "value found", `{"found":false,"value":null}`},
		{`{"type": "Get", "configValues": {"path": "x", "default": 3}, "inputValues": {"from": {}}}`, "value", `{"value":3}`},
		{`{"type": "Get", "configValues": {"path": "x", "type": "INTEGER"}, "inputValues": {"from": {"x": "41"}}}`, "value", `{"value":41}`},
		{`{"type": "Get", "configValues": {"path": "x", "type": "INTEGER"}, "inputValues": {"from": {"x": "y"}}}`, "value", `failed invalid: want INTEGER, got the text "y"`},
		{`{"type": "Get", "inputValues": {"from": {"a": 1}, "path": "a"}}`, "value", `{"value":1}`},
		{`{"type": "Get", "configValues": {"path": "a..b"}, "inputValues": {"from": 1}}`, "value", `fault /nodes/0/configValues/path path "a..b": an empty part;`},
		{`{"type": "Get", "configValues": {"path": "a."}, "inputValues": {"from": 1}}`, "value", `fault /nodes/0/configValues/path path "a.": ends in a dot;`},
		{`{"type": "Get", "configValues": {"path": "a[1"}, "inputValues": {"from": 1}}`, "value", `fault /nodes/0/configValues/path path "a[1": [ without ];`},

		{`{"type": "MakeObject", "inputValues": {"b": 1, "a": null}}`, "object", `{"object":{"a":null,"b":1}}`},
		{`{"type": "MakeList", "inputValues": {"items": [1, [2]]}}`, "list", `{"list":[1,[2]]}`},
		{`{"type": "MakeList", "configValues": {"flatten": true}, "inputValues": {"items": [1, [2, 3]]}}`, "list", `{"list":[1,2,3]}`},
		{`{"type": "MakeList"}`, "list", `{"list":[]}`},

		{`{"type": "Branch", "inputValues": {"condition": "", "value": 1}}`, "true false", `{"false":1}`},
		{`{"type": "Branch", "configValues": {"expression": "x > 1"}, "inputValues": {"x": 2, "value": 1}}`, "true false", `{"true":1}`},
		{`{"type": "Branch", "configValues": {"expression": "y > 1"}, "inputValues": {"x": 2}}`, "true", `fault /nodes/0/configValues/expression expr: line 1, column 1: unknown name "y"; did you mean "x"?;`},
		{`{"type": "Switch", "configValues": {"cases": ["1", "b"]}, "inputValues": {"on": 1, "value": "v"}}`, "1 b default", `{"1":"v"}`},
		{`{"type": "Switch", "configValues": {"cases": ["a"]}, "inputValues": {"on": " z ", "value": "v"}}`, "a default", `{"default":"v"}`},
		{`{"type": "Switch", "configValues": {"cases": ["a", "a"]}, "inputValues": {"on": 1}}`, "", `fault /nodes/0/configValues/cases case "a": the name is empty, reserved or there twice;`},
		{`{"type": "Switch", "inputValues": {"on": 1}}`, "", `fault /nodes/0/configValues/cases there are no cases;`},
		{`{"type": "Select", "inputValues": {"candidates": [null, 2]}}`, "value", `{"value":null}`},
		{`{"type": "Select", "configValues": {"skipNull": true}, "inputValues": {"candidates": [null, 2]}}`, "value", `{"value":2}`},

		{`{"type": "Math", "configValues": {"expression": "a * 2"}, "inputValues": {"a": 3}}`, "result", `{"result":6}`},
		{`{"type": "Math", "configValues": {"expression": "a / 2", "type": "INTEGER"}, "inputValues": {"a": 3}}`, "result", `failed invalid: want INTEGER, got 1.5`},
		{`{"type": "Math", "configValues": {"expression": "a / 0"}, "inputValues": {"a": 3}}`, "result", `failed`},
		{`{"type": "Expression", "configValues": {"expression": "[a, 'x']"}, "inputValues": {"a": 3}}`, "value", `{"value":[3,"x"]}`},
		{`{"type": "Expression", "configValues": {"expression": "a", "type": "OBJECT"}, "inputValues": {"a": 3}}`, "value", `failed invalid: want OBJECT, got 3`},

		{`{"type": "Random", "inputValues": {"min": 5, "max": 4}}`, "value", `failed invalid: max 4 is below min 5`},
		{`{"type": "Random", "inputValues": {"min": 0.2, "max": 0.8}}`, "value", `failed invalid: no whole number from 0.2 to 0.8`},
		{`{"type": "Random", "inputValues": {"min": 1e300, "max": 2e300}}`, "value", `failed invalid: bounds beyond 2^53`},
		{`{"type": "Random", "configValues": {"mode": "float"}, "inputValues": {"min": -1.7e308, "max": 1.7e308}}`, "value", `failed invalid: max 1.7e+308 is too far from min -1.7e+308`},
		{`{"type": "Random", "configValues": {"mode": "pick"}, "inputValues": {"list": []}}`, "value", `failed invalid: nothing to pick from: the list is empty`},
		{`{"type": "Random", "configValues": {"mode": "chance"}, "inputValues": {"probability": 1}}`, "value", `{"value":true}`},
		{`{"type": "Random", "configValues": {"mode": "chance"}, "inputValues": {"probability": 0}}`, "value", `{"value":false}`},
		{`{"type": "Random", "configValues": {"mode": "dice"}}`, "value", `fault /nodes/0/configValues/mode "dice" is not offered;`},

		{`{"type": "LLMCompletion", "inputValues": {"prompt": "hi"}}`, "text calls reasoning finish usage model",
			`{"calls":[{"id":"c","params":{"a":1},"tool":"t"}],"finish":"stop","model":"m","reasoning":"because","text":"hi","usage":{"cacheRead":0,"cacheWrite":0,"estimated":false,"input":3,"output":4,"reasoning":0}}`},
		{`{"type": "LLMCompletion", "configValues": {"json": true}, "inputValues": {"prompt": "[1]"}}`, "json text", `{"json":[1],"text":"[1]"}`},
		{`{"type": "LLMCompletion", "configValues": {"json": true}, "inputValues": {"prompt": "x"}}`, "json", `failed transient: the model's answer is no JSON: no JSON in the text "x"`},
		{`{"type": "LLMCompletion", "inputValues": {"prompt": ""}}`, "text", `failed invalid: the prompt is empty and there are no messages`},
		{`{"type": "LLMCompletion", "inputValues": {"messages": [{"role": "me", "text": "x"}]}}`, "text", `failed invalid: message 0: role "me": want system, user, assistant or tool`},
		{`{"type": "LLMCompletion", "inputValues": {"messages": ["x"]}}`, "text", `failed invalid: message 0: want an object with role and text, got STRING`},
		{`{"type": "LLMCompletion", "inputValues": {"prompt": "x", "tools": [{}]}}`, "text", `failed invalid: tool 0: want an object with name (or id), description and parameters`},
		{`{"type": "LLMCompletion", "inputValues": {"prompt": "x", "tools": [{"name": "a"}, {"name": "b"}, {"id": "a"}]}}`, "text", `failed invalid: tool 2: the list has "a" already; servers take each name once`},
		{`{"type": "LLMCompletion", "configValues": {"temperature": 9}, "inputValues": {"prompt": "x"}}`, "text", `fault /nodes/0/configValues/temperature 9; want 0 to 2;`},
		{`{"type": "LLMCompletion", "inputValues": {"prompt": "x"}}`, "json", `fault /edges/0/sourceHandle LLMCompletion "n" has no output "json";`},

		{`{"type": "TAMParse", "inputValues": {"text": "say"}}`, "text calls problems",
			`{"calls":[{"index":2,"onError":"continue","origin":"tam","params":{},"requestId":"r","retry":1,"tool":"t","typeHints":{"f":"json"},"uris":{"f":"fam://x"}}],"problems":["a problem"],"text":"say"}`},

		{`{"type": "CallTool", "configValues": {"tool": "t"}, "inputValues": {"a": null, "params": {"a": 1, "b": 2}}}`, "result status", `{"result":{"params":{"a":null,"b":2},"tool":"t"},"status":"ok"}`},
		{`{"type": "CallTool", "configValues": {"tool": "t"}, "inputValues": {"tool": "u"}}`, "result", `{"result":{"params":{},"tool":"u"}}`},
		{`{"type": "CallTool"}`, "result", `fault /nodes/0 the required input "tool" has no value;`},
		{`{"type": "UpdatePrivateState", "inputValues": {"path": "a", "value": null}}`, "result", `{"result":{"params":{"path":"a","value":null},"tool":"UpdatePrivateStateTool"}}`},
		{`{"type": "UpdatePrivateState", "inputValues": {"pat": "a"}}`, "result", `fault /nodes/0/inputValues/pat UpdatePrivateState has no input of this name;`},
	} {
		got := one(t, c.node, strings.Fields(c.outputs)...)
		if c.want == "failed" && strings.HasPrefix(got, "failed") {
			continue
		}
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.node, got, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		op, a, b, want string
	}{
		{"eq", `1`, `1.0`, "true"}, {"eq", `{"a": [1]}`, `{"a": [1]}`, "true"}, {"eq", `"1"`, `1`, "false"}, {"ne", `null`, `1`, "true"},
		{"lt", `1`, `2.5`, "true"}, {"lt", `"a"`, `"b"`, "true"}, {"le", `2`, `2`, "true"}, {"gt", `2`, `2`, "false"}, {"ge", `2`, `2`, "true"},
		{"gt", `9007199254740993`, `9007199254740992`, "true"}, {"lt", `1`, `"2"`, "failed invalid: lt: cannot order 1 and the text \"2\"; want two numbers or two texts"},
		{"contains", `["a", 1]`, `1.0`, "true"}, {"contains", `{"k": null}`, `"k"`, "true"}, {"contains", `"hello"`, `"ell"`, "true"}, {"contains", `3`, `3`, "failed"},
		{"in", `"a"`, `["b"]`, "false"}, {"in", `"a"`, `["a"]`, "true"}, {"startsWith", `"hello"`, `"he"`, "true"}, {"endsWith", `"hello"`, `"lo"`, "true"},
		{"endsWith", `"hello"`, `1`, "failed"}, {"exists", `0`, ``, "true"}, {"exists", `null`, ``, "false"}, {"empty", `[]`, ``, "true"}, {"empty", `"x"`, ``, "false"},
		{"matches", `"herb 12"`, `\\d+$`, "true"}, {"matches", `"herb"`, `\\d+$`, "false"}, {"matches", `1`, `x`, "failed"},
	} {
		node := `{"type": "Compare", "configValues": {"op": "` + c.op + `"}, "inputValues": {"a": ` + c.a + `, "b": ` + c.b + `}}`
		if c.b == "" {
			node = `{"type": "Compare", "configValues": {"op": "` + c.op + `"}, "inputValues": {"a": ` + c.a + `}}`
		}
		if c.op == "matches" {
			node = `{"type": "Compare", "configValues": {"op": "matches", "pattern": "` + c.b + `"}, "inputValues": {"a": ` + c.a + `}}`
		}
		got := one(t, node, "result")
		if got != `{"result":`+c.want+`}` && !(strings.HasPrefix(c.want, "failed") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s\ngot  %s\nwant %s", node, got, c.want)
		}
	}
	if got := one(t, `{"type": "Compare", "configValues": {"expression": "a.length > 2"}, "inputValues": {"a": "abc"}}`, "result"); got != `{"result":true}` {
		t.Error(got)
	}
	if got := one(t, `{"type": "Compare", "configValues": {"op": "matches", "pattern": "("}}`, "result"); !strings.HasPrefix(got, "fault /nodes/0/configValues/pattern") {
		t.Error(got)
	}
}

// TestRandomStaysInBounds: both ends are drawn, nothing beyond; equal streams
// give equal numbers.
func TestRandomStaysInBounds(t *testing.T) {
	seen := map[string]int{}
	for i := range uint64(400) {
		d := protocol.NewDraw(5, i)
		node := `{"type": "Random", "inputValues": {"min": -1, "max": 2.5}}`
		v := oneDrawn(t, d, node, "value")
		if v != oneDrawn(t, d, node, "value") {
			t.Fatal("the same stream gave two numbers")
		}
		seen[v]++
		f := oneDrawn(t, d, `{"type": "Random", "configValues": {"mode": "float"}, "inputValues": {"min": 2, "max": 3}}`, "value")
		if !strings.HasPrefix(f, `{"value":2`) {
			t.Fatalf("float %s is not in [2, 3)", f)
		}
		s := oneDrawn(t, d, `{"type": "Random", "configValues": {"mode": "shuffle"}, "inputValues": {"list": [1, 2, 3]}}`, "value")
		seen[s]++
	}
	want := []string{`{"value":-1}`, `{"value":0}`, `{"value":1}`, `{"value":2}`,
		`{"value":[1,2,3]}`, `{"value":[1,3,2]}`, `{"value":[2,1,3]}`, `{"value":[2,3,1]}`, `{"value":[3,1,2]}`, `{"value":[3,2,1]}`}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("drew %v, want %v", got, want)
	}
	for v, n := range seen {
		if n < 30 {
			t.Errorf("%s came %d times of 400", v, n)
		}
	}
}

func TestReadCallTakesWhatModelsWrite(t *testing.T) {
	for _, v := range []map[string]any{
		{"tool": "t", "params": map[string]any{"a": int64(1)}},
		{"name": "t", "arguments": map[string]any{"a": int64(1)}},
		{"toolName": "t", "parameters": map[string]any{"a": int64(1)}},
		{"command": "t", "params": map[string]any{"a": int64(1)}},
	} {
		c, err := callvalue.Read(v)
		if err != nil || c.Tool != "t" || !protocol.Equal(c.Params, map[string]any{"a": int64(1)}) {
			t.Errorf("%v: %+v %v", v, c, err)
		}
	}
	for _, v := range []any{nil, "t", map[string]any{}, map[string]any{"tool": "t", "params": "x"}} {
		if _, err := callvalue.Read(v); protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%v: %v", v, err)
		}
	}
	want := parseTAM("", "").Calls[0]
	got, err := callvalue.Read(callvalue.Of(&want))
	want.Params = map[string]any{}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if err != nil || string(a) != string(b) {
		t.Errorf("there and back: %s, want %s", a, b)
	}
}

func TestTAMParseIsLeftOutWithoutAParser(t *testing.T) {
	if _, ok := nodes.Standard(nodes.Options{})["TAMParse"]; ok {
		t.Error("TAMParse without a parser")
	}
}
