package runner

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"tavernsim/llm/replay"
	"tavernsim/llm/store"
	"tavernsim/scenes/run/answerstore"
	"tavernsim/scenes/run/rundir"
)

func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := answerstore.Open(dir, nil, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A second run is given what the first one paid for, does the same, and says where its
// answers came from. It does so on any workers, interrupted or not.
func TestStore(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, "vllm")
	dir := filepath.Join(t.TempDir(), "answers")
	run1 := func(workers int, s *store.Store) (string, string, int64) {
		opt := thinking(t)
		opt.Endpoints, opt.Store, opt.Workers = to, s, workers
		before := server.Report(0).Requests
		sum := run(t, p, opt)
		asked := server.Report(0).Requests - before
		a := sum.Model.Answers
		if a.Asked != asked || a.Stored != a.Reused || a.Reused+a.Asked != sum.Model.Calls {
			t.Errorf("%+v of %d calls, %d requests", a, sum.Model.Calls, asked)
		}
		if a.Asked == 0 && (a.Paid != 0 || a.Saved == 0) {
			t.Errorf("%+v", a)
		}
		return opt.Dir, sum.Digest, asked
	}
	s := openStore(t, dir)
	plain, _, asked := run1(2, s)
	if asked == 0 {
		t.Fatal("nobody was asked")
	}
	// Its own process sees nothing of it: a run that is repeated is the same.
	if _, _, again := run1(2, s); again != asked {
		t.Errorf("%d requests, want %d again", again, asked)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, workers := range []int{1, 2, 8} {
		s := openStore(t, dir)
		again, digest, asked := run1(workers, s)
		if asked != 0 {
			t.Errorf("%d requests", asked)
		}
		digests[digest] = true
		if a, b := saidIn(t, plain), saidIn(t, again); !slices.Equal(a, b) || len(a) == 0 {
			t.Errorf("said %q, with the store %q", a, b)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
	holdsNoKey(t, dir)
}

// saidIn lists what was said in a run.
func saidIn(t *testing.T, dir string) (said []string) {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	err = o.Answers("", func(e *replay.Entry) error {
		said = append(said, fmt.Sprintf("%s %d %d %s %v %s %+v", e.Agent, e.Turn, e.Request, e.Text, e.Calls, e.Latency.Std(), e.Usage))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return said
}
