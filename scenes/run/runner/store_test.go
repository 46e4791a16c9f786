package runner

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/llm/replay"
	"tavernsim/llm/store"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/answerstore"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
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
	for _, workers := range []int{1, 8} {
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

// Minds §4: an answer from a record, or from the store, costs 0 of a budget and is counted as saved, also
// before a fallback. The size of a budget that refuses nothing does not matter, and neither do turns that
// run ahead.
func TestRecordedAnswersCostNothing(t *testing.T) {
	said := strings.ReplaceAll(thinker, "PROTOCOL", "openai")
	load := func(more string) *project.Project {
		p, err := LoadFS(scenestest.TownFS(said+more), "town", true)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	server, to := cloud(t, "vllm")
	dir := filepath.Join(t.TempDir(), "answers")
	s := openStore(t, dir)
	first := thinking(t)
	first.Endpoints, first.Store = to, s
	run(t, load(""), first)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	eachEntry(t, first.Dir, func(e *replay.Entry) error { return replay.Write(&lines, e) })
	p := load(`-- models/again.yaml --
{kind: replay, answers: models/recorded/town.jsonl, model: thinker}
-- models/large.yaml --
{kind: openai, endpoint: cloud, model: large, params: {temperature: 0}}
-- models/routed.yaml --
{kind: route, route: [{use: again}], fallback: [{use: large}]}
-- models/asks.yaml --
{kind: route, route: [{use: thinker}], fallback: [{use: large}]}
-- models/recorded/town.jsonl --
` + lines.String())
	asked := server.Report(0).Requests
	for _, model := range []string{"again", "routed", "asks", "thinker"} {
		digest := ""
		if testing.Short() && model != "routed" && model != "asks" {
			continue
		}
		for _, c := range []struct {
			budget   string
			schedule scenes.Schedule
		}{{"tokens=1000000000", ""}, {"tokens=1", ""}, {"dollars=0.000001", scenes.Speculative}} {
			if testing.Short() && c.budget == "tokens=1" {
				continue
			}
			s := openStore(t, dir)
			opt := thinking(t)
			opt.Model, opt.Endpoints, opt.Budget, opt.Schedule = model, to, parsed(t, c.budget), c.schedule
			if model == "asks" || model == "thinker" {
				opt.Store = s
			}
			sum := run(t, p, opt)
			if digest == "" {
				digest = sum.Digest
			}
			b := sum.Budgets[0]
			if sum.Digest != digest || b.Used.Tokens+b.Used.Calls+b.Used.Nano != 0 || b.Saved.Calls == 0 || b.Saved.Nano == 0 || b.Refused != 0 || sum.Model.Failed != 0 {
				t.Errorf("%s %+v: digest %s, want %s; %+v, %d failed", model, c, sum.Digest, digest, b, sum.Model.Failed)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := server.Report(0).Requests - asked; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// saidIn lists what was said in a run.
func saidIn(t *testing.T, dir string) (said []string) {
	t.Helper()
	eachEntry(t, dir, func(e *replay.Entry) error {
		said = append(said, fmt.Sprintf("%s %d %d %s %v %s %+v", e.Agent, e.Turn, e.Request, e.Text, e.Calls, e.Latency.Std(), e.Usage))
		return nil
	})
	return said
}

// eachEntry reads the answers of models in a run.
func eachEntry(t *testing.T, dir string, yield func(*replay.Entry) error) {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Answers("", yield); err != nil {
		t.Fatal(err)
	}
}
