package estimate_test

import (
	"context"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/price"
	"tavernsim/persistence"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/estimate"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// market is the example with a model at an endpoint.
func market(t *testing.T) *project.Project { return ending(t, "{ticks: 100}", "") }

// ending is the same with another end, and more in the scene's file.
func ending(t *testing.T, stop, more string) *project.Project {
	t.Helper()
	all := fstest.MapFS{"models/thinker.yaml": {Data: []byte("kind: openai\nendpoint: cloud\nmodel: small\nlatency: none\nparams: {max_tokens: 100}\n")}}
	all["models/other.yaml"] = all["models/thinker.yaml"]
	all["models/brain.yaml"] = &fstest.MapFile{Data: []byte("kind: route\nroute: [{when: \"self.ordinal % 2 === 0\", use: thinker}, {use: other}]\nfallback: [{use: other}]\n")}
	from, err := fs.Sub(os.DirFS("../../examples"), "market")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, path)
		if path == "scenes/market_day.yaml" {
			data = []byte(strings.Replace(string(data), "stop: {ticks: 100}", "stop: "+stop, 1) + more)
		}
		if path == "agent_profiles/trader.yaml" && strings.Contains(more, "# beside those of traders") {
			data = append(data, "budget_per_agent: {calls: 1}\n"...) // refuses, and ends nothing
		}
		all[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := runner.LoadFS(all, "market", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cloud fails the test if somebody asks it.
func cloud(t *testing.T, prices price.List) map[string]*endpoint.Endpoint {
	t.Helper()
	at := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an endpoint was asked") }))
	t.Cleanup(at.Close)
	e, err := endpoint.New("cloud", endpoint.Definition{BaseURL: at.URL, Prices: prices}, "", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return map[string]*endpoint.Endpoint{"cloud": e}
}

// Promises 1, 2, 3, 5: what is computed of a part is near what scripts do in the whole run; nothing
// is asked, nothing stays.
func TestEstimate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	seed := uint64(7)
	opt := runner.Options{Agents: 400, Ticks: 20, Seed: &seed, Model: "thinker", Endpoints: cloud(t, price.List{"small": {Input: 1, Output: 2}})}
	p := market(t)
	r, err := estimate.Run(context.Background(), p, opt, time.Minute)
	if err != nil || len(r.Scenes) != 1 || len(r.Scenes[0].Models) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	whole := scripted(t, p, opt)
	s, m := r.Scenes[0], r.Scenes[0].Models[0]
	if s.Agents != whole.Agents || s.Played >= 100 || s.Played < 20 || s.Seconds != s.PlayedSeconds || m.Model != "thinker" || m.Asked != "small" {
		t.Errorf("%+v of %d agents", s, whole.Agents)
	}
	for name, x := range map[string][2]int64{"calls": {m.Calls, whole.Model.Calls}, "in": {m.Input, whole.Model.Tokens.Input}, "out": {m.Output, whole.Model.Tokens.Output}} {
		if math.Abs(float64(x[0]-x[1])) > 0.1*float64(x[1]) {
			t.Errorf("%s: %d, in the whole run %d", name, x[0], x[1])
		}
	}
	if want := 1000*m.Input + 2000*m.Output; math.Abs(float64(m.Cost-want)) > 1e-3*float64(want) || m.Low > m.Cost || m.High < m.Cost || m.Worst < m.High || r.Cost != m.Cost || r.Worst != m.Worst {
		t.Errorf("%+v, want %d", m, want)
	}
	if m.MaxOutput != 100*m.Calls || m.MaxInput < m.Input {
		t.Errorf("at most %d in and %d out of %d calls", m.MaxInput, m.MaxOutput, m.Calls)
	}
}

// What ends a scene by what all its agents do ends it as early with more of them: its figures are not
// multiplied. Dollars end it, although scripts cost none.
func TestSharedEnds(t *testing.T) {
	seed := uint64(7)
	opt := runner.Options{Agents: 400, Seed: &seed, Model: "thinker", Endpoints: cloud(t, price.List{"small": {Input: 1, Output: 2}})}
	for _, c := range []struct {
		stop, more, by, end string // end = what it is said to end by, if what was played did not
		most                int64  // tokens
	}{
		{"{ticks: 100, tokens: 20000}", "", agenda.StoppedByTokens, "", 20_000},
		{"{ticks: 100}", "budget: {tokens: 20000}\n", agenda.StoppedByBudget, "", 20_000},
		{"{ticks: 100}", "budget: {tokens: 6000} # beside those of traders\n", agenda.StoppedByTicks, "budget", 6_000},
		{"{ticks: 5, tokens: 60000}", "", agenda.StoppedByTicks, "stop.tokens", 60_000},
		{"{ticks: 5, deliberations: 150}", "", agenda.StoppedByTicks, "stop.deliberations", 10_000},
		{"{ticks: 5}", "budget: {tokens: 60000}\n", agenda.StoppedByTicks, "budget", 60_000},
		{"{ticks: 20, dollars: 0.02}", "", agenda.StoppedByTicks, "stop.dollars", 20_000},
	} {
		if testing.Short() && c.stop != "{ticks: 100}" {
			continue
		}
		r := estimated(t, ending(t, c.stop, c.more), opt)
		s, m, said := r.Scenes[0], r.Scenes[0].Models[0], strings.Join(r.Assumed, "\n")
		if took := m.Input + m.Output; s.StoppedBy != c.by || s.Played == s.Agents || took < c.most/4 || took > c.most*3/2 || m.High > m.Worst {
			t.Errorf("%s %s: %+v", c.stop, c.more, s)
		}
		if says := "would end by its " + c.end; c.end != "" && (s.Seconds >= s.PlayedSeconds || !strings.Contains(said, says)) || c.end == "" && strings.Contains(said, says) {
			t.Errorf("%s %s: %+v %s", c.stop, c.more, s, said)
		}
	}
}

func scripted(t *testing.T, p *project.Project, opt runner.Options) *rundir.SceneSummary {
	t.Helper()
	opt.Dir, opt.Model, opt.Durability = filepath.Join(t.TempDir(), "run"), "scripted", persistence.Memory
	run, err := runner.Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := run.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return sum.SceneSummary
}

// A model without a price is named, and a scene that is not played to its end is computed
// from its time.
func TestUnpricedAndCut(t *testing.T) {
	p := market(t)
	opt := runner.Options{Ticks: 1_000_000, Model: "thinker", Endpoints: cloud(t, nil)}
	r, err := estimate.Run(context.Background(), p, opt, 300*time.Millisecond)
	for most := time.Second; err == nil && len(r.Scenes[0].Models) == 0 && most < time.Hour; most *= 4 { // a busy machine: nobody was asked yet
		r, err = estimate.Run(context.Background(), p, opt, most)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Scenes[0]; !slices.Equal(r.Unknown, []string{"thinker"}) || r.Cost != 0 || s.StoppedBy != "interrupt" || s.Seconds <= s.PlayedSeconds || len(s.Models) == 0 || s.Models[0].Priced || s.Models[0].Calls == 0 {
		t.Errorf("%+v", r)
	}
	opt.Endpoints, opt.Ticks = nil, 3
	r, err = estimate.Run(context.Background(), p, opt, time.Minute)
	if err != nil || !strings.Contains(strings.Join(r.Assumed, "\n"), "there is no file of endpoints") {
		t.Errorf("%+v, %v", r, err)
	}
	opt.Model = "scripted"
	if r, err = estimate.Run(context.Background(), p, opt, time.Minute); err != nil || len(r.Scenes[0].Models) != 0 || len(r.Unknown) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Promise 4, of the run's budget and those of endpoints. What a route chooses is asked.
func TestBudgets(t *testing.T) {
	p, seed := market(t), uint64(7)
	one := estimated(t, p, runner.Options{Agents: 60, Ticks: 5, Seed: &seed, Model: "thinker", Endpoints: cloud(t, price.List{"small": {Input: 1, Output: 2}})})
	m := one.Scenes[0].Models[0]
	for _, c := range []struct {
		budget budget.Budget
		want   string
	}{
		{budget.Budget{Calls: m.Calls}, estimate.Suffices}, {budget.Budget{Calls: m.Calls - 1}, estimate.TooSmall},
		{budget.Budget{Tokens: m.MaxInput + m.MaxOutput}, estimate.Suffices}, {budget.Budget{Tokens: m.Input + m.Output}, estimate.Perhaps}, {budget.Budget{Tokens: m.Input}, estimate.TooSmall},
		{budget.Budget{Dollars: 2 * float64(m.Worst) / budget.Dollar}, estimate.Suffices}, {budget.Budget{Dollars: float64(m.Cost) / 2 / budget.Dollar, Calls: m.Calls}, estimate.TooSmall},
	} {
		if testing.Short() && c.want != estimate.Perhaps {
			continue
		}
		to := cloud(t, price.List{"small": {Input: 1, Output: 2}})
		to["cloud"].Budget = &c.budget
		r := estimated(t, p, runner.Options{Agents: 60, Ticks: 5, Seed: &seed, Model: "thinker", Endpoints: to, Budget: &c.budget})
		if len(r.Budgets) != 2 || r.Budgets[0].Ledger != "run" || r.Budgets[1].Ledger != "endpoint:cloud" || r.Budgets[0].Suffices != c.want || r.Budgets[1].Suffices != c.want || r.Budgets[0].Expected.Calls != m.Calls {
			t.Errorf("%s: %+v, want %s", &c.budget, r.Budgets, c.want)
		}
	}
	r := estimated(t, p, runner.Options{Agents: 60, Ticks: 5, Seed: &seed, Model: "thinker", Endpoints: cloud(t, nil), Budget: &budget.Budget{Dollars: 1e6}})
	if r.Budgets[0].Suffices != estimate.TooSmall {
		t.Errorf("without a price: %+v", r.Budgets)
	}
	if r = estimated(t, p, runner.Options{Agents: 60, Ticks: 5, Seed: &seed, Model: "brain", Endpoints: cloud(t, nil)}); len(r.Scenes[0].Models) != 2 || r.Scenes[0].Models[0].Model != "other" || r.Scenes[0].Models[0].Calls+r.Scenes[0].Models[1].Calls != m.Calls {
		t.Errorf("by a route: %+v, want %d calls", r.Scenes[0].Models, m.Calls)
	}
}

func estimated(t *testing.T, p *project.Project, opt runner.Options) *estimate.Report {
	t.Helper()
	r, err := estimate.Run(context.Background(), p, opt, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
