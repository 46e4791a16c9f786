package tooling_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
)

// crowd is a scene of many agents behind a hook that takes 30 ms and may take 100.
const crowd = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "plugins": [{"name": "guard"}]}
-- plugins/guard/plugin.yaml --
name: guard
version: 1.0.0
services: {g: {command: python3 ./guard.py, concurrency: CONCURRENCY}}
permissions: {hooks: ["hook:agent:before-deliberate"]}
hooks: [{hook: "agent:before-deliberate", service: g, fail: closed TIMEOUT}]
-- plugins/guard/guard.py --
import json, os, select, time
rest, due = b"", []
def say(q, result): os.write(1, json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}).encode() + b"\n")
while True:
    while due and due[0][0] <= time.monotonic():
        q = due.pop(0)[1]
        say(q, {"observations": [q["params"]["agent"]]})
    if not select.select([0], [], [], max(0, due[0][0] - time.monotonic()) if due else None)[0]: continue
    data = os.read(0, 65536)
    if not data: break
    *lines, rest = (rest + data).split(b"\n")
    for line in lines:
        q = json.loads(line)
        if q["method"] == "hook/call": due.append((time.monotonic() + 0.03, q))
        elif "id" in q: say(q, {"protocol": 1})
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: COUNT, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {seed: 1, stop: {ticks: 1}}
-- models/m.yaml --
otherwise: {text: "{{range .variables.observations}}{{.kind}} {{.value}}; {{end}}"}
`

func crowded(t testing.TB, agents, concurrency int, timeout string) *scenestest.Scene {
	t.Helper()
	files := strings.NewReplacer("COUNT", fmt.Sprint(agents), "CONCURRENCY", fmt.Sprint(concurrency), " TIMEOUT", timeout).Replace(crowd)
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(files))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// answeredHooks counts the questions to hooks that were answered, and that failed: these
// forbid.
func answeredHooks(t testing.TB, s *scenestest.Scene) (answered, failed int) {
	t.Helper()
	for _, f := range agentFacts(t, s) {
		if x, ok := f.(*agentfact.HookAnswered); ok && x.Veto == "" {
			answered++
		} else if ok {
			failed++
		}
	}
	return answered, failed
}

// A service that works on many questions at once gives the same history every time, in
// whatever order it answers.
func TestManyQuestionsAtOnce(t *testing.T) {
	box, digest := withPython(t), ""
	for _, workers := range []int{1, 7} {
		s := crowded(t, 60, 30, ", timeout: 60s")
		r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box, Workers: workers})
		if r.Err != nil || !r.Final {
			t.Fatal(r.Err, r.Reason)
		}
		if answered, failed := answeredHooks(t, s); answered < 60 || failed > 0 {
			t.Errorf("%d answered, %d failed", answered, failed)
		}
		if digest == "" {
			digest = r.Digest()
		}
		if r.Digest() != digest {
			t.Errorf("%d workers: %s, before %s", workers, r.Digest(), digest)
		}
	}
}

// BenchmarkHook is a wave of a thousand agents behind a hook of 30 ms that may take 100.
func BenchmarkHook(b *testing.B) {
	const agents = 1000
	for _, concurrency := range []int{1, 64} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) {
			box, failed := withPython(b), 0
			for b.Loop() {
				s := crowded(b, agents, concurrency, "")
				if r := s.Run(b, scenestest.Settings{Tools: tooling.Live, Sandbox: box}); r.Err != nil || !r.Final {
					b.Fatal(r.Err, r.Reason)
				}
				_, more := answeredHooks(b, s)
				failed += more
			}
			b.ReportMetric(agents*float64(b.N)/b.Elapsed().Seconds(), "deliberations/s")
			b.ReportMetric(float64(failed)/float64(b.N), "failed/op")
		})
	}
}
