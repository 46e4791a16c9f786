package runner

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
)

// ledgerOf finds a budget of a run's only scene.
func ledgerOf(t *testing.T, sum *rundir.Summary, name string) rundir.Budget {
	t.Helper()
	for _, b := range sum.Budgets {
		if b.Ledger == name {
			return b
		}
	}
	t.Fatalf("no budget %s in %+v", name, sum.Budgets)
	return rundir.Budget{}
}

// Minds, §4: an endpoint's budget of a run is one more ledger of the stage. What the server counts is
// what the ledger has and never above it, and any number of workers refuses the same.
func TestBudgetOfAnEndpoint(t *testing.T) {
	for _, c := range []struct {
		on, end string
		seeds   int
	}{{"", agenda.StoppedByTicks, 0}, {budget.End, agenda.StoppedByBudget, 0}} {
		first := ""
		for _, workers := range []int{1, 8} {
			if testing.Short() && workers == 1 {
				continue
			}
			s, to := serve(t, mock.Options{}, endpoint.Definition{Budget: &budget.Budget{Tokens: 4000, OnExhausted: c.on}})
			seed, dir := uint64(7), filepath.Join(t.TempDir(), "run")
			sum := run(t, loadRacers(t), Options{Dir: dir, Seed: &seed, Agents: 100, Ticks: 4, Workers: workers, Endpoints: to})
			counted, ledger := s.Report(0), ledgerOf(t, sum, "endpoint:cloud")
			if used := counted.Input + counted.Output; used > 4000 || used < 2400 || used != ledger.Used.Tokens || ledger.Refused == 0 || sum.StoppedBy != c.end {
				t.Errorf("%d workers: the server counted %d tokens, %+v, %s", workers, used, ledger, sum.StoppedBy)
			}
			if got := fmt.Sprint(sum.Digest, ledger); first == "" {
				first = got
			} else if got != first {
				t.Errorf("%d workers: %s, want %s", workers, got, first)
			}
			if again, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
				t.Errorf("replay %+v, %v", again, err)
			}
		}
	}
}

const routed = `
-- models/voices.yaml --
kind: route
route: [{use: near}]
fallback: [{use: far}, {use: cheap}]
-- models/near.yaml --
{kind: openai, endpoint: near, model: small, params: {max_tokens: 100}, latency: none}
-- models/far.yaml --
{kind: openai, endpoint: far, model: small, params: {max_tokens: 100}, latency: none}
`

// A request that its endpoint has no room for goes to the next model of its route. If the first
// endpoint fails, too, the second one's budget holds.
func TestRouteAroundABudget(t *testing.T) {
	for _, fails := range []bool{false, true} {
		first := ""
		for _, workers := range []int{1, 8} {
			opt := mock.Options{}
			if fails {
				faults, err := mock.ParseFaults("unauthorized=1")
				if err != nil {
					t.Fatal(err)
				}
				opt.Faults = faults
			}
			near, to := serve(t, opt, endpoint.Definition{Budget: &budget.Budget{Calls: 25}})
			far, err := mock.New(mock.Options{})
			if err != nil {
				t.Fatal(err)
			}
			to = map[string]*endpoint.Endpoint{
				"near": to["cloud"], "far": served.Named(t, "far", "", far, endpoint.Definition{Preset: "vllm", Budget: &budget.Budget{Calls: 7}}),
			}
			to["near"].Name = "near"
			seed := uint64(7)
			sum := run(t, loadRacers(t, routed), Options{Dir: filepath.Join(t.TempDir(), "run"), Seed: &seed, Agents: 10, Ticks: 5, Workers: workers, Endpoints: to})
			by := map[string]int64{}
			for _, name := range []string{"near", "far"} {
				by[name] = ledgerOf(t, sum, "endpoint:"+name).Used.Calls
			}
			if !fails && (by["near"] != 25 || by["far"] != 7 || near.Report(0).Requests != 25) || by["far"] > 7 || far.Report(0).Requests != by["far"] || sum.Failed != 0 {
				t.Errorf("%v: %v, %d and %d requests, %d failed", fails, by, near.Report(0).Requests, far.Report(0).Requests, sum.Failed)
			}
			if got := fmt.Sprint(sum.Digest, by); first == "" || fails { // which calls are refused by a closed endpoint depends on timing
				first = got
			} else if got != first {
				t.Errorf("%d workers: %s, want %s", workers, got, first)
			}
		}
	}
}

// ofADay is a server, and a file with an endpoint for it that has ten calls a day.
func ofADay(t *testing.T) (m *mock.Server, file string) {
	t.Helper()
	m, err := mock.New(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(m)
	t.Cleanup(at.Close)
	file = filepath.Join(t.TempDir(), "providers.yaml")
	text := "endpoints: {cloud: {preset: vllm, base_url: \"" + at.URL + "/v1\", budget: {calls: 10, window: day}}}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return m, file
}

// A budget a day is that of all runs together.
func TestBudgetOfADay(t *testing.T) {
	m, file := ofADay(t)
	for i, want := range []int64{0, 2} {
		to, err := endpoint.Load(file, os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		sum := run(t, loadRacers(t), Options{Dir: dir, Agents: 6, Ticks: 1, Endpoints: to})
		if got := ledgerOf(t, sum, "endpoint:cloud"); got.Used.Calls != 6-want || got.Refused != want || got.Limit.Calls != 10 || got.Window != "wall_day" {
			t.Errorf("run %d: %+v", i, got)
		}
		if again, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
			t.Errorf("replay %+v, %v", again, err)
		}
		_ = to["cloud"].Close()
	}
	if n := m.Report(0).Requests; n != 10 {
		t.Errorf("%d requests", n)
	}
}

// The budget of an endpoint that a run began with may change when it goes on; one of the run cannot
// begin in the middle.
func TestResumeWithAnotherEndpointBudget(t *testing.T) {
	p, dir := loadRacers(t), filepath.Join(t.TempDir(), "run")
	_, to := serve(t, mock.Options{}, endpoint.Definition{Budget: &budget.Budget{Calls: 7, OnExhausted: budget.Pause}})
	if sum := run(t, p, Options{Dir: dir, Agents: 5, Ticks: 3, Endpoints: to}); sum.StoppedBy != agenda.StoppedByBudget || !sum.Resumable {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	_, to = serve(t, mock.Options{}, endpoint.Definition{Budget: &budget.Budget{Calls: 11}})
	r, err := Resume(dir, Options{Endpoints: to})
	if err != nil {
		t.Fatal(err)
	}
	if got := ledgerOf(t, wait(t, r), "endpoint:cloud"); got.Used.Calls != 11 || got.Limit.Calls != 11 || got.Refused != 4 {
		t.Errorf("%+v", got)
	}
	if again, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
		t.Errorf("replay %+v, %v", again, err)
	}
	dir = filepath.Join(t.TempDir(), "run")
	m, none := serve(t, mock.Options{}, endpoint.Definition{})
	began := make(chan *Runner, 1)
	m.at[1] = func() { (<-began).Interrupt() }
	if r, err = Start(p, Options{Dir: dir, Agents: 1, Ticks: 3, Endpoints: none}); err != nil {
		t.Fatal(err)
	}
	began <- r
	if !wait(t, r).Resumable {
		t.Fatal("it was not interrupted")
	}
	if _, err := Resume(dir, Options{Endpoints: to}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "nobody counted") {
		t.Error(err)
	}
}
