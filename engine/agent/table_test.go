package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// skillful is an agent whose skill answers with its input share.
func skillful(t *testing.T, change ...func(*Definition)) *Machine {
	t.Helper()
	skill := &workflow.Definition{
		ID:               "skills/divide",
		InterfaceInputs:  map[string]workflow.Port{"share": {DataFlowType: workflow.Integer}, "name": {DataFlowType: workflow.String}, "any": {}},
		InterfaceOutputs: map[string]workflow.Port{"share": {}, "name": {}, "any": {}},
		Nodes:            []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}, {ID: "out", Type: workflow.TypeGroupOutput}},
		Edges:            []workflow.Edge{{Source: "in", SourceHandle: "*", Target: "out", TargetHandle: "*"}},
	}
	plan := compile(t, skill)
	return machine(t, echo(), append([]func(*Definition){func(d *Definition) {
		d.Workflows, d.Skills = map[string]*workflow.Plan{"skills/divide": plan}, []string{"skills/divide"}
	}}, change...)...)
}

// tamBlock writes a TAM block.
func tamBlock(lines ...string) string {
	return "<|[REQUEST_TOOL]|>\n" + strings.Join(lines, "\n") + "\n<|[END_TOOL]|>\n"
}

// made lists the calls of a decision: tool, status, what it gave or why it failed.
func made(t *testing.T, d protocol.Decision) string {
	t.Helper()
	var out []string
	for _, f := range d.Facts {
		switch x := f.(type) {
		case *agentfact.CallMade:
			v, err := x.Output.Value()
			if err != nil {
				t.Fatal(err)
			}
			line := x.Tool + " " + string(x.Status)
			if v != nil {
				line += fmt.Sprintf(" %v", v)
			}
			if x.Error != "" {
				line += ": " + x.Error
			}
			out = append(out, line)
		case *agentfact.Said:
			out = append(out, "said "+x.Text)
		}
	}
	return strings.Join(out, "\n")
}

// TestAnswersOfModels: what a model says is read as calls, bound to what a tool or a
// skill declares, or refused with an observation; nothing of it is lost, and no
// markup is said aloud (TAM §3, §4; ToolsXML).
func TestAnswersOfModels(t *testing.T) {
	const set = "command:»»»UpdatePrivateStateTool«««"
	for _, c := range []struct {
		name, response, want string
		state                string // the value of x afterwards
	}{
		{"an input of a skill is read as its type", tamBlock("command:»»»workflow:skills/divide«««", "share:»»»45«««", "name:»»»45«««", "any:»»»45«««"), "workflow:skills/divide ok map[any:45 name:45 share:45]", ""},
		{"with a type hint", tamBlock("command:»»»divide«««", "share:»»»45«««", "type_hint_share:»»»json«««"), "divide ok map[any:<nil> name:<nil> share:45]", ""},
		{"which it is not", tamBlock("command:»»»divide«««", "share:»»»half«««"), `divide error: inputs of skill skills/divide: received "half" for share; expected integer`, ""},
		{"an unknown input", tamBlock("command:»»»divide«««", "piece:»»»1«««"), "divide error: inputs of skill skills/divide: received the unknown parameter piece; expected one of any, name, share", ""},
		{"lenient ids", tamBlock("command:»»»updateprivatestate_tool«««", "Path:»»»x«««", "VALUE:»»»1«««"), "UpdatePrivateStateTool ok", "1"},
		{"and of skills", tamBlock("command:»»»Workflow: Skills Divide«««", "share:»»»1«««"), "workflow:skills/divide ok map[any:<nil> name:<nil> share:1]", ""},
		{"a name that is none", tamBlock("command:»»»UpdatePrivatStateTool«««", "path:»»»x«««"), `UpdatePrivatStateTool error: tool or skill "UpdatePrivatStateTool" does not exist; perhaps UpdatePrivateStateTool or ReadPrivateStateTool; available_capabilities lists what there is`, ""},
		{"a reference is refused", tamBlock(set, "path:»»»x«««", "uri_value:»»»fam://pic.png«««"), `UpdatePrivateStateTool error: parameters of UpdatePrivateStateTool: received uri_value, a reference to "fam://pic.png"; expected value itself, for references are not fetched here`, ""},
		{"a shared parameter that a tool does not know", tamBlock("common_path:»»»x«««", "command_1:»»»SayTool«««", "text_1:»»»hi«««", "command_2:»»»UpdatePrivateStateTool«««", "value_2:»»»2«««"), "said hi\nSayTool ok\nUpdatePrivateStateTool ok", "2"},
		{"base64", tamBlock(set, "path:»»»x«««", "value:»»»5Lit«««", "type_hint_value:»»»base64«««"), "UpdatePrivateStateTool ok", "中"},
		{"base64 of no text", tamBlock(set, "path:»»»x«««", "value:»»»//8=«««", "type_hint_value:»»»base64«««"), `UpdatePrivateStateTool error: parameters of UpdatePrivateStateTool: received "//8=" for value with type hint base64: the bytes are no UTF-8 text; expected base64 text`, ""},
		{"text by hint", tamBlock(set, "path:»»»x«««", "value:»»»[1]«««", "type_hint_value:»»»text«««"), "UpdatePrivateStateTool ok", "[1]"},
		{"two blocks with one id do not share a stop", tamBlock("request_id:»»»r«««", "command_1:»»»Nothing«««", "command_2:»»»SayTool«««", "text_2:»»»no«««") + tamBlock("request_id:»»»r«««", set, "path:»»»x«««", "value:»»»3«««"),
			"Nothing error: tool or skill \"Nothing\" does not exist; available_capabilities lists what there is\nSayTool not_run\nUpdatePrivateStateTool ok", "3"},
		{"ToolsXML is not said", "Look.\n<tools><command>rm -rf /</command></tools>", "said Look.\ncommand error: ToolsXML <command>: nothing carries it out in this run; available_capabilities lists what there is", ""},
		{"nor is what is quoted in a call read", tamBlock(set, "path:»»»x«««", "value:»»»<tools><command>ls</command></tools>«««"), "UpdatePrivateStateTool ok", "<tools><command>ls</command></tools>"},
		{"and the other way round", "<tools><command>cat <<E\n" + tamBlock("command:»»»SayTool«««", "text:»»»no«««") + "E</command></tools>", "command error: ToolsXML <command>: nothing carries it out in this run; available_capabilities lists what there is", ""},
		{"both grammars", "a\n" + tamBlock(set, "path:»»»x«««", "value:»»»4«««") + "b\n<tools><ctrl>c</ctrl></tools>\nc", "said a\nb\nc\nUpdatePrivateStateTool ok\nctrl error: ToolsXML <ctrl>: nothing carries it out in this run; available_capabilities lists what there is", "4"},
		{"a mention of the tag", "Write <tools> first.", "said Write <tools> first.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := skillful(t)
			m.State.Private = map[string]any{"response": c.response}
			if got := made(t, decide(t, m, 1)); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			state := ""
			if v, ok := m.State.Private["x"]; ok {
				state = fmt.Sprint(v)
			}
			if state != c.state {
				t.Errorf("x is %q, want %q", state, c.state)
			}
		})
	}
}

// ToolsXML names never reach a skill: a skill called read is no file access.
func TestToolsXMLCallsNoSkill(t *testing.T) {
	m := skillful(t, func(d *Definition) {
		d.Workflows["skills/read"], d.Skills = d.Workflows["skills/divide"], append(d.Skills, "skills/read")
	})
	m.State.Private = map[string]any{"response": `<tools><read><file src="/etc/passwd"/></read></tools>`}
	if got := made(t, decide(t, m, 1)); !strings.HasPrefix(got, "read error: ToolsXML <read>: nothing carries it out") {
		t.Error(got)
	}
}

// TestCutAnswers: after length or filtered, what was cut is not executed and not
// said, what was closed is, and the agent is told.
func TestCutAnswers(t *testing.T) {
	open := "I write.\n<|[REQUEST_TOOL]|>\ncommand:»»»UpdatePrivateStateTool«««\npath:»»»x«««\nvalue:»»»1«««\n"
	shell := "I look.\n<tools><command>ls</command>"
	for _, c := range []struct {
		name, text string
		finish     protocol.FinishReason
		ran        bool
		want       string
	}{
		{"complete", open, protocol.FinishStop, true, "said I write.\nUpdatePrivateStateTool ok"},
		{"cut", open, protocol.FinishLength, false, "block 1 (not run)"},
		{"filtered", open, protocol.FinishFiltered, false, "block 1 (not run)"},
		{"cut behind a closed block", tamBlock("command:»»»UpdatePrivateStateTool«««", "path:»»»x«««", "value:»»»1«««") + "And now I", protocol.FinishLength, true, "said And now I\nUpdatePrivateStateTool ok"},
		{"ToolsXML cut", shell, protocol.FinishLength, false, "toolsxml: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, asks(1))
			d, err := m.Decide(wake(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			d, err = m.Decide(&effect.Answered{Kind: effect.KindModel, Number: d.Effects[0].(*effect.Ask).Number, Model: protocol.ModelAnswer{Text: c.text, Finish: c.finish}})
			if err != nil {
				t.Fatal(err)
			}
			apply(t, m, d, 1)
			got := made(t, d)
			if !strings.Contains(got, c.want) || strings.Contains(got, "said I look.\n<") || strings.Contains(got, "command error") {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if _, ran := m.State.Private["x"]; ran != c.ran {
				t.Errorf("the call ran: %t", ran)
			}
			if !c.ran && seen(m) == "" {
				t.Error("the next deliberation is told nothing")
			}
		})
	}
}

// TestCallsOfTAMParse: what a node took out of a text is bound like the text.
func TestCallsOfTAMParse(t *testing.T) {
	m := skillful(t)
	m.State.Private = map[string]any{"decision": map[string]any{"calls": []any{
		map[string]any{"tool": "divide", "params": map[string]any{"share": "45"}, "origin": "tam"},
		map[string]any{"tool": "SayTool", "params": map[string]any{"text": "x"}, "uris": map[string]any{"text": "fam://x"}, "origin": "tam", "block": int64(1), "index": int64(1)},
		map[string]any{"tool": "SayTool", "params": map[string]any{"text": "x"}, "origin": "tam", "block": int64(1), "index": int64(2)},
		map[string]any{"params": map[string]any{}},
	}}}
	want := "(not understood) error: call: no tool; want {\"tool\": id, \"params\": {…}}\ndivide ok map[any:<nil> name:<nil> share:45]\nSayTool error: parameters of SayTool: received uri_text, a reference to \"fam://x\"; expected text itself, for references are not fetched here\nSayTool not_run"
	got := made(t, decide(t, m, 1))
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestTable: every entry of the table is complete.
func TestTable(t *testing.T) {
	_, table, err := toolTable(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range SceneTools() {
		e := table[id]
		if e.status != protocol.CallOK && e.status != protocol.CallRequested || e.Description == "" {
			t.Errorf("%s: status %q, description %q", id, e.status, e.Description)
		}
		for name, p := range e.Parameters.(map[string]any)["properties"].(map[string]any) {
			if p.(map[string]any)["description"] == "" {
				t.Errorf("%s: %s has no description", id, name)
			}
		}
	}
	if len(table) != len(SceneTools()) || len(ProfileTools()) >= len(table) {
		t.Errorf("%d entries, %d of profiles", len(table), len(ProfileTools()))
	}
}

// TestEveryToolIsPlayed: a script of testdata calls each tool of the table with
// success. The tool of the panel has none: no panel is ever connected.
func TestEveryToolIsPlayed(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var played strings.Builder
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		played.Write(text)
	}
	for _, e := range Tools() {
		for _, want := range []protocol.CallStatus{e.status, protocol.CallFailed} { // well and wrongly
			if e.Name == "PanelInteractionTool" {
				want = protocol.CallFailed
			}
			call := regexp.MustCompile(`(?m)^agent\.call_made id=\S+ tool=` + e.Name + ` .*\bstatus=` + string(want) + `\b`)
			if !call.MatchString(played.String()) {
				t.Errorf("no script in testdata/script calls %s with the status %s; write one whose agent has the tool, then run: go test ./engine/agent -run Scripts/NAME -update", e.Name, want)
			}
		}
	}
}
