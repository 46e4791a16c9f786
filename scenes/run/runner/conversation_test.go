package runner

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

const singer = `-- agent_profiles/singer.yaml --
id: singer
name: Singer
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
skill_workflow_ids_inventory: [skills/hum]
tool_ids_inventory: [UpdatePrivateStateTool]
custom_runtime_config: {max_tool_rounds: 4}
-- workflows/think.yaml --
interfaceInputs: {conversation: {dataFlowType: ARRAY}, tools: {dataFlowType: ARRAY}, private_state: {dataFlowType: OBJECT}}
interfaceOutputs: {response: {dataFlowType: STRING}, calls: {dataFlowType: ARRAY}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "You know {{json .private_state}}. Sing."}}
  - {id: ask, type: LLMCompletion, inputValues: {system: You are a singer., images: [{uri: "data:image/png;base64,YQ=="}]}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: private_state, target: prompt, targetHandle: private_state}
  - {source: prompt, sourceHandle: text, target: ask, targetHandle: prompt}
  - {source: in, sourceHandle: conversation, target: ask, targetHandle: conversation}
  - {source: in, sourceHandle: tools, target: ask, targetHandle: tools}
  - {source: ask, sourceHandle: text, target: out, targetHandle: response}
  - {source: ask, sourceHandle: calls, target: out, targetHandle: calls}
-- workflows/skills/hum.yaml --
interfaceInputs: {tune: {dataFlowType: STRING, required: true}}
interfaceOutputs: {hummed: {dataFlowType: STRING}}
nodes:
  - {id: in, type: GroupInput}
  - {id: text, type: TextTemplate, configValues: {template: "Hm, {{.tune}}."}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: tune, target: text, targetHandle: tune}
  - {source: text, sourceHandle: text, target: out, targetHandle: hummed}
-- scenes/s.yaml --
id: s
name: Song
schema_version: "1.0"
agent_instances: [{instance_id: ann, profile_id: singer}]
simulation: {stop: {after: 5s}}

`

// singing is what the server's model does: it knows the skill by the name that travels.
const singing = `rules:
  - match: {round: 0}
    answer: {text: First this., calls: [{tool: workflow_skills_hum_a3ada9, params: {tune: la}}, {tool: UpdatePrivateStateTool, params: {path: sung, value: 1}}]}
  - match: {round: 1}
    answer: {calls: [{tool: workflow_skills_hmm, params: {tune: lu}}]}
otherwise: Enough.
`

// The rounds of a turn on an endpoint, in both protocols: each request begins with all
// messages of the one before, with its picture, a skill is called by the name that travels, a name that
// nobody has is answered, and the turn can be decided again without the server.
func TestConversationOnAnEndpoint(t *testing.T) {
	for kind, preset := range map[string]string{"openai": "vllm", "anthropic": "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			script, err := scripted.Load("singing.yaml", []byte(singing))
			if err != nil {
				t.Fatal(err)
			}
			server, to := cloudOf(t, preset, mock.Options{Model: script})
			files := singer + strings.NewReplacer("PROTOCOL", kind, "kind:", "image_tokens: 1000\nkind:").Replace(thinker)
			p, err := LoadFS(scenestest.Files(txtar.Parse([]byte(files))), "s", true)
			if err != nil {
				t.Fatal(err)
			}
			opt := thinking(t)
			opt.Endpoints = to
			s := run(t, p, opt)
			followed(t, server.sent())
			if first := server.sent()[0]; !strings.Contains(first, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YQ=="}}`) && !strings.Contains(first, `{"type":"image_url","image_url":{"url":"data:image/png;base64,YQ=="}}`) {
				t.Errorf("the picture is not in %s", first)
			}
			r, err := rundir.Replay(context.Background(), opt.Dir, rundir.ReplayOptions{Verify: true})
			if err != nil || r.Scenes[0].Digest != s.Digest || r.Scenes[0].Differs() {
				t.Errorf("replay: %+v, %v", r, err)
			}
		})
	}
}

// followed checks the requests of the first turn.
func followed(t *testing.T, sent []string) {
	t.Helper()
	if len(sent) < 3 {
		t.Fatalf("%d requests: %v", len(sent), sent)
	}
	var before []string
	for i, body := range sent[:3] {
		var q struct {
			Messages []json.RawMessage
			Tools    json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatal(err)
		}
		var now []string
		for _, m := range q.Messages {
			now = append(now, string(m))
		}
		if len(now) <= len(before) || !slices.Equal(now[:len(before)], before) {
			t.Errorf("request %d has the messages\n%s\nand the one before\n%s", i+1, strings.Join(now, "\n"), strings.Join(before, "\n"))
		}
		if tools := string(q.Tools); !strings.Contains(tools, `"workflow_skills_hum_a3ada9"`) || !strings.Contains(tools, `"tune"`) || strings.Contains(tools, "workflow:") {
			t.Errorf("tools: %s", tools)
		}
		before = now
	}
	if all := strings.Join(before, "\n"); !strings.Contains(all, "Hm, la.") || !strings.Contains(all, `workflow_skills_hmm`) || !strings.Contains(all, "does not exist") || strings.Contains(all, "sung\\\":1}. Sing") {
		t.Errorf("the last request has the messages\n%s", all)
	}
}
