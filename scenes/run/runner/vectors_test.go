package runner

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/knowledge"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/price"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// searchers search a base with vectors, and write into it, each turn.
const searchers = `
-- agent_profiles/scout.yaml --
id: scout
name: Scout
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, alias: lore, access_permissions: [read, write_caiu]}]
tool_ids_inventory: [QueryKnowledgeBaseTool, WriteToKnowledgeBaseTool]
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
embedding: {model: near, above: 0.1}
entries:
  - {id: ford, entry_type: lore, content: The ford is deep.}
  - {id: tax, entry_type: lore, content: Taxes are due.}
-- models/near.yaml --
kind: embedder
endpoint: cloud
model: small
dimensions: 32
latency: { first_token: 50ms }
-- models/voices.yaml --
rules:
  - answer:
      text: Hm.
      calls:
        - {tool: QueryKnowledgeBaseTool, params: {query: "deep water {{.variables.turn}}"}}
        - {tool: WriteToKnowledgeBaseTool, params: {entry: {entry_type: lore, content: "{{.agent}} saw {{.variables.turn}}"}}}
-- scenes/s.yaml --
id: s
name: Lore
schema_version: "1.0"
agent_instances: [{instance_id: "s_{n}", profile_id: scout, count: 6, custom_runtime_config: {deliberation_frequency_hz: 1}}]
`

func searching(t *testing.T) Options {
	t.Helper()
	seed := uint64(7)
	return Options{Dir: filepath.Join(t.TempDir(), "run"), Ticks: 6, Seed: &seed}
}

// texts counts what a server was asked the vectors of.
func texts(t *testing.T, bodies []string) (asked map[string]int) {
	t.Helper()
	asked = map[string]int{}
	for _, body := range bodies {
		var q struct{ Input []string }
		if err := json.Unmarshal([]byte(body), &q); err != nil || len(q.Input) == 0 {
			t.Fatalf("%s: %v", body, err)
		}
		for _, text := range q.Input {
			asked[text]++
		}
	}
	return asked
}

// Knowledge bases with vectors on an endpoint: any number of workers, turns that run ahead, an
// interruption and a replay come to one digest; nothing is asked for twice; the vectors decide what
// is found.
func TestVectorsOfAnEndpoint(t *testing.T) {
	p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(searchers))), "lore", true)
	if err != nil {
		t.Fatal(err)
	}
	digest := ""
	for _, c := range []struct {
		workers  int
		schedule scenes.Schedule
	}{{1, ""}, {8, ""}, {2, scenes.Speculative}} {
		if testing.Short() && c.workers == 1 {
			continue
		}
		server, to := cloud(t, "vllm")
		opt := searching(t)
		opt.Workers, opt.Schedule, opt.Endpoints = c.workers, c.schedule, to
		s := run(t, p, opt)
		if digest == "" {
			digest = s.Digest
		}
		if s.Digest != digest {
			t.Errorf("%+v: digest %s, want %s", c, s.Digest, digest)
		}
		asked := texts(t, server.sent())
		for text, n := range asked {
			if n != 1 {
				t.Errorf("%+v: %q was asked for %d times", c, text, n)
			}
		}
		if asked["The ford is deep."] != 1 || asked["deep water 1"] != 1 || asked["s_1 saw 1"] != 1 {
			t.Errorf("%+v: asked for %v", c, asked)
		}
		before := len(server.sent())
		r, err := rundir.Replay(context.Background(), opt.Dir, rundir.ReplayOptions{Verify: true})
		if err != nil || r.Scenes[0].Digest != digest || r.Scenes[0].Differs() || len(server.sent()) != before {
			t.Errorf("%+v: replay %+v, %v", c, r, err)
		}
	}
	interrupted := 0
	for _, at := range []int{1, 6, 11} {
		if testing.Short() && at != 6 {
			continue
		}
		hooked, to := serve(t, mock.Options{}, endpoint.Definition{Prices: price.List{"*": {Input: 1, Output: 2}}})
		opt := searching(t)
		opt.Endpoints = to
		ready := make(chan *Runner, 1)
		hooked.at[at] = func() {
			r := <-ready
			ready <- r
			r.Interrupt()
		}
		r, err := Start(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		ready <- r
		s := wait(t, r)
		if s.Resumable {
			interrupted++
			if r, err = Resume(opt.Dir, Options{Endpoints: opt.Endpoints}); err != nil {
				t.Fatal(err)
			}
			s = wait(t, r)
		}
		if s.Digest != digest {
			t.Errorf("interrupted at request %d: digest %s, want %s", at, s.Digest, digest)
		}
	}
	if interrupted == 0 {
		t.Error("nothing was interrupted")
	}
}

// With an endpoint that fails, words alone rank, agents observe it, and the run goes on.
func TestVectorsThatDoNotCome(t *testing.T) {
	p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(searchers))), "lore", true)
	if err != nil {
		t.Fatal(err)
	}
	_, to := cloudOf(t, "vllm", mock.Options{Key: secretKey, Faults: mock.Faults{Rates: map[string]float64{"unauthorized": 1}}})
	opt := searching(t)
	opt.Endpoints = to
	s := run(t, p, opt)
	failed := 0
	store, err := rundir.OpenStore(opt.Dir, persistence.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	journal, err := store.Journal("s")
	if err != nil {
		t.Fatal(err)
	}
	codec := protocol.NewCodec(knowledge.Facts())
	if err := journal.Scan(persistence.Query{Kinds: []string{knowledge.FactEmbedded}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		if x, ok := f.(*knowledge.Embedded); ok && strings.Contains(x.Error, "401") && len(x.Entries) == 0 && x.Reason == protocol.KindDenied {
			failed++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if s.StoppedBy != "ticks" || failed != 1 || s.Deliberations == 0 { // it is asked again after a minute
		t.Errorf("stopped by %s, %d failures, %d deliberations", s.StoppedBy, failed, s.Deliberations)
	}
}
