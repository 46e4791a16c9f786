package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// billEnv is the address of the server that a child asks.
const billEnv = "SIMD_BILL_CHILD"

// billChild runs the thinkers on the server, or goes on with them, and prints the digest.
func billChild(dir, url string) error {
	e, err := endpoint.New("cloud", endpoint.Definition{Preset: "vllm", BaseURL: url + "/v1"}, "", os.Getenv)
	if err != nil {
		return err
	}
	to := map[string]*endpoint.Endpoint{"cloud": e}
	if text := os.Getenv(budgetEnv); text != "" {
		return budgetChild(dir, text, url)
	}
	var r *Runner
	if exists(filepath.Join(dir, "manifest.json")) {
		r, err = Resume(dir, Options{Endpoints: to})
	} else if err = os.RemoveAll(dir); err == nil {
		fsys, loadErr := thinkers("openai")
		opt := Options{Dir: dir, Ticks: 12, Model: "thinker", Endpoints: to}
		if os.Getenv(mindsEnv) != "" {
			fsys, opt.Ticks = talkersFS(), 0
		}
		if loadErr != nil {
			return loadErr
		}
		p, loadErr := LoadFS(fsys, "town", true)
		if loadErr != nil {
			return loadErr
		}
		seed := uint64(7)
		opt.Seed = &seed
		r, err = Start(p, opt)
	}
	if protocol.KindOf(err) == protocol.KindConflict {
		return printEnded(dir, err)
	}
	if err != nil {
		return err
	}
	s, err := r.Wait()
	if err != nil {
		return err
	}
	fmt.Println("digest", s.Digest)
	return nil
}

// billing is a server that counts what it is asked, by agent and turn, and calls then at
// one of the requests.
type billing struct {
	http.Handler
	mu    sync.Mutex
	by    map[string]int
	total int
	at    int
	then  func()
}

func (b *billing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, place := read(r)
	b.mu.Lock()
	b.by[place]++
	if b.total++; b.total == b.at {
		b.then()
	}
	b.mu.Unlock()
	r.Body = body
	b.Handler.ServeHTTP(w, r)
}

// counts is how often each was asked.
func (b *billing) counts() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]int{}
	maps.Copy(all, b.by)
	return all
}

// arm forgets what was asked if it is a new run, and sets when then is called.
func (b *billing) arm(fresh bool, after int, then func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fresh {
		b.by = map[string]int{}
	}
	b.at, b.then = b.total+after, then
}

// Minds, §4: a run over HTTP that is killed at random moments and resumed asks for no
// answer again that was kept, and ends as if nobody had killed it. With SIMD_TEST_LONG=1 it is
// killed 100 times.
func TestKilledOverHTTP(t *testing.T) {
	kills := 10
	if scenestest.Long() {
		kills = 100
	} else if testing.Short() {
		t.Skip("processes are killed")
	}
	m, err := mock.New(mock.Options{Latency: scripted.Latency{Median: protocol.Duration(4 * time.Millisecond), Sigma: 0.5}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	b := &billing{Handler: m, by: map[string]int{}}
	at := httptest.NewServer(b)
	defer at.Close()
	b.arm(true, -1, nil)
	want, _ := b.run(t, filepath.Join(t.TempDir(), "whole"), at.URL, 0)
	whole := b.counts()
	rng := rand.New(rand.NewPCG(crashSeed(t), 0))
	asked, again, kept := 0, 0, 0
	for done := 0; done < kills; {
		dir := filepath.Join(t.TempDir(), "run")
		paid := map[string]int{} // what was asked for answers, when they were found to be kept
		for life := 0; ; life++ {
			after := 1 + rng.IntN(len(whole)/2)
			if done == kills || life == killsPerRun {
				after = 0
			}
			b.arm(life == 0, -1, nil)
			digest, killed := b.run(t, dir, at.URL, after)
			now := b.counts()
			for place, n := range paid {
				if now[place] != n {
					t.Errorf("%s was asked %d times, and %d times after its answer was kept", place, now[place], now[place]-n)
				}
			}
			if !killed {
				if digest != want {
					t.Fatalf("after %d kills the digest is %s, want %s", life, digest, want)
				}
				break
			}
			done++
			for place, n := range answered(t, dir) {
				if n == whole[place] {
					paid[place] = now[place]
				}
			}
		}
		kept += len(paid)
		for place, n := range b.counts() {
			asked, again = asked+n, again+n-whole[place]
		}
	}
	t.Logf("%d kills: %d requests, %d of them repeated what was in flight, %d answers were kept over a kill", kills, asked, again, kept)
	if kept == 0 {
		t.Error("no kill found an answer that was kept")
	}
}

// run runs a child to its end (its digest), or kills it at a request; 0 = never.
func (b *billing) run(t *testing.T, dir, url string, after int) (digest string, killed bool) {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir, billEnv+"="+url)
	child.Stderr = os.Stderr
	if after > 0 {
		b.mu.Lock()
		b.at, b.then = b.total+after, kill
		b.mu.Unlock()
	}
	out, err := child.Output()
	if _, scanErr := fmt.Sscanf(string(out), "digest %s", &digest); scanErr == nil {
		return digest, false
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return "", true
}

// answered counts the answers that the log of effects holds, by agent and turn.
func answered(t *testing.T, dir string) map[string]int {
	t.Helper()
	n := map[string]int{}
	if !exists(filepath.Join(dir, "manifest.json")) || !exists(filepath.Join(dir, rundir.JournalDir)) {
		return n
	}
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for _, id := range run.Manifest.Scenes {
		journal, err := run.Store.Journal(outside.JournalID(id))
		if protocol.KindOf(err) == protocol.KindNotFound {
			continue
		}
		if err == nil {
			err = journal.Scan(persistence.Query{Kinds: []string{outside.FactAnswered}}, func(r protocol.Record) error {
				in := protocol.NewReader(r.Data, r.Kind, 5)
				n[place(r.Actor, fmt.Sprint(in.Uint()))]++
				return in.Err()
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// read gives the body of a request again, and which turn of which agent asks.
func read(r *http.Request) (io.ReadCloser, string) {
	body, _ := io.ReadAll(r.Body)
	m := regexp.MustCompile(`Turn (\d+) of (\w+)\.`).FindSubmatch(body)
	if m == nil {
		return io.NopCloser(bytes.NewReader(body)), "nobody"
	}
	return io.NopCloser(bytes.NewReader(body)), place(string(m[2]), string(m[1]))
}

func place(agent, turn string) string { return agent + "/" + turn }
