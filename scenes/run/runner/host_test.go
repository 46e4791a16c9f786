package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
)

func added(t *testing.T, h *Host, opt Options) *Runner {
	t.Helper()
	r, err := h.Add(loadTown(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func scraped(set *metrics.Set) string {
	w := httptest.NewRecorder()
	scrape.Handler(set, scrape.Options{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// Promise 5: two runs of one scene side by side are each what it is alone, with series
// of their own; one that is removed leaves nothing but its directory, and goes on in
// the same host.
func TestHost(t *testing.T) {
	ticks := int64(200)
	if testing.Short() {
		ticks = 60
	}
	want := run(t, loadTown(t), Options{Scenes: []string{"day"}, Ticks: ticks})
	set := metrics.New(metrics.ByRun())
	h := NewHost(HostOptions{Metrics: set})
	dirs := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")}
	var runs []*Runner
	for _, dir := range dirs {
		seed := want.Seed
		runs = append(runs, added(t, h, Options{Dir: dir, Scenes: []string{"day"}, Ticks: ticks, Seed: &seed}))
	}
	if n := len(h.Runs()); n > 2 {
		t.Errorf("%d runs", n)
	}
	left, err := h.Remove(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	if text := scraped(set); strings.Contains(text, dirs[0]) {
		t.Errorf("something is left of %s:\n%s", dirs[0], text)
	}
	if sum := wait(t, runs[1]); sum.Digest != want.Digest {
		t.Errorf("digest %s beside another run; %s alone", sum.Digest, want.Digest)
	}
	shows(t, set, fmt.Sprintf(`simd_sim_steps_total{run=%q,scene="day"} %d`, dirs[1], want.Waves), "simd_ready 1")
	if left.Resumable {
		r, err := h.Resume(dirs[0], Options{})
		if err != nil {
			t.Fatal(err)
		}
		if sum := wait(t, r); sum.Digest != want.Digest {
			t.Errorf("digest %s after it was removed and resumed; want %s", sum.Digest, want.Digest)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := h.Add(loadTown(t), Options{Dir: filepath.Join(t.TempDir(), "late")}); protocol.KindOf(err) != protocol.KindCancelled {
		t.Errorf("a closed host: %v", err)
	}
}

// What a host refuses leaves it as it was.
func TestHostRefuses(t *testing.T) {
	h := NewHost(HostOptions{})
	defer h.Close()
	dir := filepath.Join(t.TempDir(), "run")
	r := added(t, h, Options{Dir: dir, Scenes: []string{"day"}, Ticks: 1 << 30})
	if _, err := h.Resume(dir+"/../run", Options{}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "runs in this host already") {
		t.Errorf("the same run: %v", err)
	}
	if _, err := h.Add(loadTown(t), Options{Dir: filepath.Join(t.TempDir(), "bad"), Until: "1 +"}); err == nil {
		t.Error("a bad condition was taken")
	}
	shows(t, h.metrics, "simd_ready 1")
	if sum, err := h.Remove(r); err != nil || !sum.Resumable {
		t.Errorf("removed: %+v, %v", sum, err)
	}
	if again, err := h.Remove(r); err != nil || again.RunDir != dir {
		t.Errorf("removed again: %+v, %v", again, err)
	}
	one := NewHost(HostOptions{Metrics: metrics.New()})
	defer one.Close()
	added(t, one, Options{Dir: filepath.Join(t.TempDir(), "a"), Scenes: []string{"day"}, Ticks: 1 << 30})
	if _, err := one.Add(loadTown(t), Options{Dir: filepath.Join(t.TempDir(), "b")}); protocol.KindOf(err) != protocol.KindInvalid || !strings.Contains(err.Error(), "metrics.ByRun") {
		t.Errorf("two runs that share series: %v", err)
	}
}

// A follower in the process gets every fact of a run, the last ones too.
func TestFollowScene(t *testing.T) {
	r, err := Start(loadTown(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"day"}, Ticks: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	var last protocol.Record
	ended := make(chan error, 1)
	go func() {
		ended <- r.Scenes[0].Follow(context.Background(), 1, func(rec protocol.Record) error {
			if rec.Seq != last.Seq+1 {
				return fmt.Errorf("seq %d after %d", rec.Seq, last.Seq)
			}
			if last = rec; rec.Seq == 500 {
				r.Interrupt() // while it follows
			}
			return nil
		})
	}()
	sum := wait(t, r)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if last.Seq < 500 || int64(last.Seq) != sum.Journal.Facts {
		t.Errorf("it ends with fact %d of %d", last.Seq, sum.Journal.Facts)
	}
}

// parrot is a tool of the program that embeds the run.
type parrot struct{}

func (parrot) Name() string               { return "parrot" }
func (parrot) MayRepeat(*effect.Ask) bool { return true }
func (parrot) Do(_ context.Context, q *effect.Ask) effect.Answered {
	return effect.Answered{Output: q.Call.Params["say"]}
}

func parrots() fstest.MapFS {
	files := map[string]string{
		"project.json": `{"id": "parrots", "default_scene": "day"}`,
		"agent_profiles/a.yaml": `
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: w
tool_ids_inventory: [ParrotTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
`,
		"workflows/w.yaml": `
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes: [{id: c, type: Constant, configValues: {value: {calls: [{tool: ParrotTool, params: {say: hello}}]}}}, {id: out, type: GroupOutput}]
edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]
`,
		"scenes/day.yaml": `
id: day
name: Day
schema_version: "1.0"
agent_instances: [{instance_id: polly, profile_id: a}]
simulation: {stop: {ticks: 3}, seed: 1}
`,
	}
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

// External tools and their executors come through the options; the run is read
// without them and goes on with them only.
func TestExternalTools(t *testing.T) {
	p, err := LoadFS(parrots(), "parrots", false, "ParrotTool")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Dir: filepath.Join(t.TempDir(), "run"), Ticks: 1 << 30,
		External: []agent.External{{Kind: "parrot", Spec: protocol.ToolSpec{Name: "ParrotTool", Description: "Says it again.", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"say": map[string]any{"type": "string"}}, "required": []any{"say"},
		}}}},
		Executors: []outside.Entry{{Kind: "parrot", Executor: parrot{}}},
	}
	r, err := Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	called := errors.New("called")
	if err := r.Scenes[0].Follow(t.Context(), 1, func(rec protocol.Record) error {
		if rec.Kind == agentfact.FactCallMade {
			return called
		}
		return nil
	}); !errors.Is(err, called) {
		t.Fatal(err)
	}
	r.Interrupt()
	sum := wait(t, r)
	if sum.Tools.Calls == 0 || sum.Failed > 0 || sum.Tools.Failed > 0 || !sum.Resumable {
		t.Fatalf("%+v", sum)
	}
	if _, err := Resume(opt.Dir, Options{}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "ParrotTool") {
		t.Errorf("resumed without its tools: %v", err)
	}
	if _, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{}); err != nil {
		t.Errorf("folded without its tools: %v", err)
	}
	if _, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true, External: opt.External}); err != nil {
		t.Errorf("verified: %v", err)
	}
	again, err := Resume(opt.Dir, Options{External: opt.External, Executors: opt.Executors})
	if err != nil {
		t.Fatal(err)
	}
	again.Interrupt()
	if sum := wait(t, again); sum.Tools.Failed > 0 {
		t.Errorf("%+v", sum)
	}
}

// External tools and executors that do not fit each other, the project or the program are
// refused before anything is written, with what is wrong.
func TestExternalToolsThatDoNotFit(t *testing.T) {
	p, err := LoadFS(parrots(), "parrots", false, "ParrotTool")
	if err != nil {
		t.Fatal(err)
	}
	tool := func(id, kind string) agent.External {
		return agent.External{Kind: kind, Spec: protocol.ToolSpec{Name: id, Parameters: map[string]any{"type": "object"}}}
	}
	executes := func(kinds ...string) (list []outside.Entry) {
		for _, kind := range kinds {
			list = append(list, outside.Entry{Kind: kind, Executor: parrot{}})
		}
		return list
	}
	fits := tool("ParrotTool", "parrot")
	for _, c := range []struct {
		tools     []agent.External
		executors []outside.Entry
		want      string
	}{
		{[]agent.External{fits, tool("SayTool", "parrot")}, executes("parrot"), `external tool "SayTool": the program has a tool with this id`},
		{[]agent.External{fits, fits}, executes("parrot"), `external tool "ParrotTool": two external tools have this id`},
		{[]agent.External{fits, tool("ParotTool", "parrot")}, executes("parrot"), `external tool "ParotTool": the project was loaded without it, so no profile can have it; name it when you load the project; did you mean "ParrotTool"?`},
		{[]agent.External{fits, tool("", "parrot")}, executes("parrot"), `external tool "": it has no name (Spec.Name)`},
		{nil, nil, `the project was loaded with the external tool "ParrotTool", and no external tool has this id`},
		{[]agent.External{tool("ParrotTool", "tool")}, executes("parrot"), `external tool "ParrotTool": the program carries out requests of the kind "tool" itself`},
		{[]agent.External{fits}, executes("parrot", "tool"), `the program carries out requests of the kind "tool" itself`},
		{[]agent.External{fits}, executes("parrot", "model"), `the program carries out requests of the kind "model" itself`},
		{[]agent.External{fits}, executes("parot"), `external tool "ParrotTool" has the kind "parrot", and no executor has it`},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		_, err := Start(p, Options{Dir: dir, Ticks: 2, External: c.tools, Executors: c.executors})
		if err == nil || !strings.Contains(err.Error(), c.want) || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%v, want %s", err, c.want)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the run directory was made: %v", c.want, err)
		}
	}
}
