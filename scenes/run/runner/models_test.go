package runner

import (
	"bytes"
	"context"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

const (
	secretKey = "sk-this-is-the-key-0042"
	thinker   = `-- models/thinker.yaml --
kind: openai
endpoint: cloud
model: small
params: { temperature: 0, max_tokens: 200 }
latency: { first_token: 300ms, per_token: 10ms }
`
)

// cloud is a server of models, and the user's endpoint for it.
func cloud(t *testing.T) (*mock.Server, map[string]*endpoint.Endpoint) {
	t.Helper()
	server, err := mock.New(mock.Options{Key: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	e, err := endpoint.New("cloud", endpoint.Definition{Preset: "vllm", BaseURL: at.URL + "/v1", KeyEnv: "K"}, "", func(string) string { return secretKey })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return server, map[string]*endpoint.Endpoint{"cloud": e}
}

func thinking(t *testing.T) Options {
	t.Helper()
	seed := uint64(7)
	return Options{Dir: filepath.Join(t.TempDir(), "run"), Ticks: 12, Seed: &seed, Model: "thinker"}
}

func loadThinkers(t *testing.T) fs.FS { t.Helper(); return scenestest.TownFS(thinker) }

// A scene on an endpoint: every answer comes from there, is asked for once, can be
// replayed and verified without it, and the key is in no file.
func TestSceneOnAnEndpoint(t *testing.T) {
	p, err := LoadFS(loadThinkers(t), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t)
	digests := map[string]bool{}
	var dir string
	for _, workers := range []int{1, 2, 8} {
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
		t.Errorf("1, 2 and 8 workers have the digests %v", digests)
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
	p, err := LoadFS(loadThinkers(t), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, p, thinking(t))
	if s.Model.Calls == 0 {
		t.Error("no script answered")
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
