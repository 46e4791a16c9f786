package runner

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// budgetEnv is the budget of a child's run.
const budgetEnv = "SIMD_BUDGET_CHILD"

// fewAtOnce is how many requests of such a child are out at once, and so may be lost by a kill.
const fewAtOnce = 4

// budgetChild runs the racers under a budget, or goes on with them, and prints the digest.
func budgetChild(dir, text, url string) error {
	e, err := endpoint.New("cloud", endpoint.Definition{Preset: "vllm", BaseURL: url + "/v1", Limits: endpoint.Limits{MaxConcurrency: fewAtOnce}}, "", os.Getenv)
	if err != nil {
		return err
	}
	to := map[string]*endpoint.Endpoint{"cloud": e}
	var r *Runner
	if exists(filepath.Join(dir, "manifest.json")) {
		r, err = Resume(dir, Options{Endpoints: to})
	} else if err = os.RemoveAll(dir); err == nil {
		p, loadErr := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(racers))), "race", true)
		if loadErr != nil {
			return loadErr
		}
		most, parseErr := budget.Parse(text)
		if parseErr != nil {
			return parseErr
		}
		seed := uint64(7)
		r, err = Start(p, Options{Dir: dir, Agents: 20, Ticks: 30, Seed: &seed, Endpoints: to, Budget: most})
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

// charging is a server that charges for every request that it gets, also if the client is gone.
type charging struct{ http.Handler }

func (c charging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.Handler.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // nobody may be there any more
}

// Minds, §4: a run under a budget that is killed at random moments never takes more than the
// budget, by the count of a server that charges for what was in flight, too. What a kill lost is in
// the facts, so the ledger is never below that count, and the history verifies. If no kill lost
// anything, the run ends as if nobody had killed it.
func TestKilledUnderBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are killed")
	}
	runs := 2
	if scenestest.Long() {
		runs = 6
	}
	rng := rand.New(rand.NewPCG(crashSeed(t), 0))
	for _, text := range []string{"tokens=40000", "calls=100"} {
		t.Setenv(budgetEnv, text)
		_, b, at := charged(t)
		want, _ := b.run(t, filepath.Join(t.TempDir(), "whole"), at, 0)
		for range runs {
			killedUnder(t, rng, parsed(t, text), want)
		}
	}
}

func charged(t *testing.T) (*mock.Server, *billing, string) {
	t.Helper()
	m, err := mock.New(mock.Options{Latency: scripted.Latency{Median: protocol.Duration(2 * time.Millisecond), Sigma: 0.5}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	b := &billing{Handler: charging{m}, by: map[string]int{}}
	at := httptest.NewServer(b)
	t.Cleanup(at.Close)
	return m, b, at.URL
}

func killedUnder(t *testing.T, rng *rand.Rand, most *budget.Budget, want string) {
	t.Helper()
	m, b, at := charged(t)
	dir := filepath.Join(t.TempDir(), "run")
	kills, digest, killed := 0, "", true
	for killed {
		after := 1 + rng.IntN(40)
		if kills == 5 {
			after = 0
		}
		if digest, killed = b.run(t, dir, at, after); killed {
			kills++
		}
	}
	counted := m.Report(0)
	used := budget.Amount{Tokens: counted.Input + counted.Output, Calls: counted.Requests}
	again, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil || again.Scenes[0].Differs() {
		t.Fatalf("replay %+v, %v", again, err)
	}
	ledger, lost := folded(t, dir)
	t.Logf("%s: %d kills lost %d requests; the server counted %v, the ledger has %v", most, kills, lost, used, ledger)
	switch {
	case most.Tokens > 0 && (used.Tokens > most.Tokens || ledger.Tokens > most.Tokens || ledger.Tokens < used.Tokens),
		most.Calls > 0 && (used.Calls > most.Calls || ledger.Calls > most.Calls || ledger.Calls < used.Calls):
		t.Errorf("the budget is %s, the server counted %v, and the ledger has %v", most, used, ledger)
	case lost == 0 && digest != want:
		t.Errorf("nothing was lost, and the digest is %s, want %s", digest, want)
	case lost > 2*kills*fewAtOnce: // beside those at the server, some were answered and not kept yet; others had their places
		t.Errorf("%d requests were lost by %d kills", lost, kills)
	}
}

// folded is what the facts of a run say that it took, and how many of its requests were cut off.
func folded(t *testing.T, dir string) (used budget.Amount, cut int) {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	journal, err := o.Store.Journal("s")
	if err != nil {
		t.Fatal(err)
	}
	codec := machines.NewCodec()
	err = journal.Scan(persistence.Query{Kinds: []string{agentfact.FactModelAnswered}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		x, _ := f.(*agentfact.ModelAnswered).Answered()
		took, _ := budget.Taken(&x.Model)
		if used = used.Plus(took); f.(*agentfact.ModelAnswered).Cut() {
			cut++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return used, cut
}
