package tooling_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/llm"
	"tavernsim/llm/llmtest"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/protocol/picture"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools"
)

const seers = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/paint.tool.yaml --
id: paint
parameters: {properties: {turn: {type: integer}}}
implementation: {type: service, name: painter}
execution: {repeat: free}
-- workflows/work.yaml --
interfaceInputs: {conversation: {dataFlowType: ARRAY}}
interfaceOutputs: {response: {dataFlowType: STRING, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: ask, type: LLMCompletion, inputValues: {prompt: "Paint.", images: [IMAGES]}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: conversation, target: ask, targetHandle: conversation}
  - {source: ask, sourceHandle: text, target: out, targetHandle: response}
-- agent_profiles/painter.yaml --
id: painter
name: Painter
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [paint]
custom_runtime_config: {deliberation_frequency_hz: 1, max_tool_rounds: 2}
-- scenes/s.yaml --
id: s
name: Painters
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: painter}]
simulation: {stop: {ticks: 3}}
`

// A model is shown the pictures that its calls have left, to the byte.
func TestPictures(t *testing.T) {
	const given = `{uri: "data:image/png;base64,iVBORw=="}`
	for _, c := range []struct{ name, images, want string }{
		{"found", "", "painted"},
		{"given", given, "\x89PNG painted"},
		{"missing", `{uri: "artifact:sha256-` + strings.Repeat("0", 64) + `", mediaType: image/png}`, "not_found"},
		{"changed", `{uri: "fam://run/a.png", mediaType: image/png, sha256: ` + strings.Repeat("ab", 32) + `}`, "not_found"},
		{"address", `{uri: "https://a.example/x.png", mediaType: image/png}`, ""},
		{"too many", strings.Repeat(given+", ", picture.Most) + given, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(seers, "IMAGES", c.images, 1)))), nil)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var seen []string
			f := &llmtest.Fake{Reply: func(_ context.Context, _ int, q *protocol.ModelRequest) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				text := ""
				for i := range q.Messages {
					for k := range q.Messages[i].Images {
						b, err := q.Picture(&q.Messages[i].Images[k])
						if err != nil {
							seen = append(seen, string(protocol.KindOf(err)))
							return "", &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: err.Error()}
						}
						text += " " + string(b)
					}
				}
				seen = append(seen, strings.TrimSpace(text))
				if len(q.Messages) == 1 {
					return "<|[REQUEST_TOOL]|>\ncommand: »»»paint«««\nturn: »»»1«««\n<|[END_TOOL]|>", nil
				}
				return "done", nil
			}}
			paint := func(context.Context, *tools.Call) tools.Result {
				r := tools.Output("done")
				r.Attach("picture", "image/png", []byte("painted"))
				return r
			}
			s := scenestest.New(t, p, "")
			set := scenestest.Settings{Tools: tooling.Live, Model: f, Services: map[string]tools.Executor{"painter": tools.Func(paint)}}
			if r := s.Run(t, set); r.Err != nil {
				t.Fatal(r)
			}
			if last := append([]string{""}, seen...)[len(seen)]; last != c.want {
				t.Errorf("%q, want %q", seen, c.want)
			}
			if c.want == "" && len(seen) > 0 {
				t.Errorf("the model was asked: %q", seen)
			}
			s.Journal(t, func(j *persistence.Journal) {
				if r, _, err := verify.Run(t.Context(), s.Made(t, set), j, verify.Options{}); err != nil || r.Difference != nil {
					t.Error(r, err)
				}
			})
		})
	}
}
