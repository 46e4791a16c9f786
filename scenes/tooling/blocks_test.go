package tooling_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools"
)

// blocks is a scene whose agents say ANSWER in their first turn.
const blocks = `
-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [UpdatePrivateStateTool, SayTool, free, never]
-- tools/free.tool.yaml --
id: free
parameters: {properties: {q: {type: string}, n: {type: integer}}}
implementation: {type: service, name: lab}
execution: {repeat: free, parallel: true, timeout: 5s, latency: 2s}
-- tools/never.tool.yaml --
id: never
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
execution: {timeout: 5s}
-- scenes/s.yaml --
id: s
name: Blocks
schema_version: "1.0"
agent_instances:
  - {instance_id: "a_{n}", profile_id: person, count: 3}
simulation: {seed: 3, stop: {ticks: 10}}
-- models/voices.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer:
ANSWER
otherwise: {text: ""}
`

// lab notes every attempt and answers by what it is asked.
type lab struct {
	mu       sync.Mutex
	attempts map[string][]string // by question: keys
	slow     string              // begins of questions that take longest
}

func (l *lab) call(ctx context.Context, c *tools.Call) tools.Result {
	q, _ := c.Params["q"].(string)
	l.mu.Lock()
	l.attempts[q] = append(l.attempts[q], c.Key)
	n := len(l.attempts[q])
	l.mu.Unlock()
	switch {
	case strings.HasPrefix(q, "twice") && n <= 2:
		return tools.Fail(protocol.KindTransient, "not yet")
	case strings.HasPrefix(q, "hangs"):
		return tools.Fail(protocol.KindTimeout, "no answer")
	case l.slow != "" && strings.HasPrefix(q, l.slow):
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // so that others answer before
	}
	return tools.Output(map[string]any{"q": q, "n": int64(n), "list": []any{q, "x"}})
}

// play runs the agents that say an answer once.
func play(t *testing.T, answer string, l *lab, set scenestest.Settings) (*scenestest.Scene, scenestest.Result) {
	t.Helper()
	indented := "      " + strings.ReplaceAll(strings.TrimSpace(answer), "\n", "\n      ")
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.Replace(blocks, "ANSWER", indented, 1)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	l.attempts = map[string][]string{}
	set.Tools, set.Services = tooling.Live, map[string]tools.Executor{"lab": tools.Func(l.call)}
	s := scenestest.New(t, p, "")
	r := s.Run(t, set)
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	s.Journal(t, func(j *persistence.Journal) {
		if r, _, err := verify.Run(t.Context(), s.Made(t, set), j, verify.Options{}); err != nil || r.Difference != nil {
			t.Errorf("verify: %v %+v", err, r.Difference)
		}
	})
	return s, r
}

// made lists the calls of an agent: tool, status and what came of them.
func made(t *testing.T, s *scenestest.Scene, who string) (list []string) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			if r.Kind != agentfact.FactCallMade || r.Actor != who {
				return nil
			}
			v, err := r.Data.Value()
			f := v.([]any)
			list = append(list, fmt.Sprint(f[1], " ", f[4], " ", f[6]))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	return list
}

const inOrder = `
text: |
  <|[REQUEST_TOOL]|>
  common_who: »»»@{timestamp}«««
  command_1: »»»free«««
  q_1: »»»one @{self.instance_id}«««
  command_2: »»»free«««
  q_2: »»»two @{self.instance_id}«««
  x_after_2: »»»none«««
  command_3: »»»free«««
  q_3: »»»three @{step_1.output.list.0}«««
  n_3: »»»@{step_1.output.n}«««
  x_after_3: »»»none«««
  command_4: »»»free«««
  q_4: »»»four @{step_2.output.q} @{step_3.status} @{scene_id}«««
  x_after_4: »»»2«««
  command_5: »»»UpdatePrivateStateTool«««
  path_5: »»»got«««
  value_5: »»»@{step_4.output.q}«««
  <|[END_TOOL]|>
`

// Steps that run beside each other: the facts do not depend on which answers first, nor on
// the number of workers.
func TestStepsBesideEachOther(t *testing.T) {
	digest := ""
	for _, slow := range []string{"", "one", "two", "three"} {
		for _, workers := range []int{1, 7} {
			s, r := play(t, inOrder, &lab{slow: slow}, scenestest.Settings{Workers: workers})
			if digest == "" {
				digest = r.Digest()
			}
			if r.Digest() != digest {
				t.Errorf("%d workers, %q is slow: %s, before %s", workers, slow, r.Digest(), digest)
			}
			if got := s.Fold(t, scenestest.Settings{}).Agents[1].State.Private["got"]; got != "four two a_2 ok s" {
				t.Errorf("%q: %v\n%s", slow, got, strings.Join(made(t, s, "a_2"), "\n"))
			}
		}
	}
}

// A3: a tool that fails twice is asked three times with one key; one that must not be
// repeated and does not answer is asked once, and its outcome is unknown.
func TestRetriesOfABlock(t *testing.T) {
	l := &lab{}
	s, _ := play(t, `
text: |
  <|[REQUEST_TOOL]|>
  command_1: »»»free«««
  q_1: »»»twice @{self.instance_id}«««
  retry_1: »»»3«««
  command_2: »»»never«««
  q_2: »»»hangs @{self.instance_id}«««
  retry_2: »»»3«««
  <|[END_TOOL]|>
`, l, scenestest.Settings{})
	for _, who := range []string{"a_1", "a_2", "a_3"} {
		keys := l.attempts["twice "+who]
		if len(keys) != 3 || keys[0] != keys[1] || keys[1] != keys[2] || keys[0] == "" {
			t.Errorf("%s: attempts with the keys %q", who, keys)
		}
		if n := len(l.attempts["hangs "+who]); n != 1 {
			t.Errorf("%s: %d attempts of a tool that must not be repeated", who, n)
		}
		got := strings.Join(made(t, s, who), "\n")
		if !strings.Contains(got, "free ok") || !strings.Contains(got, "never error") || !strings.Contains(got, "unknown_outcome") {
			t.Errorf("%s: %s", who, got)
		}
	}
	if l.attempts["twice a_1"][0] == l.attempts["twice a_2"][0] {
		t.Error("two agents have one key")
	}
}

// A6: an answer with a block that is closed, a root of ToolsXML and native calls, cut by
// its length inside a value: what was closed runs, what was cut does not, no markup is
// spoken, and the agent is told.
func TestAnAnswerThatWasCut(t *testing.T) {
	l := &lab{}
	s, _ := play(t, `
text: |-
  Before.
  <|[REQUEST_TOOL]|>
  command_1: »»»free«««
  q_1: »»»closed«««
  <|[END_TOOL]|>
  Between.
  <tools><command>ls</command></tools>
  <|[REQUEST_TOOL]|>
  command_1: »»»free«««
  q_1: »»»cut in the mid
finish: length
calls:
  - {tool: free, params: {q: native}}
  - {tool: free, params: {q: beside}}
`, l, scenestest.Settings{})
	if len(l.attempts["closed"]) != 3 || len(l.attempts["native"]) != 3 || len(l.attempts["beside"]) != 3 || len(l.attempts) != 3 {
		t.Errorf("%v", l.attempts)
	}
	told := strings.Join(made(t, s, "a_1"), "\n")
	if !strings.Contains(told, "(not understood) error") || !strings.Contains(told, "not run") || !strings.Contains(told, "ToolsXML <command>") {
		t.Errorf("the agent is told\n%s", told)
	}
	said := ""
	s.Journal(t, func(j *persistence.Journal) {
		_ = j.Scan(persistence.Query{}, func(r protocol.Record) error {
			if r.Kind == agentfact.FactSaid && r.Actor == "a_1" {
				said += string(r.Data)
			}
			return nil
		})
	})
	if !strings.Contains(said, "Before") || !strings.Contains(said, "Between") || strings.ContainsAny(said, "<»") {
		t.Errorf("said: %q", said)
	}
}
