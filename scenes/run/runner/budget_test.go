package runner

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/llm/price"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

const racers = `
-- scenes/s.yaml --
id: s
name: Race
schema_version: "1.0"
agent_instances: [{instance_id: "s_{n}", profile_id: person, count: 1000, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {stop: {after: 30s}}
-- models/voices.yaml --
kind: openai
endpoint: cloud
model: small
params: {max_tokens: 1500}
latency: none
-- models/cheap.yaml --
otherwise: I save.
`

func loadRacers(t *testing.T, more ...string) *project.Project {
	t.Helper()
	return loadText(t, "race", racers+strings.Join(more, ""))
}

// loadText loads a project of the base and the files of an archive.
func loadText(t *testing.T, name, text string) *project.Project {
	t.Helper()
	p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), name, true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// server is a server of models that does something at a request.
type server struct {
	*mock.Server
	mu sync.Mutex
	n  int
	at map[int]func()
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	do := s.at[s.n]
	s.mu.Unlock()
	if do != nil {
		do()
	}
	s.Server.ServeHTTP(w, r)
}

func serve(t *testing.T, opt mock.Options, d endpoint.Definition) (*server, map[string]*endpoint.Endpoint) {
	t.Helper()
	m, err := mock.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Server: m, at: map[int]func(){}}
	d.Preset = "vllm"
	return s, map[string]*endpoint.Endpoint{"cloud": served.Named(t, "cloud", "", s, d)}
}

func parsed(t *testing.T, text string) *budget.Budget {
	t.Helper()
	b, err := budget.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Minds, acceptance row 6: 1,000 agents race for 100,000 tokens over HTTP. What the
// server counts is not above the budget and is what the ledger says; 1, 2 and 8 workers
// refuse the same requests, and so does a run that was interrupted.
func TestRace(t *testing.T) {
	p, agents, tokens := loadRacers(t), 300, 30_000
	if testing.Short() {
		agents, tokens = 100, 10_000
	}
	first := ""
	for _, c := range []struct{ workers, interrupt int }{{1, 0}, {8, 0}, {2, agents / 3}} {
		if testing.Short() && c.interrupt == 0 {
			continue
		}
		s, to := serve(t, mock.Options{}, endpoint.Definition{})
		seed := uint64(7)
		opt := Options{Dir: filepath.Join(t.TempDir(), "run"), Seed: &seed, Agents: agents, Workers: c.workers, Endpoints: to, Budget: parsed(t, fmt.Sprintf("tokens=%d", tokens))}
		began := make(chan *Runner, 1)
		if c.interrupt > 0 {
			s.at[c.interrupt] = func() {
				r := <-began
				r.Interrupt()
			}
		}
		r, err := Start(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		began <- r
		sum := wait(t, r)
		if c.interrupt > 0 {
			if !sum.Resumable {
				t.Fatal("it was not interrupted")
			}
			if r, err = Resume(opt.Dir, Options{Endpoints: to, Workers: 8}); err != nil {
				t.Fatal(err)
			}
			sum = wait(t, r)
		}
		counted, ledger := s.Report(0), sum.Budgets[0]
		if used := counted.Input + counted.Output; used > int64(tokens) || used != ledger.Used.Tokens || counted.Requests != ledger.Used.Calls {
			t.Errorf("%+v: the server counted %d tokens of %d requests, the ledger has %+v", c, used, counted.Requests, ledger)
		}
		if ledger.Refused == 0 || sum.StoppedBy != agenda.StoppedByBudget || !sum.Ended || ledger.Used.Tokens < int64(tokens)-1600 {
			t.Errorf("%+v: %+v, stopped by %s", c, ledger, sum.StoppedBy)
		}
		if got := fmt.Sprint(sum.Digest, ledger); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%+v: %s\nwant %s", c, got, first)
		}
		if again, err := rundir.Replay(context.Background(), opt.Dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
			t.Errorf("%+v: replay %+v, %v", c, again, err)
		}
	}
}

// With a budget in dollars nothing leaves for a model that nobody has a price for, and
// what has one is bounded by it.
func TestDollars(t *testing.T) {
	p := loadRacers(t)
	no := false
	for _, c := range []struct {
		name  string
		d     endpoint.Definition
		asked bool
		end   string
	}{
		{"no price", endpoint.Definition{Free: &no}, false, agenda.StoppedByBudget},
		{"a price", endpoint.Definition{Prices: price.List{"*": {Input: 1, Output: 2}}}, true, agenda.StoppedByBudget},
		{"free", endpoint.Definition{}, true, agenda.StoppedByTicks},
	} {
		s, to := serve(t, mock.Options{}, c.d)
		sum := run(t, p, Options{Dir: filepath.Join(t.TempDir(), "run"), Agents: 20, Ticks: 3, Endpoints: to, Budget: parsed(t, "dollars=0.0035")})
		ledger, counted := sum.Budgets[0], s.Report(0)
		if (counted.Requests > 0) != c.asked || sum.StoppedBy != c.end {
			t.Errorf("%s: %d requests, stopped by %s", c.name, counted.Requests, sum.StoppedBy)
		}
		cost := int64(0)
		if c.name == "a price" {
			cost = counted.Input*1000 + counted.Output*2000
		}
		if ledger.Used.Nano != cost || cost > 3_500_000 {
			t.Errorf("%s: %+v, and the server's tokens cost %d", c.name, ledger, cost)
		}
		if c.name == "no price" && (len(sum.Troubles) == 0 || !strings.Contains(sum.Troubles[0], "nothing leaves")) {
			t.Errorf("%v", sum.Troubles)
		}
	}
}

// An exhausted budget gives the request to another model of the project. Its script
// counts nothing.
func TestDegrade(t *testing.T) {
	s, to := serve(t, mock.Options{}, endpoint.Definition{})
	sum := run(t, loadRacers(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Agents: 10, Ticks: 3, Endpoints: to, Budget: parsed(t, "calls=7,on_exhausted=degrade:cheap")})
	if ledger := sum.Budgets[0]; ledger.Used.Calls != 7 || s.Report(0).Requests != 7 || ledger.Degraded != 23 || ledger.Refused != 0 || sum.Failed != 0 || sum.StoppedBy != agenda.StoppedByTicks {
		t.Errorf("%+v, %d requests, %d failed, %s", ledger, s.Report(0).Requests, sum.Failed, sum.StoppedBy)
	}
}

// A budget pauses the run, and a larger one lets it go on. Without one nobody can raise it.
func TestPauseAndRaise(t *testing.T) {
	p := loadRacers(t)
	dir := filepath.Join(t.TempDir(), "run")
	_, to := serve(t, mock.Options{}, endpoint.Definition{})
	sum := run(t, p, Options{Dir: dir, Agents: 10, Ticks: 3, Endpoints: to, Budget: parsed(t, "calls=7,on_exhausted=pause")})
	if sum.StoppedBy != agenda.StoppedByBudget || !sum.Resumable || sum.Budgets[0].Refused != 3 {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	r, err := Resume(dir, Options{Endpoints: to, Budget: parsed(t, "calls=1000")})
	if err != nil {
		t.Fatal(err)
	}
	sum = wait(t, r)
	if sum.StoppedBy != agenda.StoppedByTicks || sum.Budgets[0].Used.Calls != 27 || sum.Budgets[0].Limit.Calls != 1000 {
		t.Errorf("%+v %+v", sum.StoppedBy, sum.Budgets)
	}
	if m, err := rundir.ReadManifest(dir); err != nil || m.Budget.String() != "calls=1000" {
		t.Errorf("%v, %v", m, err)
	}
	if again, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
		t.Errorf("replay %+v, %v", again, err)
	}
	dir = filepath.Join(t.TempDir(), "run")
	run(t, p, Options{Dir: dir, Agents: 1, Ticks: 1, Endpoints: to})
	if _, err := Resume(dir, Options{Endpoints: to, Budget: parsed(t, "calls=1")}); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("%v", err)
	}
}

// A pause that a person asked for in the wave in which a budget demanded the end does not take that back:
// when the scene goes on, in this process or in the next, it ends as it does without the pause.
func TestPauseKeepsTheEnd(t *testing.T) {
	p, deliberations := loadRacers(t), int64(0)
	for _, c := range []string{"no pause", "goes on", "resumed"} {
		s, to := serve(t, mock.Options{}, endpoint.Definition{})
		opt := Options{Dir: filepath.Join(t.TempDir(), "run"), Agents: 10, Ticks: 5, Endpoints: to, Budget: parsed(t, "calls=7,on_exhausted=end")}
		began := make(chan *Runner, 1)
		if c != "no pause" {
			s.at[1] = func() {
				r := <-began
				r.Scenes[0].Run.Pause()
				began <- r
			}
		}
		r, err := Start(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		began <- r
		if c != "no pause" && !r.Scenes[0].Run.WaitPaused(t.Context()) {
			t.Fatal("it does not rest")
		}
		switch c {
		case "goes on":
			r.Continue()
		case "resumed":
			r.Interrupt()
			if sum := wait(t, r); !sum.Resumable {
				t.Fatalf("%+v", sum.SceneSummary)
			}
			if r, err = Resume(opt.Dir, Options{Endpoints: to}); err != nil {
				t.Fatal(err)
			}
		}
		sum := wait(t, r)
		if deliberations == 0 {
			deliberations = sum.Deliberations
		}
		if ledger := sum.Budgets[0]; sum.StoppedBy != agenda.StoppedByBudget || !sum.Ended || ledger.Refused != 3 || sum.Deliberations != deliberations {
			t.Errorf("%s: stopped by %s after %d deliberations, want %d; %+v", c, sum.StoppedBy, sum.Deliberations, deliberations, ledger)
		}
		if again, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() || again.Scenes[0].Digest != sum.Digest {
			t.Errorf("%s: replay %+v, %v", c, again, err)
		}
	}
}

// An attempt that may have cost something counts as much as it may have taken, and is
// not made again by the gate; one that the server refused is, and counts nothing. The
// server's count stays below the budget.
func TestLostAttempts(t *testing.T) {
	faults, err := mock.ParseFaults("server_error=0.2,rate_limited=0.2")
	if err != nil {
		t.Fatal(err)
	}
	first, all := "", []int{8} // TestReplayUnderABudget plays lost attempts with one worker, too
	if scenestest.Long() {
		all = []int{1, 8}
	}
	for _, workers := range all {
		s, to := serve(t, mock.Options{Faults: faults}, endpoint.Definition{})
		dir, seed := filepath.Join(t.TempDir(), "run"), uint64(7)
		sum := run(t, loadRacers(t), Options{Dir: dir, Seed: &seed, Agents: 20, Ticks: 3, Workers: workers, Endpoints: to, Budget: parsed(t, "tokens=60000")})
		counted, ledger := s.Report(0), sum.Budgets[0]
		if lost := ledger.Used.Tokens - counted.Input - counted.Output; lost < 1500 || ledger.Used.Tokens > 60000 || counted.Faults["rate_limited"] == 0 || counted.Requests <= ledger.Used.Calls {
			t.Errorf("%d tokens lost, %+v, the server counted %+v", lost, ledger, counted)
		}
		if got := fmt.Sprint(sum.Digest, ledger); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%d workers: %s\nwant %s", workers, got, first)
		}
		if again, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
			t.Errorf("replay %+v, %v", again, err)
		}
	}
}

// On the realtime clock a request is granted when it comes, and the budget holds.
func TestBudgetInRealtime(t *testing.T) {
	s, to := serve(t, mock.Options{}, endpoint.Definition{})
	sum := run(t, loadRacers(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Realtime, Agents: 30, For: time.Minute, Endpoints: to, Budget: parsed(t, "tokens=1800")})
	counted, ledger := s.Report(0), sum.Budgets[0]
	if used := counted.Input + counted.Output; used == 0 || used > 1800 || used != ledger.Used.Tokens || ledger.Refused == 0 || sum.StoppedBy != agenda.StoppedByBudget {
		t.Errorf("%d tokens, %+v, stopped by %s", used, ledger, sum.StoppedBy)
	}
}

// Budgets that no run can have.
func TestBadBudgets(t *testing.T) {
	for text, want := range map[string]string{"calls=5,on_exhausted=degrade:dear": "models/dear.yaml"} {
		if _, err := Start(loadRacers(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Budget: parsed(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A turn that has ended has settled: an earlier one that asks a second time gets the rest, and
// does not wait for its reservation.
func TestSecondRequest(t *testing.T) {
	p := loadRacers(t, `
-- agent_profiles/twice.yaml --
id: twice
name: T
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: twice
-- workflows/twice.yaml --
interfaceInputs:
  turn: {dataFlowType: INTEGER}
interfaceOutputs:
  response: {dataFlowType: STRING}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "Turn {{.turn}}."}}
  - {id: first, type: LLMCompletion}
  - {id: again, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: first, targetHandle: prompt}
  - {source: first, sourceHandle: text, target: again, targetHandle: prompt}
  - {source: again, sourceHandle: text, target: out, targetHandle: response}
-- scenes/s.yaml --
id: s
name: Race
schema_version: "1.0"
agent_instances:
  - {instance_id: a, profile_id: twice, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: b, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
simulation: {stop: {ticks: 1}}
`)
	_, to := serve(t, mock.Options{}, endpoint.Definition{})
	sum := run(t, p, Options{Dir: filepath.Join(t.TempDir(), "run"), Endpoints: to, Budget: parsed(t, "tokens=3055")})
	if sum.StoppedBy != agenda.StoppedByTicks || sum.Budgets[0].Used.Calls != 3 {
		t.Errorf("%+v", sum.SceneSummary)
	}
}
