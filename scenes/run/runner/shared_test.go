package runner

import (
	"fmt"
	"path/filepath"
	"testing"

	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/price"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
)

// twins are agents who all ask the same.
const twins = `
-- scenes/s.yaml --
id: s
name: Twins
schema_version: "1.0"
agent_instances: [{instance_id: "s_{n}", profile_id: person, count: 1000, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {stop: {after: 30s}}
-- models/voices.yaml --
kind: openai
endpoint: cloud
model: small
params: {max_tokens: 1500, temperature: %s}
latency: none
-- workflows/think.yaml --
interfaceOutputs:
  response: {dataFlowType: STRING}
nodes:
  - {id: model, type: LLMCompletion, inputValues: {prompt: "What now?"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: model, sourceHandle: text, target: out, targetHandle: response}
`

func loadTwins(t *testing.T, temperature string) *project.Project {
	t.Helper()
	return loadText(t, "twins", fmt.Sprintf(twins, temperature))
}

// Minds, §5: at temperature 0 one answer does for all agents of a scene with the same question, whatever the number of
// workers, with turns that run ahead, and under a budget, which counts each answer. At another temperature each agent asks.
func TestSharedAnswers(t *testing.T) {
	agents, ticks := 1000, int64(3)
	if testing.Short() {
		agents = 100
	}
	p := loadTwins(t, "0")
	tight := fmt.Sprintf("tokens=%d", 30*agents) // of 15 for each answer
	digests := map[string]string{}               // by budget
	for _, c := range []struct {
		workers  int
		schedule scenes.Schedule
		budget   string
	}{{1, "", ""}, {2, "", ""}, {8, "", ""}, {8, scenes.Speculative, ""}, {1, "", tight}, {8, "", tight}, {8, scenes.Tracked, tight}} {
		s, to := serve(t, mock.Options{}, endpoint.Definition{Prices: price.List{"*": {Input: 1, Output: 2}}})
		seed := uint64(7)
		opt := Options{Dir: filepath.Join(t.TempDir(), "run"), Seed: &seed, Agents: agents, Ticks: ticks, Workers: c.workers, Endpoints: to, Schedule: c.schedule}
		if c.budget != "" {
			opt.Budget = parsed(t, c.budget)
		}
		sum := run(t, p, opt)
		a, asked := sum.Model.Answers, s.Report(0).Requests
		if asked != 1 || a == nil || a.Asked != 1 || a.Shared+a.Asked != sum.Model.Calls-sum.Model.Failed || a.Saved != a.Shared*a.Paid {
			t.Errorf("%+v: %d requests, %+v of %d calls, %d failed", c, asked, a, sum.Model.Calls, sum.Model.Failed)
		}
		if c.budget != "" && (sum.Budgets[0].Used.Tokens != sum.Model.Tokens.Input+sum.Model.Tokens.Output || sum.Model.Failed == 0) {
			t.Errorf("%+v: the budget has %+v; %+v", c, sum.Budgets[0], sum.Model)
		}
		if d := digests[c.budget]; d != "" && d != sum.Digest {
			t.Errorf("%+v: digest %s, want %s", c, sum.Digest, d)
		}
		digests[c.budget] = sum.Digest
	}
	// After an interruption nobody asks for an answer that was kept, and one asks for all others.
	s, to := serve(t, mock.Options{}, endpoint.Definition{Prices: price.List{"*": {Input: 1, Output: 2}}})
	seed, began := uint64(7), make(chan *Runner, 1)
	opt := Options{Dir: filepath.Join(t.TempDir(), "run"), Seed: &seed, Agents: agents, Ticks: ticks, Workers: 2, Endpoints: to, Budget: parsed(t, tight)}
	s.at[1] = func() {
		r := <-began
		r.Interrupt()
	}
	r, err := Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	began <- r
	if sum := wait(t, r); !sum.Resumable {
		t.Fatal("it was not interrupted")
	}
	if r, err = Resume(opt.Dir, Options{Endpoints: to, Workers: 8}); err != nil {
		t.Fatal(err)
	}
	if sum := wait(t, r); sum.Digest != digests[tight] || s.Report(0).Requests > 2 {
		t.Errorf("resumed: digest %s, want %s; %d requests", sum.Digest, digests[tight], s.Report(0).Requests)
	}
	v, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true})
	if err != nil || v.Scenes[0].Digest != digests[tight] || v.Scenes[0].Differs() {
		t.Errorf("replay: %+v, %v", v, err)
	}
	for _, temperature := range []string{"0.1", "null"} {
		s, to := serve(t, mock.Options{}, endpoint.Definition{})
		sum := run(t, loadTwins(t, temperature), Options{Dir: filepath.Join(t.TempDir(), "run"), Agents: 20, Ticks: ticks, Endpoints: to})
		if asked := s.Report(0).Requests; asked != sum.Model.Calls || sum.Model.Answers.Shared != 0 || asked != 60 {
			t.Errorf("temperature %s: %d requests for %d calls", temperature, asked, sum.Model.Calls)
		}
	}
}
