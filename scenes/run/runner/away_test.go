package runner

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
)

// A run goes on without the endpoints that it does not ask, whatever its models may ask: all its answers are recorded, or nothing
// uses the model.
func TestOnlyWhatIsAskedNeedsAnEndpoint(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, "vllm")
	opt := thinking(t)
	opt.Endpoints, opt.Budget = to, &budget.Budget{Dollars: 10}
	asked := run(t, p, opt)
	unused := thinking(t)
	unused.Endpoints, unused.Model = to, ""
	scripted := run(t, p, unused)
	if m := manifest(t, unused.Dir); len(m.Endpoints) != 1 || scripted.Model.Answers != nil && scripted.Model.Answers.Asked > 0 {
		t.Fatalf("%+v, %+v", m.Endpoints, scripted.Model.Answers)
	}
	before := server.Report(0).Requests
	for dir, s := range map[string]*rundir.Summary{opt.Dir: asked, unused.Dir: scripted} {
		var want string
		for _, to := range []map[string]*endpoint.Endpoint{to, nil, {}} {
			r, err := Resume(forkAt(t, dir, s.Waves/2), Options{Endpoints: to})
			if err != nil {
				t.Fatal(err)
			}
			again := wait(t, r)
			if want = cmp.Or(want, again.Digest); again.Digest != want || again.Resumable {
				t.Errorf("%+v, want %s", again.SceneSummary, want)
			}
		}
	}
	if now := server.Report(0).Requests; now != before {
		t.Errorf("%d requests", now-before)
	}
}

// A run that asks an endpoint that is in no file stops before the wave that asks, and goes on with the file as if it had had it.
func TestStopsWhereAnEndpointIsAsked(t *testing.T) {
	if testing.Short() {
		t.Skip("the run gives its wave up after ten seconds")
	}
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	_, to := cloud(t, "vllm")
	opt := thinking(t)
	opt.Endpoints, opt.Budget = to, &budget.Budget{Dollars: 10}
	first := run(t, p, opt)
	var digests []string
	for _, to := range []map[string]*endpoint.Endpoint{to, nil} {
		dir := forkAt(t, opt.Dir, first.Waves/2, `world.fountain="wet"`)
		r, err := Resume(dir, Options{Endpoints: to})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Wait()
		if to == nil {
			if protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), "it asks the endpoint cloud, which is in no file of endpoints") || !s.Resumable {
				t.Fatalf("%+v, %v", s, err)
			}
			_, to = cloud(t, "vllm")
			if r, err = Resume(dir, Options{Endpoints: to}); err != nil {
				t.Fatal(err)
			}
			s, err = r.Wait()
		}
		if err != nil || s.Resumable {
			t.Fatal(s, err)
		}
		if m := manifest(t, dir); m.Prices["thinker"] == nil {
			t.Errorf("%+v", m.Prices)
		}
		digests = append(digests, s.Digest)
	}
	if digests[0] != digests[1] || digests[0] == first.Digest {
		t.Error(digests, first.Digest)
	}
}

func manifest(t *testing.T, dir string) *rundir.Manifest {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func forkAt(t *testing.T, dir string, wave uint64, set ...string) string {
	t.Helper()
	forked := filepath.Join(t.TempDir(), "forked")
	if _, err := rundir.Fork(t.Context(), dir, forked, rundir.ForkOptions{At: "wave:" + strconv.FormatUint(wave, 10), Set: set}); err != nil {
		t.Fatal(err)
	}
	return forked
}
