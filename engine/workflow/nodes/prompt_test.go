package nodes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
)

// AssemblePrompt refuses settings that mean nothing, and says what would.
func TestAssemblePromptFaults(t *testing.T) {
	for node, want := range map[string]string{
		`{"configValues": {"context": 300, "output": 290}}`:                                                    "leaves nothing of a context of 300",
		`{"configValues": {"grammar": "xml"}}`:                                                                 `"xml" is not offered`,
		`{"configValues": {"persona": "{{.nobody}}"}}`:                                                         ".nobody: no such name",
		`{"configValues": {"sections": {"hystory": {"max": 1}}}}`:                                              `there is no section "hystory"; there are persona, rules`,
		`{"configValues": {"sections": {"history": 7}}}`:                                                       "history: want an object",
		`{"configValues": {"sections": {"history": {"max": -1}}}}`:                                             "history.max: want a whole number",
		`{"configValues": {"sections": {"history": {"most": 1}}}}`:                                             "history.most: want min, max, units or drop",
		`{"configValues": {"sections": {"history": {"min": 9, "max": 3}}}}`:                                    "min 9 is more than max 3",
		`{"configValues": {"sections": {"history": {"drop": "first"}}}}`:                                       "history.drop: want one of never, lowest, oldest, half",
		`{"configValues": {"sections": {"goals": {"drop": "lowest"}}}}`:                                        "goals.drop: this section is never dropped",
		`{"configValues": {"sections": {"goals": {"units": 3}}}}`:                                              "goals.units: this section is never dropped",
		`{"configValues": {"sections": {"rules": {"min": 3, "drop": "never"}}}}`:                               "rules.min: this section is never dropped",
		`{"configValues": {"sections": {"history": {"units": 3, "drop": "never"}}}}`:                           "history.units: this section is never dropped",
		`{"configValues": {"persona": "` + strings.Repeat("word ", 400) + `", "context": 400, "output": 100}}`: "failed limit: the prompt has 4",
		`{"inputValues": {"tools": [3], "private_state": {"a": 1}}}`:                                           `"text":"## Your own state\n{\"a\":1}"`,
	} {
		if got := one(t, node[:1]+`"type": "AssemblePrompt", `+node[1:], "messages"); !strings.Contains(got, want) {
			t.Errorf("%s\ngives %s\nwant %s", node, got, want)
		}
	}
}

// Tools go beside the messages, or with TAM into them; variables have the trace.
func TestAssemblePromptTools(t *testing.T) {
	tools := `"tools": [{"name": "SayTool", "description": "Says it.", "parameters": {"properties": {"text": {}}, "required": ["text"]}}]`
	native := one(t, `{"type": "AssemblePrompt", "inputValues": {`+tools+`}, "configValues": {"persona": "You."}}`, "messages", "tools", "max_tokens", "dropped")
	if want := `{"dropped":0,"max_tokens":1024,"messages":[{"role":"system","text":"You."}],"tools":[{"description":"Says it."`; !strings.HasPrefix(native, want) {
		t.Error(native)
	}
	tam := one(t, `{"type": "AssemblePrompt", "inputValues": {`+tools+`}, "configValues": {"persona": "You.", "grammar": "tam"}}`, "messages", "tools")
	if !strings.Contains(tam, `## Tools\n- SayTool (text*): Says it.`) || !strings.Contains(tam, `command_1: »»»`) || !strings.Contains(tam, `"tools":[]`) {
		t.Error(tam)
	}
	traced := one(t, `{"type": "AssemblePrompt", "inputValues": {"private_state": {"a": 1}}, "configValues": {"persona": "You."}}`, "variables", "trace", "tokens")
	if !strings.Contains(traced, `"variables":{"active_goals":null,`) || strings.Count(traced, `{"section":"persona","tokens":`) != 2 {
		t.Error(traced)
	}
}

// What older programs let pass is marked, and there is a plan; with another fault there is none.
func TestStrictFaults(t *testing.T) {
	for more, plans := range map[string]bool{"": true, `, "grammar": "xml"`: false} {
		var inner, outer workflow.Definition
		for text, def := range map[string]*workflow.Definition{
			`{"id": "inner", "interfaceOutputs": {"x": {"default": 1}}, "nodes": [{"id": "in", "type": "GroupInput", "timeout": "1s"}, {"id": "out", "type": "GroupOutput", "inputValues": {"x": 2}},
				{"id": "p", "type": "AssemblePrompt", "configValues": {"sections": {"goals": {"units": 3}}` + more + `}}]}`: &inner,
			`{"id": "outer", "nodes": [{"id": "sub", "type": "SubWorkflow", "configValues": {"workflow": "inner"}}]}`: &outer,
		} {
			if err := json.Unmarshal([]byte(text), def); err != nil {
				t.Fatal(err)
			}
		}
		opt := workflow.Options{Kinds: nodes.Standard(nodes.Options{}), Lookup: func(string) (*workflow.Definition, bool) { return &inner, true }}
		plan, faults := workflow.Compile(&inner, opt)
		strict := 0
		for _, f := range faults {
			if f.Strict {
				strict++
			}
		}
		if (plan != nil) != plans || strict != 3 || (len(faults) == 3) != plans {
			t.Errorf("%v, %d strict of %v", plan, strict, faults)
		}
		if plan, faults := workflow.Compile(&outer, opt); (plan != nil) != plans || (len(faults) == 0) != plans {
			t.Errorf("around it: %v, %v", plan, faults)
		}
	}
}
