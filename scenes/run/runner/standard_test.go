package runner

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

const diarist = `-- agent_profiles/diarist.yaml --
id: diarist
name: Diarist
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
reflection_workflow_id: std/reflect
knowledge_base_references: [{source_id: diary, alias: mine, access_permissions: [read, write_caiu]}]
tool_ids_inventory: [ReflectTool, SleepTool, WriteToKnowledgeBaseTool, UpdateGoalTool, UpdatePrivateStateTool]
-- knowledgebases/diary.yaml --
id: diary
schema_version: "1.0"
entries:
ENTRIES
-- scenes/s.yaml --
id: s
name: Diary
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: diarist}]
simulation: {stop: {after: 30s}}
`

// learning is what the server's model does: it reflects once, in the form of the protocol.
const learning = `rules:
  - match: {prompt_contains: What do you learn from it}
    answer: {text: 'ANSWER', calls: [CALLS]}
  - match: {prompt_contains: Look before you leap}
    answer: I know better now.
otherwise: {text: Oops., calls: [{tool: ReflectTool, params: {reason: I fell}}, {tool: SleepTool, params: {seconds: 5}}]}
`

const learnt = `{"entries": [{"entry_type": "failed_lesson", "title": "Leaps", "content": "Look before you leap", "activation_criteria": {"always": true}}], "goals": [{"id": "wiser", "description": "Be wiser"}]}`

// std/reflect over HTTP, in both protocols: the model is asked as JSON, what it learns is an
// entry that the next prompt has, and the run is decided again without the server.
func TestReflectionOnAnEndpoint(t *testing.T) {
	for kind, preset := range map[string]string{"openai": "vllm", "anthropic": "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			text := strings.NewReplacer("ANSWER", learnt, "CALLS", "").Replace(learning)
			if kind == "anthropic" { // JSON is a tool there
				text = strings.NewReplacer("ANSWER", "", "CALLS", "{tool: _answer_29848c, params: "+learnt+"}").Replace(learning)
			}
			script, err := scripted.Load("learning.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			server, to := cloudOf(t, preset, mock.Options{Model: script})
			dir, _ := play(t, kind, strings.Replace(diarist, "entries:\nENTRIES", "entries: []", 1), to)
			sent := strings.Join(server.sent(), "\n")
			if !strings.Contains(sent, "What do you learn from it") || !strings.Contains(sent, "I fell") || !strings.Contains(sent, "Leaps: Look before you leap") || !strings.Contains(sent, "[wiser] Be wiser") {
				t.Errorf("sent\n%s", sent)
			}
			if said := saidIn(t, dir); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "I know better now.") }) {
				t.Errorf("%q", said)
			}
		})
	}
}

// A turn of std/core asks for answers as long as its profile says, else as the model's file says,
// else of 1024 tokens; of a route each model for its own.
func TestAnswersAreAsLongAsTheModelsFileSays(t *testing.T) {
	files := strings.Replace(diarist, "entries:\nENTRIES", "entries: []", 1)
	routed := files + "-- models/other.yaml --\n{kind: openai, endpoint: cloud, model: big, params: {max_tokens: 3000}, latency: none}\n" +
		"-- models/fast.yaml --\n{kind: openai, endpoint: cloud, model: big, latency: none}\n" +
		"-- models/any.yaml --\n{kind: route, route: [{when: 'WHEN', use: other}, {use: fast}]}\n"
	for name, c := range map[string]struct {
		files string
		model string
		want  string // in the first request
	}{
		"the model's file": {files, "thinker", `"max_tokens":200}`},
		"the profile":      {strings.Replace(files, "name: Diarist", "name: Diarist\nprompt: {output: 70}", 1), "thinker", `"max_tokens":70}`},
		"nobody":           {strings.Replace(routed, "WHEN", "true", 1), "fast", `"max_tokens":1024}`},
		"first of a route": {strings.Replace(routed, "WHEN", "true", 1), "any", `"max_tokens":3000}`},
		"last of a route":  {strings.Replace(routed, "WHEN", "false", 1), "any", `"max_tokens":1024}`},
	} {
		t.Run(name, func(t *testing.T) {
			server, to := cloud(t, "vllm")
			p, err := LoadFS(scenestest.Files(txtar.Parse([]byte(c.files+strings.ReplaceAll(thinker, "PROTOCOL", "openai")))), "s", true)
			if err != nil {
				t.Fatal(err)
			}
			opt := thinking(t)
			opt.Endpoints, opt.Model = to, c.model
			sum := run(t, p, opt)
			if sent := server.sent(); len(sent) == 0 || !strings.Contains(sent[0], c.want) {
				t.Errorf("sent %q; want %s", sent, c.want)
			}
			r, err := rundir.Replay(context.Background(), opt.Dir, rundir.ReplayOptions{Verify: true})
			if err != nil || r.Scenes[0].Digest != sum.Digest || r.Scenes[0].Differs() {
				t.Errorf("replay: %+v, %v", r, err)
			}
		})
	}
}

// play runs a project of one agent on an endpoint, and decides the run again.
func play(t *testing.T, kind, files string, to map[string]*endpoint.Endpoint) (dir string, sum *rundir.Summary) {
	t.Helper()
	p, err := LoadFS(scenestest.Files(txtar.Parse([]byte(files+strings.ReplaceAll(thinker, "PROTOCOL", kind)))), "s", true)
	if err != nil {
		t.Fatal(err)
	}
	opt := thinking(t)
	opt.Endpoints = to
	sum = run(t, p, opt)
	r, err := rundir.Replay(context.Background(), opt.Dir, rundir.ReplayOptions{Verify: true})
	if err != nil || r.Scenes[0].Digest != sum.Digest || r.Scenes[0].Differs() {
		t.Errorf("replay: %+v, %v", r, err)
	}
	return opt.Dir, sum
}

// narrow refuses questions that are longer than a bound, as servers do, and passes the
// others on.
type narrow struct {
	http.Handler
	most    int
	refusal string
	mu      sync.Mutex
	sizes   []int
}

func (n *narrow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n.mu.Lock()
	n.sizes = append(n.sizes, len(body))
	n.mu.Unlock()
	if len(body) > n.most {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, n.refusal)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.Handler.ServeHTTP(w, r)
}

// A server that refuses a prompt as too long is asked once more, with a prompt that is a
// quarter shorter; if it refuses this one, too, the turn fails with both answers kept.
func TestShorterPromptOnAnEndpoint(t *testing.T) {
	entries := ""
	for id := range strings.FieldsSeq("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		entries += "  - {id: " + id + ", entry_type: lore, content: '" + strings.Repeat("The river is cold. ", 8) + "', activation_criteria: {always: true}}\n"
	}
	files := strings.Replace(diarist, "ENTRIES\n", entries, 1)
	refusals := map[string]string{
		"openai":    `{"error":{"message":"This model's maximum context length is 1000 tokens. However, your messages resulted in 1400 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		"anthropic": `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1400 tokens > 1000 maximum"}}`,
	}
	for kind, preset := range map[string]string{"openai": "vllm", "anthropic": "anthropic"} {
		for name, c := range map[string]struct {
			most   int
			failed bool
		}{"once is enough": {4200, false}, "never": {10, true}} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				server, err := mock.New(mock.Options{})
				if err != nil {
					t.Fatal(err)
				}
				n := &narrow{Handler: server, most: c.most, refusal: refusals[kind]}
				e := served.Named(t, "cloud", "", n, endpoint.Definition{Preset: preset, Auth: "none"})
				_, sum := play(t, kind, files, map[string]*endpoint.Endpoint{"cloud": e})
				if len(n.sizes) < 2 || sum.Model.Failed == 0 || (sum.Failed > 0) != c.failed {
					t.Fatalf("sizes %v, %d of %d calls failed, %d of %d turns", n.sizes, sum.Model.Failed, sum.Model.Calls, sum.Failed, sum.Deliberations)
				}
				long, short := n.sizes[0], n.sizes[1]
				if short >= long*85/100 || short < long/2 {
					t.Errorf("%d bytes, and then %d", long, short)
				}
				if asked := int64(len(n.sizes)); asked != 2*sum.Deliberations || sum.Model.Calls != asked {
					t.Errorf("%d requests, %d calls, %d turns", asked, sum.Model.Calls, sum.Deliberations)
				}
			})
		}
	}
}
