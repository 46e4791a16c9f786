package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	"tavernsim/llm/price"
	"tavernsim/scenes/run/rundir"
)

// What the gate of a closed endpoint refused is recorded as what the endpoint answered is: a replay and a fork without
// a change come to the same digest, and nobody is asked.
func TestRefusedRequestsAreRecorded(t *testing.T) {
	for _, fault := range []string{"unauthorized=1", "quota=1"} {
		faults, err := mock.ParseFaults(fault)
		if err != nil {
			t.Fatal(err)
		}
		s, to := serve(t, mock.Options{Faults: faults}, endpoint.Definition{})
		p, seed, dir := loadRacers(t), uint64(7), filepath.Join(t.TempDir(), "run")
		opt := Options{Dir: dir, Seed: &seed, Agents: 10, Ticks: 4, Endpoints: to}
		want, asked := run(t, p, opt), s.Report(0).Requests
		answers, err := rundir.ReadAnswers(dir)
		if err != nil || answers.Len() != 40 || want.Failed != 40 || asked >= 40 {
			t.Fatalf("%s: %d answers are recorded, %d turns failed, %d were asked, %v", fault, answers.Len(), want.Failed, asked, err)
		}
		opt.Dir, opt.Endpoints, opt.Answers, opt.OnMiss = filepath.Join(t.TempDir(), "again"), nil, dir, MissFail
		if got := run(t, p, opt); got.Digest != want.Digest || got.Model.Answers.Missed != 0 {
			t.Errorf("%s: the replay has the digest %s, want %s; %+v", fault, got.Digest, want.Digest, got.Model.Answers)
		}
		fork := filepath.Join(t.TempDir(), "fork")
		if _, err := rundir.Fork(t.Context(), dir, fork, rundir.ForkOptions{At: "wave:2"}); err != nil {
			t.Fatal(err)
		}
		r, err := Resume(fork, Options{Endpoints: to})
		if err != nil {
			t.Fatal(err)
		}
		if got := wait(t, r); got.Digest != want.Digest || s.Report(0).Requests != asked {
			t.Errorf("%s: the fork has the digest %s, want %s; %d requests instead of %d", fault, got.Digest, want.Digest, s.Report(0).Requests, asked)
		}
	}
}

// budgeted is a run under budgets, and what asks its endpoints.
type budgeted struct {
	name   string
	more   string // files of the project
	faults string
	d      endpoint.Definition
	far    *endpoint.Definition // of a second endpoint, in whose place cloud is near
	budget string
}

// endpoints serves the endpoints of a run.
func (c *budgeted) endpoints(t *testing.T) map[string]*endpoint.Endpoint {
	t.Helper()
	opt := mock.Options{}
	if c.faults != "" {
		faults, err := mock.ParseFaults(c.faults)
		if err != nil {
			t.Fatal(err)
		}
		opt.Faults = faults
	}
	_, to := serve(t, opt, c.d)
	if c.far != nil {
		m, err := mock.New(mock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		to["near"] = to["cloud"]
		to["near"].Name = "near"
		c.far.Preset = "vllm"
		to["far"] = served.Named(t, "far", "", m, *c.far)
		delete(to, "cloud")
	}
	return to
}

// Minds, §4 and §5: a replay under the budgets of its run refuses what they refused there and comes to its digest and to
// the same ledgers, from the run and from a cassette, on any number of workers, without an endpoint, also if it is interrupted.
func TestReplayUnderABudget(t *testing.T) {
	no, prices := false, price.List{"*": {Input: 1, Output: 2}}
	for _, c := range []budgeted{
		{name: "tokens", budget: "tokens=2300,on_exhausted=refuse"},
		{name: "dollars", d: endpoint.Definition{Prices: prices}, budget: "dollars=0.004"},
		{name: "no price", d: endpoint.Definition{Free: &no}, budget: "dollars=0.01,on_exhausted=refuse"},
		{name: "degrade", budget: "calls=7,on_exhausted=degrade:cheap"},
		{name: "endpoint", d: endpoint.Definition{Budget: &budget.Budget{Tokens: 2300, OnExhausted: budget.End}}},
		{name: "both", d: endpoint.Definition{Budget: &budget.Budget{Calls: 30}, Prices: prices}, budget: "dollars=0.02,on_exhausted=refuse"},
		{name: "lost", faults: "server_error=0.2,rate_limited=0.2", budget: "tokens=30000,on_exhausted=refuse"},
		{name: "route", more: routed, d: endpoint.Definition{Budget: &budget.Budget{Calls: 25}}, far: &endpoint.Definition{Budget: &budget.Budget{Calls: 7}}},
		{name: "barred", more: strings.Replace(routed, ", {use: cheap}", "", 1), faults: "unauthorized=1", d: endpoint.Definition{}, far: &endpoint.Definition{Budget: &budget.Budget{Calls: 3}}},
		{name: "stop", more: "-- scenes/s.yaml --\nid: s\nname: Race\nschema_version: \"1.0\"\nagent_instances: [{instance_id: \"s_{n}\", profile_id: person, count: 1000, custom_runtime_config: {deliberation_frequency_hz: 1}}]\nsimulation: {stop: {dollars: 0.005, after: 30s}}\n", d: endpoint.Definition{Prices: prices}},
	} {
		if testing.Short() && c.name != "degrade" && c.name != "route" {
			continue
		}
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			p, seed, dir := loadRacers(t, c.more), uint64(7), filepath.Join(t.TempDir(), "run")
			opt := Options{Dir: dir, Seed: &seed, Agents: 20, Ticks: 4, Endpoints: c.endpoints(t)}
			if c.budget != "" {
				opt.Budget = parsed(t, c.budget)
			}
			first := run(t, p, opt)
			want := fmt.Sprint(first.Digest, first.Budgets, first.StoppedBy)
			if c.name != "stop" && !refusedSome(first) {
				t.Fatalf("nothing was refused: %s", want)
			}
			replayed(t, c.name, opt, func(opt Options) *rundir.Summary { return run(t, p, opt) }, want)

			opt.Dir, opt.Endpoints, opt.Answers, opt.OnMiss = filepath.Join(t.TempDir(), "stopped"), nil, dir, MissFail
			r, err := Start(p, opt)
			if err != nil {
				t.Fatal(err)
			}
			r.Interrupt()
			sum := wait(t, r)
			if sum.Resumable {
				if r, err = Resume(opt.Dir, Options{Workers: 8}); err != nil {
					t.Fatal(err)
				}
				sum = wait(t, r)
			}
			if got := fmt.Sprint(sum.Digest, sum.Budgets, sum.StoppedBy); got != want {
				t.Errorf("interrupted: %s\nwant %s", got, want)
			}
			if again, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
				t.Errorf("replay %+v, %v", again, err)
			}
		})
	}
}

func refusedSome(s *rundir.Summary) bool {
	for _, b := range s.Budgets {
		if b.Refused+b.Degraded > 0 {
			return true
		}
	}
	return false
}

// replayed replays the run of the options, from its directory and from a cassette.
func replayed(t *testing.T, name string, opt Options, run func(Options) *rundir.Summary, want string) {
	t.Helper()
	dir, cassette := opt.Dir, filepath.Join(t.TempDir(), "answers.jsonl")
	exportAll(t, dir, cassette)
	opt.Endpoints, opt.OnMiss = nil, MissFail
	for _, c := range []struct {
		from    string
		workers int
	}{{dir, 1}, {cassette, 8}} {
		opt.Dir, opt.Answers, opt.Workers = filepath.Join(t.TempDir(), "again"), c.from, c.workers
		sum := run(opt)
		if got := fmt.Sprint(sum.Digest, sum.Budgets, sum.StoppedBy); got != want {
			t.Errorf("%s: %d workers, %s: %s\nwant %s", name, c.workers, filepath.Base(c.from), got, want)
		}
		if a := sum.Model.Answers; a != nil && (a.Missed > 0 || a.Asked > 0 || a.Paid > 0) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// exportAll writes the cassette of a run, also of one without answers.
func exportAll(t *testing.T, dir, to string) {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var b bytes.Buffer
	if _, err := o.ExportAnswers("", &b, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a budget a day refused is recorded for a replay. A run that may ask asks again: now there may be room.
func TestReplayOfADay(t *testing.T) {
	m, file := ofADay(t)
	to, err := endpoint.Load(file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer to["cloud"].Close()
	p, seed, dir := loadRacers(t), uint64(7), filepath.Join(t.TempDir(), "run")
	opt := Options{Dir: dir, Seed: &seed, Agents: 6, Ticks: 3, Endpoints: to}
	first := run(t, p, opt)
	if m.Report(0).Requests != 10 || !refusedSome(first) {
		t.Fatalf("%d requests, %+v", m.Report(0).Requests, first.Budgets)
	}
	replayed(t, "day", opt, func(opt Options) *rundir.Summary { return run(t, p, opt) }, fmt.Sprint(first.Digest, first.Budgets, first.StoppedBy))
	s, roomy := serve(t, mock.Options{}, endpoint.Definition{})
	opt.Dir, opt.Endpoints, opt.Answers = filepath.Join(t.TempDir(), "asks"), roomy, dir
	if sum := run(t, p, opt); sum.Model.Answers.Reused != 10 || s.Report(0).Requests != 8 || sum.Failed != 0 {
		t.Errorf("%+v, %d requests, %d failed", sum.Model.Answers, s.Report(0).Requests, sum.Failed)
	}
}

// A record of an older program does not say what its models cost: its answers count nothing, as they did. So do recorded
// answers of a run that may ask.
func TestRecordWithoutTerms(t *testing.T) {
	_, to := serve(t, mock.Options{}, endpoint.Definition{Prices: price.List{"*": {Input: 1, Output: 2}}})
	p, seed, dir, cassette := loadRacers(t), uint64(7), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "old.jsonl")
	opt := Options{Dir: dir, Seed: &seed, Agents: 5, Ticks: 2, Endpoints: to, Budget: parsed(t, "dollars=1")}
	run(t, p, opt)
	exportAll(t, dir, cassette)
	data, err := os.ReadFile(cassette)
	if err != nil {
		t.Fatal(err)
	}
	_, old, _ := bytes.Cut(data, []byte("\n"))
	if err := os.WriteFile(cassette, old, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, miss := range []string{MissFail, MissAsk} {
		opt.Dir, opt.Answers, opt.OnMiss = filepath.Join(t.TempDir(), miss), cassette, miss
		if miss == MissAsk {
			opt.Answers = dir
		}
		sum := run(t, p, opt)
		if b := sum.Budgets[0]; b.Used != (rundir.Spent{}) || b.Saved.Calls != 10 || sum.Model.Answers.Reused != 10 {
			t.Errorf("%s: %+v, %+v", miss, b, sum.Model.Answers)
		}
		if again, err := rundir.ReadAnswers(opt.Dir); err != nil || (again.Terms == nil) != (miss == MissFail) {
			t.Errorf("%s: %+v, %v", miss, again, err)
		}
	}
}

// A server that answers beyond max_tokens exceeds a budget. The truth is charged, nothing leaves afterwards, and the
// summary says it; a replay does the same.
func TestExceeded(t *testing.T) {
	m, err := mock.New(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	talks := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		var body map[string]any
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &body)
		delete(body, "stream")
		delete(body, "stream_options")
		data, _ = json.Marshal(body)
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		m.ServeHTTP(rec, again)
		var answer map[string]any
		_ = json.Unmarshal(rec.Body.Bytes(), &answer)
		usage, _ := answer["usage"].(map[string]any)
		usage["completion_tokens"] = 9000
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
	to := map[string]*endpoint.Endpoint{"cloud": served.Named(t, "cloud", "", talks, endpoint.Definition{Preset: "vllm"})}
	p, seed, dir := loadRacers(t), uint64(7), filepath.Join(t.TempDir(), "run")
	opt := Options{Dir: dir, Seed: &seed, Agents: 3, Ticks: 4, Endpoints: to, Budget: parsed(t, "tokens=8000,on_exhausted=refuse")}
	first := run(t, p, opt)
	if b := first.Budgets[0]; !b.Exceeded() || b.Used.Tokens < 9000 || b.Refused == 0 || b.Used.Calls+b.Refused != 12 || first.StoppedBy != agenda.StoppedByTicks {
		t.Errorf("%+v, %s", b, first.StoppedBy)
	}
	replayed(t, "exceeded", opt, func(opt Options) *rundir.Summary { return run(t, p, opt) }, fmt.Sprint(first.Digest, first.Budgets, first.StoppedBy))
}
