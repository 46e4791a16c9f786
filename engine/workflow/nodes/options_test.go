package nodes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
)

// asked runs a model node, whose answers are given, and returns its requests and outputs;
// or what is wrong with its definition.
func asked(t *testing.T, config, more string, answers ...protocol.ModelAnswer) (requests []protocol.ModelRequest, outputs map[string]any, err error) {
	t.Helper()
	def := &workflow.Definition{}
	text := fmt.Sprintf(`{"id": "w", "interfaceOutputs": {"text": {}, "json": {}, "failed": {}}, "nodes": [
		{"id": "ask", "type": "LLMCompletion", "configValues": %s, "inputValues": {"prompt": "p"} %s}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "ask", "sourceHandle": "text", "target": "out", "targetHandle": "text"}%s]}`, config, more,
		map[bool]string{true: `, {"source": "ask", "sourceHandle": "json", "target": "out", "targetHandle": "json"}`}[strings.Contains(config, "schema") || strings.Contains(config, "json")])
	if err := json.Unmarshal([]byte(text), def); err != nil {
		t.Fatal(err)
	}
	plan, faults := workflow.Compile(def, workflow.Options{Kinds: nodes.Standard(nodes.Options{Schema: wantsObject})})
	if len(faults) > 0 {
		return nil, nil, fmt.Errorf("%v", faults[0])
	}
	var run workflow.Run
	if err := run.Start(plan, nil, workflow.Env{}); err != nil {
		t.Fatal(err)
	}
	for !run.Advance(workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		requests = append(requests, q.Model)
		if len(requests) > len(answers) {
			return workflow.Answer{Err: protocol.Errorf(protocol.KindTimeout, "no answer")}, true
		}
		return workflow.Answer{Model: answers[len(requests)-1]}, true
	})) {
	}
	if list := run.Failures(); len(list) > 0 {
		err = list[0].Err
	}
	return requests, run.Outputs(map[string]any{}), err
}

// wantsObject is a schema language of its own: an object with the field "n".
func wantsObject(schema any) (func(any) error, error) {
	if m, ok := schema.(map[string]any); !ok || m["type"] != "object" {
		return nil, errors.New("no such schema")
	}
	return func(v any) error {
		if m, ok := v.(map[string]any); !ok || m["n"] == nil {
			return errors.New("missing property n")
		}
		return nil
	}, nil
}

// Every option of a request can be set by its node.
func TestModelOptions(t *testing.T) {
	requests, _, err := asked(t, `{"topP": 0.5, "seed": 7, "effort": "low", "schema": {"type": "object"}, "toolChoice": "SayTool", "parallel": false, "extra": {"top_k": 3}}`,
		`, "inputValues": {"prompt": "p", "tools": [{"name": "SayTool"}]}`, protocol.ModelAnswer{Text: `{"n": 1}`})
	if err != nil {
		t.Fatal(err)
	}
	p, seed, no := 0.5, int64(7), false
	want := &protocol.ModelOptions{
		TopP: &p, Seed: &seed, Effort: "low", Schema: map[string]any{"type": "object"}, ToolChoice: "SayTool", Parallel: &no, Extra: map[string]any{"top_k": int64(3)},
	}
	got, sought := fmt.Sprintf("%#v", requests[0].Options), ""
	if given, err := json.Marshal(requests[0].Options); err == nil {
		list, _ := json.Marshal(want)
		got, sought = string(given), string(list)
	}
	if got != sought || !requests[0].JSON {
		t.Errorf("%s, want %s, JSON %v", got, sought, requests[0].JSON)
	}
	v := reflect.ValueOf(*want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("no node sets %s", v.Type().Field(i).Name)
		}
	}
	if requests, _, _ = asked(t, `{}`, "", protocol.ModelAnswer{Text: "x"}); requests[0].Options != nil {
		t.Errorf("%+v", requests[0].Options)
	}
	for config, want := range map[string]string{
		`{"topP": 1.5}`: "want 0 to 1", `{"topP": "much"}`: "want a number", `{"seed": 0.5}`: "want a whole number", `{"effort": "huge"}`: `"huge" is not offered`, `{"schema": {"type": "list"}}`: "no such schema",
		`{"schema": "x"}`: "no such schema", `{"toolChoice": 1}`: "want text", `{"parallel": "yes"}`: "want true or false", `{"extra": []}`: "want an object", `{"extra": {"top_k": 3, "max_tokens": 7}}`: "simd writes the field max_tokens itself", `{"stopAtCall": "xml"}`: `"xml" is not offered`, `{"tool_choice": "auto"}`: "has no setting",
	} {
		if _, _, err := asked(t, config, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

// A call is not asked of a model that is offered no tool, whatever model it is.
func TestNoToolToChoose(t *testing.T) {
	for choice, asks := range map[string]bool{"required": false, "SayTool": false, "none": true, "auto": true} {
		requests, _, err := asked(t, `{"toolChoice": "`+choice+`"}`, "", protocol.ModelAnswer{Text: "x"})
		if len(requests) == 1 != asks || asks != (err == nil) || !asks && protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%s: %d requests, %v", choice, len(requests), err)
		}
		if requests, _, err = asked(t, `{"toolChoice": "`+choice+`"}`, `, "inputValues": {"prompt": "p", "tools": [{"name": "SayTool"}]}`, protocol.ModelAnswer{Text: "x"}); len(requests) != 1 || err != nil {
			t.Errorf("%s with a tool: %d requests, %v", choice, len(requests), err)
		}
	}
}

// A model whose answer breaks its schema is shown the answer and what was wrong, in each
// attempt; then the answer is a transient failure.
func TestSchemaRetry(t *testing.T) {
	say := func(text string) protocol.ModelAnswer { return protocol.ModelAnswer{Text: text} }
	talk := func(q protocol.ModelRequest) (out []string) {
		for _, m := range q.Messages {
			first, _, _ := strings.Cut(m.Text, "\n")
			out = append(out, string(m.Role)+": "+first)
		}
		return out
	}
	config := `{"schema": {"type": "object"}}`
	requests, outputs, err := asked(t, config, `, "retry": {"max": 3}`, say("Well."), say(`{"m": 1}`), say(`{"n": 2}`))
	if err != nil || len(requests) != 3 || !protocol.Equal(outputs["json"], map[string]any{"n": int64(2)}) {
		t.Fatalf("%d requests, %v, %v", len(requests), outputs, err)
	}
	want := []string{"user: p", "assistant: Well.", `user: the model's answer is no JSON: no JSON in the text "Well."`, `assistant: {"m": 1}`, "user: the model's answer breaks its schema: missing property n"}
	for i, n := range []int{1, 3, 5} {
		if got := talk(requests[i]); !slices.Equal(got, want[:n]) {
			t.Errorf("request %d: %q", i+1, got)
		}
	}
	if _, _, err = asked(t, config, `, "retry": {"max": 1}`, say("a"), say("b")); protocol.KindOf(err) != protocol.KindTransient || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("%v", err)
	}
	if requests, _, _ = asked(t, config, `, "retry": {"max": 2}`, say("  "), say("a")); len(requests) != 3 || len(requests[1].Messages) != 2 || len(requests[2].Messages) != 4 {
		t.Errorf("an empty answer, and a failure without one: %v", requests)
	}
	if _, outputs, err = asked(t, config, "", protocol.ModelAnswer{Calls: []protocol.Call{{Tool: "t"}}}); err != nil || outputs["json"] != nil {
		t.Errorf("calls alone: %v, %v", outputs, err)
	}
	plain := nodes.Standard(nodes.Options{})
	def := &workflow.Definition{ID: "w", Nodes: []workflow.Node{{ID: "ask", Type: "LLMCompletion", ConfigValues: map[string]any{"schema": map[string]any{}}, InputValues: map[string]any{"prompt": "p"}}}}
	if _, faults := workflow.Compile(def, workflow.Options{Kinds: plain}); len(faults) != 1 || !strings.Contains(fmt.Sprint(faults[0]), "cannot check") {
		t.Errorf("%v", faults)
	}
}

// stopAtCall adds the end mark to the texts that end an answer, and gives it back to the
// text that stopped there.
func TestStopAtCall(t *testing.T) {
	const tam, xml = "<|[REQUEST_TOOL]|>\ncommand:»»»X«««\n", "<tools><ctrl>c</ctrl>"
	for _, c := range []struct {
		grammar, text string
		finish        protocol.FinishReason
		want          string
	}{
		{"tam", "so\n" + tam, protocol.FinishStop, "so\n" + tam + "<|[END_TOOL]|>"},
		{"tam", tam + "<|[END_TOOL]|>", protocol.FinishStop, tam + "<|[END_TOOL]|>"},
		{"tam", tam + "<|[END_TOOL]|>\n" + tam, protocol.FinishStop, tam + "<|[END_TOOL]|>\n" + tam + "<|[END_TOOL]|>"},
		{"tam", tam, protocol.FinishLength, tam},
		{"tam", "no call", protocol.FinishStop, "no call"},
		{"toolsxml", xml, protocol.FinishStop, xml + "</tools>"},
		{"toolsxml", xml, protocol.FinishFiltered, xml},
		{"toolsxml", xml + "</tools>", protocol.FinishStop, xml + "</tools>"},
	} {
		requests, outputs, err := asked(t, `{"stop": ["END"], "stopAtCall": "`+c.grammar+`"}`, "", protocol.ModelAnswer{Text: c.text, Finish: c.finish})
		stop := map[string]string{"tam": "<|[END_TOOL]|>", "toolsxml": "</tools>"}[c.grammar]
		if err != nil || outputs["text"] != c.want || !slices.Equal(requests[0].Stop, []string{"END", stop}) {
			t.Errorf("%+v: %q, stop %q, %v", c, outputs["text"], requests[0].Stop, err)
		}
	}
}
