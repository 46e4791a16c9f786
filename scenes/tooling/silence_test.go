package tooling_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/permit"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/approvals"
)

// askers call a tool about which the policy asks, and one about which it does not.
const askers = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "tool_policy": {"otherwise": "allow", "rules": [{"id": "money", "tools": ["pay"], "do": "ask", "reason": "it is money"}]}}
-- tools/pay.tool.yaml --
id: pay
parameters: {properties: {q: {type: string}, api_key: {type: string}}}
implementation: {type: service, name: lab}
MODE
-- tools/look.tool.yaml --
id: look
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [pay, look]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 3}]
simulation: {seed: 1, stop: {ticks: 400}}
-- models/m.yaml --
rules: [{match: {variables: {turn: 1}}, answer: {calls: [{tool: pay, params: {q: x, api_key: "abcdefgh12345"}}, {tool: look, params: {q: y}}]}}]
otherwise: {text: ""}
`

// deaf is where nobody ever answers.
type deaf struct{}

func (deaf) Ask(ctx context.Context, _ *approvals.Question) (approvals.Verdict, error) {
	<-ctx.Done()
	return approvals.Verdict{}, context.Cause(ctx)
}

// Decision 0136: silence is a no after 5 minutes, of which the scene keeps the question, the time
// and the answer: one history with every number of workers, also if the process ended while the
// question was open, and decided again without asking. A question of a task is asked before there
// is one.
func TestSilenceIsANo(t *testing.T) {
	for _, mode := range []string{"", "execution: {mode: async, latency: 1s}"} {
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(askers, "MODE\n", mode+"\n", 1)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		digest := ""
		for _, c := range []struct {
			workers int
			after   time.Duration // that the process ends while the questions are open; 0 = it does not
		}{{1, 0}, {7, 0}, {2, 2 * time.Minute}, {2, 4*time.Minute + 59*time.Second}} {
			synctest.Test(t, func(t *testing.T) {
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Tools: tooling.Live, Services: echo(), Workers: c.workers, Leave: tooling.Leave{Door: deaf{}, Run: "r"}}
				if c.after > 0 {
					r, err := s.Start(set)
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					time.Sleep(c.after) //nolint:forbidigo // of the bubble
					r.Interrupt()
					if o := r.Close(); o.Err != nil || o.Final {
						t.Fatal(o)
					}
				}
				r := s.Run(t, set)
				if r.Err != nil || !r.Final {
					t.Fatal(r)
				}
				asked, answered, denied, made := 0, 0, 0, 0
				for _, f := range agentFacts(t, s) {
					switch x := f.(type) {
					case *agentfact.CallAsked:
						if asked++; x.Rule != "money" || strings.Contains(string(x.Params), "abcdefgh") {
							t.Errorf("asked: %+v", x)
						}
					case *agentfact.CallAnswered:
						if x.Kind == "approval" && x.Latency == 5*time.Minute {
							answered++
						}
					case *agentfact.CallJudged:
						if !x.Allowed && x.By == permit.BySilence {
							denied++
						}
					case *agentfact.CallMade:
						if x.Tool == "pay" && strings.Contains(x.Error, "nobody answered in time") {
							made++
						}
					}
				}
				if asked != 3 || answered != 3 || denied != 3 || made != 3 || len(factsOf(t, s)) > 0 {
					t.Errorf("%+v: %d asked, %d answered, %d denied, %d refused", c, asked, answered, denied, made)
				}
				if digest == "" {
					digest = r.Digest()
				}
				if r.Digest() != digest {
					t.Errorf("%+v: %s, before %s", c, r.Digest(), digest)
				}
				mustVerify(t, s, scenestest.Settings{Tools: tooling.Off})
			})
		}
	}
}
