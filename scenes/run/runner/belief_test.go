package runner

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// Minds, acceptance row 5: a belief of one agent is changed at half. It alone reads it, so
// nobody else asks anything, and the summary counts what the server does.
func TestForkPaysForABelief(t *testing.T) {
	think, err := fs.ReadFile(scenestest.TownFS(), "workflows/think.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Replace(string(think), "{{.self.instance_id}}.", "{{.self.instance_id}}, who is {{.private_state.mood}}.", 1)
	p, err := LoadFS(scenestest.TownFS(strings.ReplaceAll(thinker, "PROTOCOL", "openai")+"-- workflows/think.yaml --\n"+shown), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	model, err := scripted.Load("model.yaml", []byte("otherwise: Good day."))
	if err != nil {
		t.Fatal(err)
	}
	server, to := cloudOf(t, "vllm", mock.Options{Key: secretKey, Model: model})
	opt := thinking(t)
	opt.Endpoints = to
	first := run(t, p, opt)
	asked := server.Report(0).Requests
	half := first.Waves / 2
	dir := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), opt.Dir, dir, rundir.ForkOptions{At: fmt.Sprintf("wave:%d", half)}); err != nil {
		t.Fatal(err)
	}
	belief, err := orders.Parse("x.jsonl", fmt.Appendf(nil, `{"id": "belief", "wave": %d, "reason": "a rumour", "do": [{"private_state": {"agent": "c_3", "path": "mood", "value": "weary", "reason": "a rumour"}}]}`, half+1))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resume(dir, Options{Endpoints: to, Orders: belief})
	if err != nil {
		t.Fatal(err)
	}
	s := wait(t, r)
	again := server.sent()[asked:]
	if n := int64(len(again)); n == 0 || s.Model.Answers.Asked != n || server.Report(0).Requests-asked != n || s.Model.Answers.Reused == 0 {
		t.Errorf("%d requests, the summary says %+v", n, s.Model.Answers)
	}
	for _, body := range again {
		if !strings.Contains(body, "of c_3, who is weary") {
			t.Errorf("asked by an agent outside the cone: %s", body)
		}
	}
}
