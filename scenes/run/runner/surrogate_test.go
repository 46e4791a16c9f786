package runner

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"tavernsim/llm"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// withSituations exports a run with what its models read.
func withSituations(t *testing.T, dir string) string {
	t.Helper()
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	situations, err := o.Situations(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if n, err := o.ExportAnswers("", &b, situations); err != nil || n == 0 || n > len(situations) {
		t.Fatalf("%d answers, %d situations, %v", n, len(situations), err)
	}
	return b.String()
}

// A surrogate answers in situations that were recorded, and the model in others. Audits ask
// the model, too. Any workers give one digest, and a replay needs no network.
func TestSurrogate(t *testing.T) {
	p, err := LoadFS(loadThinkers(t, "openai"), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloud(t, "vllm")
	opt := thinking(t)
	opt.Endpoints = to
	first := run(t, p, opt)
	recorded := withSituations(t, opt.Dir)
	for audit, want := range map[string]func(by map[string]int, asked int64) bool{
		"0": func(by map[string]int, asked int64) bool {
			return by["surrogate"] > 0 && asked == int64(by["llm"]) && asked < first.Model.Calls/2
		},
		"0.3": func(by map[string]int, asked int64) bool {
			return by["surrogate"] > 0 && by["agreed"] > 0 && asked == int64(by["llm"])
		},
		"1": func(by map[string]int, asked int64) bool {
			return by["surrogate"] == 0 && by["agreed"] > 0 && asked == first.Model.Calls
		},
	} {
		p, err := LoadFS(scenestest.TownFS(strings.ReplaceAll(thinker, "PROTOCOL", "openai")+"-- models/alike.yaml --\nkind: surrogate\nanswers: models/recorded.jsonl\nmodel: thinker\ndistance: 0.1\naudit: "+audit+
			"\n-- models/recorded.jsonl --\n"+recorded), "town", true)
		if err != nil {
			t.Fatal(err)
		}
		digest, counts := "", []int{8}
		if audit == "0.3" { // some answers are asked for, and some are not
			counts = []int{1, 8}
		}
		for _, workers := range counts {
			before := server.Report(0).Requests
			opt := thinking(t)
			opt.Model, opt.Endpoints, opt.Workers = "alike", to, workers
			s := run(t, p, opt)
			by := map[string]int{}
			eachServed(t, opt.Dir, func(x *llm.Served) {
				by[x.By]++
				by[x.Audit]++
			})
			if asked := server.Report(0).Requests - before; !want(by, asked) || digest != "" && digest != s.Digest {
				t.Errorf("audit %s, %d workers: %v, %d requests of %d; digest %s, before %s", audit, workers, by, asked, s.Model.Calls, s.Digest, digest)
			}
			digest = s.Digest
			if r, err := rundir.Replay(context.Background(), opt.Dir, rundir.ReplayOptions{Verify: true}); err != nil || r.Scenes[0].Differs() {
				t.Errorf("replay: %+v, %v", r, err)
			}
		}
	}
}
