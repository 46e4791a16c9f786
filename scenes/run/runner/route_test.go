package runner

import (
	"context"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

const choosing = `-- models/thinker.yaml --
kind: route
route:
  - { when: "self.instance_id === 'c_1'", use: rules }
  - { use: first }
fallback:
  - { use: second }
patience: 300ms
-- models/rules.yaml --
rules: [{ answer: "By rule.", latency: { fixed: 200ms } }]
-- models/first.yaml --
kind: openai
endpoint: busy
model: small
-- models/second.yaml --
kind: openai
endpoint: cloud
model: large
params: { temperature: 0 }
`

// bad is an endpoint of the name busy that fails every time, beside the one that answers.
func bad(t *testing.T, fault string) (failing *mock.Server, answering *counting, to map[string]*endpoint.Endpoint) {
	t.Helper()
	failing, err := mock.New(mock.Options{Faults: mock.Faults{Rates: map[string]float64{fault: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	answering, good := cloud(t, "vllm")
	to = map[string]*endpoint.Endpoint{"busy": served.Named(t, "busy", "", failing, endpoint.Definition{Preset: "vllm"})}
	maps.Copy(to, good)
	return failing, answering, to
}

func chooses(t *testing.T) *project.Project {
	t.Helper()
	p, err := LoadFS(scenestest.TownFS(choosing), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eachAnswer reads the answers of models in the journal of a run.
func eachAnswer(t *testing.T, dir string, yield func(agent string, x *agentfact.ModelAnswered)) {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	ids, err := o.Scenes("")
	if err != nil {
		t.Fatal(err)
	}
	j, err := o.Store.Journal(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	codec := machines.NewCodec()
	if err := j.Scan(persistence.Query{Kinds: []string{agentfact.FactModelAnswered}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err == nil {
			yield(r.Actor, f.(*agentfact.ModelAnswered))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func eachServed(t *testing.T, dir string, yield func(*llm.Served)) {
	eachAnswer(t, dir, func(name string, x *agentfact.ModelAnswered) {
		if x.Error != "" || x.Origin == nil || len(x.Origin.Served) == 0 {
			t.Errorf("%s: %+v", name, x)
			return
		}
		yield(llm.ServedOf(x.Origin.Served))
	})
}

// servedBy are the choices that the journal of a run has, and how often.
func servedBy(t *testing.T, dir string) map[string]int {
	all := map[string]int{}
	eachServed(t, dir, func(s *llm.Served) {
		text := s.By
		for _, step := range s.Steps {
			text += " " + step.Model + "/" + strconv.FormatInt(step.Entry, 10) + step.After
		}
		all[text]++
	})
	eachAnswer(t, dir, func(name string, x *agentfact.ModelAnswered) {
		s := llm.ServedOf(x.Origin.Served)
		if (s.By == llm.ByRule) != (name == "c_1") || s.By == llm.ByLLM && (x.Origin.Endpoint != "cloud" || len(x.Origin.Question) != 32) {
			t.Errorf("%s: %+v of %+v", name, s, x.Origin)
		}
	})
	return all
}

// An endpoint takes nothing: the fallback answers all of its requests. Any workers, the
// recorded answers and a fork give the same digest; a replay needs no network.
func TestFallbackOverHTTP(t *testing.T) {
	p := chooses(t)
	failing, answering, to := bad(t, "quota")
	var first *rundir.Summary
	var dir string
	for _, workers := range []int{1, 8} {
		before := answering.Report(0).Requests
		opt := thinking(t)
		opt.Workers, opt.Endpoints = workers, to
		dir = opt.Dir
		s := run(t, p, opt)
		if first == nil {
			first = s
		}
		choices := servedBy(t, dir)
		asked := answering.Report(0).Requests - before
		if s.Digest != first.Digest || len(choices) != 2 || choices["rule rules/1"] == 0 || int64(choices["llm first/2 second/1quota"]) != asked || s.Model.Failed != 0 {
			t.Errorf("%d workers: digest %s, want %s; %v, %d requests, %+v", workers, s.Digest, first.Digest, choices, asked, s.Model)
		}
	}
	if n := failing.Report(0).Requests; n == 0 || n > 30 {
		t.Errorf("the closed endpoint was asked %d times", n)
	}
	asked := answering.Report(0).Requests
	r, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil || r.Scenes[0].Digest != first.Digest || r.Scenes[0].Differs() {
		t.Errorf("replay: %+v, %v", r, err)
	}
	again := thinking(t)
	again.Answers, again.OnMiss = dir, MissFail
	if s := run(t, p, again); s.Digest != first.Digest || s.Model.Answers.Asked != 0 || s.Model.Answers.Reused == 0 {
		t.Errorf("recorded answers: digest %s, want %s; %+v", s.Digest, first.Digest, s.Model.Answers)
	}
	fork := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), dir, fork, rundir.ForkOptions{At: "wave:" + strconv.FormatUint(first.Waves/2, 10)}); err != nil {
		t.Fatal(err)
	}
	f, err := Resume(fork, Options{Endpoints: to})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.Wait(); err != nil || s.Digest != first.Digest {
		t.Errorf("fork: digest %s, want %s; %v", s.Digest, first.Digest, err)
	}
	if now := answering.Report(0).Requests; now != asked {
		t.Errorf("%d requests more", now-asked)
	}
}

// Under a budget a fallback takes over only what cost nothing: an attempt that may have
// cost something has taken what was reserved for the request.
func TestFallbackUnderABudget(t *testing.T) {
	for fault, costs := range map[string]bool{"quota": false, "server_error": true} {
		_, answering, to := bad(t, fault)
		opt := thinking(t)
		opt.Endpoints, opt.Budget = to, parsed(t, "tokens=10000000")
		s := run(t, chooses(t), opt)
		counted, ledger := answering.Report(0), s.Budgets[0]
		if counted.Requests == 0 || (s.Model.Failed > 0) != costs {
			t.Errorf("%s: the fallback got %d requests, %d failed", fault, counted.Requests, s.Model.Failed)
		}
		if rest := ledger.Used.Tokens - counted.Input - counted.Output; rest < 0 || (rest > 1000) != costs { // the script takes some
			t.Errorf("%s: %d tokens beside those of the fallback, the ledger has %+v", fault, rest, ledger)
		}
	}
}

// A rate limit ends with the patience of the route: no turn is lost.
func TestRateLimitedFallsBack(t *testing.T) {
	failing, answering, to := bad(t, "rate_limited_bare")
	opt := thinking(t)
	opt.Ticks, opt.Endpoints = 3, to
	s := run(t, chooses(t), opt)
	n := 0
	for what, k := range servedBy(t, opt.Dir) {
		if strings.HasPrefix(what, "llm first/2 second/1") {
			n += k
		}
	}
	if s.Model.Failed != 0 || n == 0 || int64(n) != answering.Report(0).Requests || failing.Report(0).Requests == 0 {
		t.Errorf("%d fallbacks, %d answers, %d refusals; %+v", n, answering.Report(0).Requests, failing.Report(0).Requests, s.Model)
	}
}
