package nodes_test

import (
	"strings"
	"testing"
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
