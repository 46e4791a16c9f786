package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// played is what a run of the scene says of itself.
type played struct {
	Digest string
	Ended  bool
	Model  struct {
		Calls   int64
		Failed  int64
		Answers struct{ Reused, Asked int64 }
	}
}

// A scene on the inference server, as its user runs it: each answer is asked for once, and the
// summary says how often; without the server the run is decided again and made again; one that was
// killed goes on with the answers that it has; a fork asks for what changed alone.
func TestSceneOnAnInferenceServer(t *testing.T) {
	s := inference(t)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var asked, fatal atomic.Int64 // fatal is the request at which the run is killed
	var victim atomic.Pointer[os.Process]
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: at.Scheme, Host: at.Host})
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == fatal.Load() {
			_ = victim.Load().Kill()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer counting.Close()

	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	start := func(args ...string) (*exec.Cmd, *strings.Builder) {
		t.Helper()
		c, out := exec.CommandContext(t.Context(), in("simd"), args...), &strings.Builder{}
		c.Stdout, c.Stderr = out, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c, out
	}
	simd := func(args ...string) string {
		t.Helper()
		c, out := start(args...)
		if err := c.Wait(); err != nil {
			t.Fatalf("simd %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out.String()
	}
	play := func(requests int64, args ...string) (r played) {
		t.Helper()
		before := asked.Load()
		if err := json.Unmarshal([]byte(simd(append(args, "--json", "--quiet")...)), &r); err != nil {
			t.Fatal(err)
		}
		if got := asked.Load() - before; got != r.Model.Answers.Asked || requests >= 0 && got != requests {
			t.Errorf("simd %s: the server was asked %d times, want %d; the summary says %d", strings.Join(args, " "), got, requests, r.Model.Answers.Asked)
		}
		if r.Digest == "" || r.Model.Failed > 0 {
			t.Errorf("simd %s: %+v", strings.Join(args, " "), r)
		}
		return r
	}

	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", in("simd"), "../cmd/simd").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	simd("init", "hello", in("village"))
	for name, text := range map[string]string{
		"village/models/thinker.yaml": "kind: openai\nendpoint: foreign\nmodel: " + s.model + "\n",
		"providers.yaml":              "endpoints:\n  foreign: {preset: vllm, auth: none, base_url: " + counting.URL + at.Path + "}\n",
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	model := []string{"--model", "thinker", "--providers", in("providers.yaml"), "--for", "30s"}

	whole := play(-1, append([]string{"run", in("village"), "--out", in("whole")}, model...)...)
	if whole.Model.Calls != whole.Model.Answers.Asked || whole.Model.Calls < 2 {
		t.Errorf("%+v", whole)
	}
	if again := play(0, "run", in("village"), "--model", "replay:"+in("whole"), "--for", "30s", "--out", in("again")); again.Digest != whole.Digest {
		t.Errorf("from the record it has the digest %s, before it had %s", again.Digest, whole.Digest)
	}
	before := asked.Load()
	simd("replay", "--verify", in("whole"))
	if asked.Load() != before {
		t.Errorf("replay asked the server %d times", asked.Load()-before)
	}

	fatal.Store(before + 2)
	c, _ := start(append([]string{"run", in("village"), "--out", in("killed"), "--quiet"}, model...)...)
	victim.Store(c.Process)
	_ = c.Wait() // it was killed
	if got := asked.Load(); got != fatal.Load() {
		t.Fatalf("it was killed after %d requests, want %d", got-before, 2)
	}
	if r := play(-1, "run", "--resume", in("killed"), "--providers", in("providers.yaml")); r.Model.Calls != r.Model.Answers.Asked+1 {
		t.Errorf("one answer was kept: %+v", r.Model)
	}
	simd("replay", "--verify", in("killed"))

	simd("fork", in("whole"), in("fork"), "--at", "wave:4", "--set", "world.greetings=2", "--quiet")
	play(-1, "run", "--resume", in("fork"), "--providers", in("providers.yaml"))
	simd("replay", "--verify", in("fork"))
}
