package runner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/llm/price"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

const (
	secretKey = "sk-this-is-the-key-0042"
	thinker   = `-- models/thinker.yaml --
kind: PROTOCOL
endpoint: cloud
model: small
params: { temperature: 0, max_tokens: 200 }
latency: { first_token: 300ms, per_token: 10ms }
`
)

// counting is a server of models that keeps what it is sent.
type counting struct {
	*mock.Server
	mu     sync.Mutex
	bodies []string
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.bodies = append(c.bodies, string(body))
	c.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.Server.ServeHTTP(w, r)
}

func (c *counting) sent() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

// cloud is such a server, and the user's endpoint for it.
func cloud(t *testing.T, preset string) (*counting, map[string]*endpoint.Endpoint) {
	t.Helper()
	return cloudOf(t, preset, mock.Options{Key: secretKey})
}

func cloudOf(t *testing.T, preset string, opt mock.Options) (*counting, map[string]*endpoint.Endpoint) {
	t.Helper()
	m, err := mock.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	server := &counting{Server: m}
	e := served.Named(t, "cloud", secretKey, server, endpoint.Definition{Preset: preset, KeyEnv: "K", Prices: price.List{"*": {Input: 1, Output: 2}}})
	return server, map[string]*endpoint.Endpoint{"cloud": e}
}

func thinking(t *testing.T) Options {
	t.Helper()
	seed := uint64(7)
	return Options{Dir: filepath.Join(t.TempDir(), "run"), Ticks: 12, Seed: &seed, Model: "thinker"}
}

// loadThinkers is the town, in which c_3 alone is shown a part of the world.
func loadThinkers(t *testing.T, kind string) fs.FS {
	t.Helper()
	fsys, err := thinkers(kind)
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

func thinkers(kind string) (fs.FS, error) {
	town := scenestest.TownFS()
	think, err := fs.ReadFile(town, "workflows/think.yaml")
	if err != nil {
		return nil, err
	}
	shown := strings.Replace(string(think), "{{.self.instance_id}}.", "{{.self.instance_id}}.{{if eq .self.instance_id `c_3`}} The fountain is {{.world_state.fountain}}.{{end}}", 1)
	if shown == string(think) {
		return nil, errors.New("the town thinks otherwise")
	}
	return scenestest.TownFS(strings.ReplaceAll(thinker, "PROTOCOL", kind) + "-- workflows/think.yaml --\n" + shown), nil
}

// A scene on an endpoint: every answer comes from there, is asked for once, can be
// replayed and verified without it, and the key is in no file.
func TestSceneOnAnEndpoint(t *testing.T) {
	for kind, preset := range map[string]string{"openai": "vllm", "anthropic": "anthropic"} {
		if testing.Short() && kind != "openai" {
			continue
		}
		t.Run(kind, func(t *testing.T) { sceneOnAnEndpoint(t, kind, preset) })
	}
}

func sceneOnAnEndpoint(t *testing.T, kind, preset string) {
	p, err := LoadFS(loadThinkers(t, kind), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, preset)
	digests := map[string]bool{}
	var dir string
	for _, workers := range []int{1, 8} {
		before := server.Report(0).Requests
		opt := thinking(t)
		opt.Workers, opt.Endpoints = workers, to
		dir = opt.Dir
		s := run(t, p, opt)
		if asked := server.Report(0).Requests - before; asked != s.Model.Calls || asked == 0 {
			t.Errorf("%d requests for %d model calls", asked, s.Model.Calls)
		}
		digests[s.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("1 and 8 workers have the digests %v", digests)
	}
	asked := server.Report(0).Requests
	r, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil || !digests[r.Scenes[0].Digest] || r.Scenes[0].Differs() {
		t.Errorf("replay: %+v, %v", r, err)
	}
	if now := server.Report(0).Requests; now != asked {
		t.Errorf("replay asked %d times", now-asked)
	}
	if m, err := rundir.ReadManifest(dir); err != nil || strings.Join(m.Endpoints, " ") != "cloud" {
		t.Errorf("manifest: %v, %v", m.Endpoints, err)
	}
	holdsNoKey(t, dir)
}

func holdsNoKey(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secretKey)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Without endpoints a script answers; with others than the project names nothing begins.
func TestModelsWithoutEndpoints(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	scripts := thinking(t)
	scripts.Log = slog.New(slog.NewTextHandler(&said, nil))
	s := run(t, p, scripts)
	if s.Model.Calls == 0 || strings.Count(said.String(), "a script answers for") != 1 || !strings.Contains(said.String(), "a script answers for thinker") {
		t.Errorf("%d calls, %s", s.Model.Calls, said.String())
	}
	said.Reset() // a model that nobody asks is no news
	scripts = thinking(t)
	scripts.Model = ""
	scripts.Log = slog.New(slog.NewTextHandler(&said, nil))
	if s := run(t, p, scripts); s.Model.Calls == 0 || strings.Contains(said.String(), "a script answers for") {
		t.Errorf("%d calls, %s", s.Model.Calls, said.String())
	}
	opt := thinking(t)
	opt.Endpoints = map[string]*endpoint.Endpoint{}
	if _, err := Start(p, opt); protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), "models/thinker.yaml") {
		t.Errorf("no endpoint cloud: %v", err)
	}
	if exists(opt.Dir) {
		t.Error("a directory was made")
	}
	opt.Model = "nobody"
	if _, err := Start(p, opt); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("no model nobody: %v", err)
	}
}

// Minds, acceptance row 3: the answers of a run give its digest again, on any workers,
// without a request.
func TestAnswersOfARun(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, "vllm")
	opt := thinking(t)
	opt.Endpoints = to
	first := run(t, p, opt)
	asked := server.Report(0).Requests
	use := first.Model.ByModel
	if len(use) != 1 || use[0].Answers != asked || use[0].Cost != 1000*use[0].Input+2000*use[0].Output || use[0].Input != first.Model.Tokens.Input || first.Model.Answers.Paid != use[0].Cost || use[0].Cost == 0 {
		t.Errorf("%+v of %d requests, %+v", use, asked, first.Model.Answers)
	}
	cassette := filepath.Join(t.TempDir(), "answers.jsonl")
	exportAnswers(t, opt.Dir, cassette)
	for workers, from := range map[int]string{1: opt.Dir, 8: cassette} {
		again := thinking(t)
		again.Workers, again.Answers, again.OnMiss = workers, from, MissFail
		s := run(t, p, again)
		if s.Digest != first.Digest || s.Model.Answers == nil || s.Model.Answers.Reused != asked || s.Model.Answers.Asked != 0 ||
			s.Model.Answers.Paid != 0 || s.Model.Answers.Saved != use[0].Cost || !slices.Equal(s.Model.ByModel, use) {
			t.Errorf("%d workers, %s: digest %s, want %s; answers %+v of %d", workers, from, s.Digest, first.Digest, s.Model.Answers, asked)
		}
	}
	if now := server.Report(0).Requests; now != asked {
		t.Errorf("%d requests more", now-asked)
	}
	opt = thinking(t)
	opt.Answers = cassette
	if _, err := Start(p, opt); protocol.KindOf(err) != protocol.KindNotFound || exists(opt.Dir) {
		t.Errorf("a run that may ask has no endpoint, and began: %v", err)
	}
}

// A run of which every scene has ended asks nobody: a kill before its summary was written leaves that to a process that needs no
// endpoints, and that changes nothing of their budgets.
func TestAnEndedRunNeedsNoEndpoint(t *testing.T) {
	_, to := serve(t, mock.Options{}, endpoint.Definition{Budget: &budget.Budget{Tokens: 4000}})
	seed, place := uint64(7), t.TempDir()
	opt := Options{Dir: filepath.Join(place, "asked"), Seed: &seed, Agents: 3, Ticks: 2, Endpoints: to, Budget: &budget.Budget{Tokens: 100_000}}
	dirs, digests := []string{opt.Dir, filepath.Join(place, "answered"), filepath.Join(place, "forked")}, map[string]string{}
	digests[dirs[0]] = run(t, loadRacers(t), opt).Digest
	opt.Dir, opt.Answers = dirs[1], dirs[0]
	digests[dirs[1]] = run(t, loadRacers(t), opt).Digest
	if _, err := rundir.Fork(t.Context(), dirs[0], dirs[2], rundir.ForkOptions{At: "wave:2"}); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(dirs[2], Options{Endpoints: to})
	if err != nil {
		t.Fatal(err)
	}
	digests[dirs[2]] = wait(t, r).Digest
	for _, dir := range dirs {
		for _, opt := range []Options{{}, {Budget: &budget.Budget{Tokens: 200_000}}, {Endpoints: map[string]*endpoint.Endpoint{}}} {
			if err := os.Remove(filepath.Join(dir, "summary.json")); err != nil {
				t.Fatal(err)
			}
			r, err := Resume(dir, opt)
			if err != nil {
				t.Fatalf("%s: %v", filepath.Base(dir), err)
			}
			if s := wait(t, r); s.Digest != digests[dir] || s.Resumable {
				t.Errorf("%s: %+v, want %s", filepath.Base(dir), s, digests[dir])
			}
			if m, err := rundir.ReadManifest(dir); err != nil || m.AtEndpoints["cloud"] == nil {
				t.Errorf("%s: %+v, %v", filepath.Base(dir), m, err)
			}
		}
	}
}

func exportAnswers(t *testing.T, dir, to string) {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := o.ExportAnswers("", f, nil); err != nil || n == 0 {
		t.Fatalf("%d answers, %v", n, err)
	}
}

// A fork that did not come to its answers hands them on to its own forks.
func TestForkOfAForkKeepsAnswers(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, "vllm")
	opt := thinking(t)
	opt.Endpoints = to
	first := run(t, p, opt)
	asked, dir, answers := server.Report(0).Requests, opt.Dir, 0
	for range 2 {
		out := filepath.Join(t.TempDir(), "fork")
		m, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: "wave:" + strconv.FormatUint(first.Waves/2, 10)})
		if err != nil || m.Answers == 0 || answers != 0 && m.Answers != answers {
			t.Fatalf("%d answers, %d before; %v", m.Answers, answers, err)
		}
		dir, answers = out, m.Answers
	}
	r, err := Resume(dir, Options{Endpoints: to})
	if err != nil {
		t.Fatal(err)
	}
	if s := wait(t, r); s.Digest != first.Digest || server.Report(0).Requests != asked {
		t.Errorf("digest %s, want %s; %d requests more", s.Digest, first.Digest, server.Report(0).Requests-asked)
	}
}

// Minds, acceptance row 5: a fork asks only for what its change changes. Without a change
// it asks for nothing and ends like its parent.
func TestForkPaysItsCone(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, "vllm")
	opt := thinking(t)
	opt.Endpoints = to
	first := run(t, p, opt)
	half := "wave:" + strconv.FormatUint(first.Waves/2, 10)
	for _, c := range []struct {
		name string
		set  []string
	}{{"same", nil}, {"other", []string{`world.fountain="wet"`}}} {
		before := server.Report(0).Requests
		dir := filepath.Join(t.TempDir(), c.name)
		m, err := rundir.Fork(t.Context(), opt.Dir, dir, rundir.ForkOptions{At: half, Set: c.set})
		if err != nil || m.Answers == 0 {
			t.Fatalf("%s: %d answers, %v", c.name, m.Answers, err)
		}
		r, err := Resume(dir, Options{Endpoints: to})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Wait()
		if err != nil {
			t.Fatal(err)
		}
		asked := server.Report(0).Requests - before
		if s.Model.Answers.Asked != asked || s.Model.Answers.Reused == 0 {
			t.Errorf("%s: %d requests, the summary says %+v", c.name, asked, s.Model.Answers)
		}
		if c.set == nil && (asked != 0 || s.Digest != first.Digest) {
			t.Errorf("without a change: %d requests, digest %s, want %s", asked, s.Digest, first.Digest)
		}
		if c.set != nil && asked == 0 {
			t.Error("the change reached nobody")
		}
		for all := server.sent(); len(all) > int(before); all = all[:len(all)-1] {
			if asked := all[len(all)-1]; slices.Contains(all[:before], asked) {
				t.Errorf("asked although the answer is recorded: %s", asked)
			}
		}
	}
}

// A recorded answer says how often its endpoint was asked, so a replay has the digest of its run also if requests were repeated.
func TestRecordedAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("TestLostAttempts has its concurrency")
	}
	faults, err := mock.ParseFaults("rate_limited=0.3")
	if err != nil {
		t.Fatal(err)
	}
	s, to := serve(t, mock.Options{Faults: faults}, endpoint.Definition{})
	dir, seed := filepath.Join(t.TempDir(), "run"), uint64(7)
	opt := Options{Dir: dir, Seed: &seed, Agents: 10, Ticks: 3, Endpoints: to}
	first := run(t, loadRacers(t), opt)
	if counted := s.Report(0); counted.Requests <= first.Model.Calls {
		t.Fatalf("nothing was repeated: %+v", counted)
	}
	opt.Dir, opt.Answers = filepath.Join(t.TempDir(), "again"), dir
	if again := run(t, loadRacers(t), opt); again.Digest != first.Digest {
		t.Errorf("the digest is %s, of the run %s", again.Digest, first.Digest)
	}
}
