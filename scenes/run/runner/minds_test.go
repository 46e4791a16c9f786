package runner

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/knowledge"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/price"
	"tavernsim/llm/scripted"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// mindsEnv lets a child run the talkers.
const mindsEnv = "SIMD_MINDS_CHILD"

// talkers ask a model what to say and one for vectors, rest at their ceilings, remember what was said
// by partners, and let a model summarise it.
const talkers = `
-- agent_profiles/talker.yaml --
id: talker
name: Talker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
prompt: {persona: "You are {{.self.instance_id}}.", instruction: "Answer.", output: 40}
knowledge_base_references: [{source_id: lore, alias: lore, access_permissions: [read, write_caiu]}]
subscribed_event_types: [agent.said]
memory: {episodes: {recall: 3}, history: {tokens: 60, partners: 3}, summary: {by: model, tokens: 40}}
ceilings: {tokens_per_hour: 2500, max_deliberation_hz: 0.01, share: 0.2}
custom_runtime_config: {deliberation_frequency_hz: 0.002}
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
embedding: {model: near, above: 0.1}
learning: {recall: 1}
entries:
  - {id: ford, entry_type: lore, content: The ford is deep., activation_criteria: {similar: {above: 0.05}}}
  - {id: tax, entry_type: best_practice, content: Taxes are due.}
-- models/near.yaml --
kind: embedder
endpoint: cloud
model: small
dimensions: 32
-- models/voices.yaml --
otherwise: ""
-- models/thinker.yaml --
kind: openai
endpoint: cloud
model: thinker
-- scenes/s.yaml --
id: s
name: Talk
schema_version: "1.0"
agent_instances: [{instance_id: "t_{n}", profile_id: talker, count: 4}]
simulation: {tick: 1m, seed: 7, stop: {after: 4h}}
`

func talkersFS() fs.FS {
	return scenestest.Files(scenestest.Base(), txtar.Parse([]byte(talkers)))
}

// kinds counts the facts of a run, and what of them was a failure.
func kinds(t *testing.T, dir string) (n map[string]int) {
	t.Helper()
	n = map[string]int{}
	store, err := rundir.OpenStore(dir, persistence.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	journal, err := store.Journal("s")
	if err != nil {
		t.Fatal(err)
	}
	codec := protocol.NewCodec(append(agentfact.Facts(), knowledge.Facts()...))
	if err := journal.Scan(persistence.Query{Kinds: []string{agentfact.FactSummarised, agentfact.FactRests, knowledge.FactEmbedded, agentfact.FactModelAnswered}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		n[r.Kind]++
		if x, ok := f.(*agentfact.Summarised); ok && x.Error != "" {
			n["failed "+r.Kind]++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// Minds §5, §10, §12: agents with vectors, ceilings and summaries by a model, killed at random
// requests and resumed, end as if nobody had killed them; their histories are decided again without a
// network; a fork asks for nothing that the run it is of has.
func TestMindsKilled(t *testing.T) {
	t.Setenv(mindsEnv, "1")
	kills := 5
	if scenestest.Long() {
		kills = 60
	} else if testing.Short() {
		t.Skip("processes are killed")
	}
	m, err := mock.New(mock.Options{Latency: scripted.Latency{Median: protocol.Duration(3e6), Sigma: 0.5}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	b := &billing{Handler: m, by: map[string]int{}}
	at := httptest.NewServer(b)
	defer at.Close()
	b.arm(true, -1, nil)
	whole := filepath.Join(t.TempDir(), "whole")
	want, _ := b.run(t, whole, at.URL, 0)
	facts := kinds(t, whole)
	if facts[agentfact.FactSummarised] == 0 || facts[agentfact.FactRests] == 0 || facts[knowledge.FactEmbedded] == 0 || facts["failed "+agentfact.FactSummarised] > 0 {
		t.Fatalf("nothing to kill: %v", facts)
	}
	total := b.total
	rng := rand.New(rand.NewPCG(crashSeed(t), 0))
	dir := ""
	for done := 0; done < kills; {
		dir = filepath.Join(t.TempDir(), "run")
		for life := 0; ; life++ {
			after := 1 + rng.IntN(total/2)
			if done == kills || life == killsPerRun {
				after = 0
			}
			digest, killed := b.run(t, dir, at.URL, after)
			if !killed {
				if digest != want {
					t.Fatalf("after %d kills the digest is %s, want %s", life, digest, want)
				}
				break
			}
			done++
		}
	}
	asked := b.total
	r, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil || r.Scenes[0].Differs() || r.Scenes[0].Digest != want {
		t.Errorf("replay %+v, %v", r, err)
	}
	fork := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), dir, fork, rundir.ForkOptions{At: "wave:" + strconv.FormatUint(r.Scenes[0].Waves/2, 10)}); err != nil {
		t.Fatal(err)
	}
	e, err := endpoint.New("cloud", endpoint.Definition{Preset: "vllm", BaseURL: at.URL + "/v1"}, "", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Resume(fork, Options{Endpoints: map[string]*endpoint.Endpoint{"cloud": e}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.Wait(); err != nil || s.Digest != want || b.total != asked {
		t.Errorf("fork: digest %s, want %s; %d requests more; %v", s.Digest, want, b.total-asked, err)
	}
	t.Logf("%d kills of %d requests: %v", kills, total, facts)
}

// Minds §4, row 6: a budget holds for vectors, too. What it refuses leaves words alone, and does not
// depend on workers.
func TestVectorsUnderABudget(t *testing.T) {
	p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(searchers))), "lore", true)
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, workers := range []int{1, 8} {
		s, to := serve(t, mock.Options{}, endpoint.Definition{Prices: price.List{"*": {Input: 1, Output: 2}}})
		opt := searching(t)
		opt.Workers, opt.Endpoints, opt.Budget = workers, to, parsed(t, "tokens=150")
		sum := run(t, p, opt)
		ledger := sum.Budgets[0]
		if counted := s.Report(0); ledger.Refused == 0 || ledger.Used.Tokens > 150 || counted.Input+counted.Output > 150 || counted.Requests == 0 {
			t.Errorf("%d workers: the server counted %d tokens, the ledger has %+v", workers, counted.Input+counted.Output, ledger)
		}
		if first == "" {
			first = sum.Digest
		}
		if sum.Digest != first {
			t.Errorf("%d workers: digest %s, want %s", workers, sum.Digest, first)
		}
	}
}
