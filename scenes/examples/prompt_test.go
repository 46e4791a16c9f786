package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tavernsim/engine/prompt"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/mock/wire"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
	"tavernsim/scenes/examples"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/inspect"
)

// prompts is a mock that keeps what it was asked, and what it said of its cache.
type prompts struct {
	*mock.Server
	mu     sync.Mutex
	asked  []string // as a server reads them
	agents []string // their system messages, which tell agents apart
	cached int64
}

// ServeHTTP answers one request after the other, so that it is known which came first.
func (p *prompts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	q, err := wire.Decode(wire.Chat, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := httptest.NewRecorder()
	p.Server.ServeHTTP(said, r)
	p.asked, p.agents = append(p.asked, string(prompt.AppendBytes(nil, &q.ModelRequest))), append(p.agents, q.Messages[0].Text)
	_, rest, _ := strings.Cut(said.Body.String(), `"cached_tokens":`)
	number, _, _ := strings.Cut(rest, "}")
	n, _ := strconv.ParseInt(number, 10, 64)
	p.cached += n
	w.WriteHeader(said.Code)
	_, _ = w.Write(said.Body.Bytes())
}

const smallTalk = `rules:
  - match: {chance: 0.6}
    answer: '{{pick "The moonmint is nearly gone, and nobody brings me any." "Mind the woods after dark, I have told you before." "A potion costs what it costs." "There is rain in the air, can you smell it?"}}'
otherwise: ''
`

// herbalist is the example in which Elara and the traveller think by std/core, on an
// endpoint, for so many seconds.
func herbalist(t *testing.T, seconds string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	from, err := fs.Sub(examples.Projects(), "herbalist")
	if err == nil {
		err = fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(from, path)
			files[path] = &fstest.MapFile{Data: data}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	change := func(path string, pairs ...string) {
		text := string(files[path].Data)
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("%s has no %s", path, pairs[i])
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		files[path] = &fstest.MapFile{Data: []byte(text)}
	}
	change("agent_profiles/elara.json", `"core_deliberation_workflow_id": "workflows/core_npc_deliberation_v1.json",`,
		`"core_deliberation_workflow_id": "std/core",
  "prompt": {
    "persona": "You are Elara, who keeps the herb shop at the edge of the Whispering Woods. You know every plant that grows there and most that do not. You are short with strangers and fond of those who come back. You sell potions and herbs, and you buy what foragers bring, at prices that you do not discuss twice.",
    "context": 3400, "output": 200, "sections": {"knowledge": {"max": 200}}
  },`)
	change("agent_profiles/player_proxy.yaml", "core_deliberation_workflow_id: player/proxy_turn\n", "core_deliberation_workflow_id: std/core\nprompt: {context: 2800, output: 200}\n", "custom_runtime_config: {max_history: 8}", "custom_runtime_config: {deliberation_frequency_hz: 0.5}")
	change("scenes/forest_outskirts.json", `"after": "1000m"`, `"after": "`+seconds+`"`,
		`{"instance_id": "corvin_the_forager_instance_1", "profile_id": "forager_npc_v1"},`, "", `{"instance_id": "sky_over_the_outskirts", "profile_id": "sky_and_season_v1"}`, "")
	files["models/thinker.yaml"] = &fstest.MapFile{Data: []byte("kind: openai\nendpoint: cloud\nmodel: m\nlatency: none\nstream: false\n")}
	return files
}

// Two hundred turns on an endpoint: what agents ask begins mostly as before, the cached
// tokens are those that follow from the prompts, no prompt is above its room, and what was
// left out is traced.
func TestPromptsOverManyTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("it decides two hundred turns")
	}
	p, err := runner.LoadFS(herbalist(t, "300s"), "herbalist", true)
	if err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Load("talk.yaml", []byte(smallTalk))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mock.New(mock.Options{Model: script, Cache: block})
	if err != nil {
		t.Fatal(err)
	}
	server := &prompts{Server: m}
	at := httptest.NewServer(server)
	defer at.Close()
	e, err := endpoint.New("cloud", endpoint.Definition{BaseURL: at.URL + "/v1"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	dir := filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(p, runner.Options{Dir: dir, Model: "thinker", Endpoints: map[string]*endpoint.Endpoint{"cloud": e}})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if calls := sum.Model.Calls; calls < 200 || int(calls) != len(server.asked) {
		t.Fatalf("%d calls, %d requests", calls, len(server.asked))
	}
	ratio, agents := shared(server)
	t.Logf("%d requests of %d agents; prefix ratio %.3f; %d tokens read from the cache", len(server.asked), agents, ratio, server.cached)
	if ratio < 0.6 || agents != 2 {
		t.Errorf("the prompts of %d agents share %.2f of themselves with the one before, want 0.6", agents, ratio)
	}
	if want := cachedOf(server.asked); want != server.cached || want == 0 {
		t.Errorf("%d tokens were read from the cache, the prompts say %d", server.cached, want)
	}
	traced(t, dir, "elara_the_herbalist_instance_1")
}

// block is how many tokens a server reads from its cache at once.
const block = 128

// shared is the part of all prompts with which the agent's prompt before began.
func shared(p *prompts) (ratio float64, agents int) {
	last := map[string]string{}
	same, all := 0, 0
	for i, text := range p.asked {
		if before, ok := last[p.agents[i]]; ok {
			same, all = same+common(text, before), all+len(text)
		}
		last[p.agents[i]] = text
	}
	return float64(same) / float64(max(all, 1)), len(last)
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// cachedOf compares each prompt with all before it.
func cachedOf(asked []string) (n int64) {
	for i, text := range asked {
		most := 0
		for _, before := range asked[:i] {
			most = max(most, common(text, before)/(4*block))
		}
		n += int64(most * block)
	}
	return n
}

// traced decides turns of an agent again: their questions have the recorded hashes, no
// prompt is above its room, and everything that was left out has a reason.
func traced(t *testing.T, dir, agent string) {
	t.Helper()
	r, err := inspect.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	scene, err := r.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	scene.Askers = func(q *protocol.ModelRequest, hash string) (map[string]string, error) {
		return runner.Askers(r.Project, q, hash)
	}
	out := 0
	for turn := 5; turn < 140; turn += 9 {
		d, err := scene.Deliberation(fmt.Sprintf("%s/%d", agent, turn))
		if err != nil {
			t.Fatal(err)
		}
		if d.Differs != "" || len(d.Models) != 1 || d.Models[0].Question == nil || d.Models[0].Question.Model != "thinker" {
			t.Fatalf("turn %d of %s: %s %s; decided again: %s, %+v", turn, agent, d.Outcome, d.Error, d.Differs, d.Models)
		}
		var trace struct {
			Tokens, Room, Dropped int
			Units                 []struct{ Section, Unit, Dropped string }
		}
		raw, _ := d.Models[0].Question.Prompt.(json.RawMessage)
		if err := json.Unmarshal(raw, &trace); err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, u := range trace.Units {
			if u.Dropped != "" {
				named++
			}
		}
		if trace.Tokens > trace.Room || trace.Room == 0 || named != trace.Dropped {
			t.Errorf("turn %d: %d tokens, room for %d; %d units dropped, %d of them named", turn, trace.Tokens, trace.Room, trace.Dropped, named)
		}
		if said := strings.Contains(d.Models[0].Question.Messages[1].Text, "Left out for want of room"); said != (named > 0) {
			t.Errorf("turn %d: %d units are left out, the prompt says so: %v", turn, named, said)
		}
		out += named
	}
	if out == 0 {
		t.Error("nothing was ever left out")
	}
}
