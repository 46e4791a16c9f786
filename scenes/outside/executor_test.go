package outside_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/workflow"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// oracle is an executor of its own kind: what a host brings beside the model.
type oracle struct {
	reply reply
	once  bool
	mu    sync.Mutex
	calls int
}

// Name implements outside.Executor.
func (o *oracle) Name() string { return "delphi" }

// MayRepeat implements outside.Executor.
func (o *oracle) MayRepeat(*effect.Ask) bool { return !o.once }

// Do implements outside.Executor.
func (o *oracle) Do(_ context.Context, q *effect.Ask) effect.Answered {
	o.mu.Lock()
	o.calls++
	n := o.calls
	o.mu.Unlock()
	question, _ := q.Call.Params["q"].(string)
	text, err := o.reply(n, question)
	return effect.Answered{Output: text, Err: err}
}

// External is its tool.
func (o *oracle) External() []agent.External {
	return []agent.External{{Kind: "oracle", Spec: protocol.ToolSpec{Name: "AskOracleTool", Description: "Asks the oracle.", Parameters: map[string]any{
		"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []any{"q"},
	}}}}
}

func asOracle(reply reply, once bool) scenestest.Settings {
	o := &oracle{reply: reply, once: once}
	return scenestest.Settings{Snapshots: 40, External: o.External(), Executors: []outside.Entry{{Kind: "oracle", Executor: o, AtOnce: 2}}}
}

// consultants ask the oracle twice in a turn, first a node, then by a call that
// the turn decided, and nobody asks a model. What they heard they keep and tell.
var consultants = strings.NewReplacer(
	"- {id: m1, type: LLMCompletion}", `- {id: m1, type: "test:Oracle"}`,
	"  - {id: m2, type: LLMCompletion}\n", "",
	"sourceHandle: text, target: m1, targetHandle: prompt", "sourceHandle: text, target: m1, targetHandle: in",
	"source: m1, sourceHandle: text", "source: m1, sourceHandle: out",
	"  - {source: p2, sourceHandle: text, target: m2, targetHandle: prompt}\n", "",
	"source: m2, sourceHandle: text, target: d", "source: p2, sourceHandle: text, target: d",
	"({private_state: {heard: a + '|' + b,", "({calls: [{tool: 'AskOracleTool', params: {q: b}}], private_state: {heard: a,",
	"[UpdatePrivateStateTool,", "[AskOracleTool, UpdatePrivateStateTool,",
).Replace(talkers)

func consulting(t testing.TB) *scenestest.Scene {
	t.Helper()
	kinds := workflow.Kinds{"test:Oracle": workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		return &asks{in: s.In(workflow.In{Name: "in", Type: workflow.Wildcard}), out: s.Out("out", workflow.ConvertibleAny)}
	})}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(consultants))), kinds, "AskOracleTool")
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// asks is a node that calls the oracle's tool.
type asks struct{ in, out int }

// Run implements workflow.Body.
func (n *asks) Run(x *workflow.Exec) error {
	x.AskTool("AskOracleTool", map[string]any{"q": x.In(n.in)})
	return nil
}

// Answered implements workflow.Asker.
func (n *asks) Answered(x *workflow.Exec, a *workflow.Answer) error {
	x.Set(n.out, a.Result.Output)
	return nil
}

// An executor that answers the same each time gives a run the same digest, killed
// or not; nothing of the log is left although no turn asked a model; and the
// history is decided again without the executor.
func TestASecondKind(t *testing.T) {
	same := func(_ int, question string) (string, error) { return "heard " + asked(question), nil }
	s := consulting(t)
	set := asOracle(same, false)
	want := s.Run(t, set)
	if want.Err != nil || !want.Final || want.State.Tally.ModelCalls != 0 || want.State.Tally.ByTool["AskOracleTool"] != 4*6*2 {
		t.Fatal(want, want.State.Tally)
	}
	texts, _ := heard(t, s)
	if got := texts["a_2 turn 3 second"]; len(texts) != 4*6*2 || got != "heard a_2 turn 3 second" {
		t.Errorf("%d answers are in the journal, one is %q", len(texts), got)
	}
	if left := keptAnswers(t, s.Dir, nil); len(left) > 0 {
		t.Errorf("at the end the log holds %v", left)
	}
	set.Executors = nil // a replay asks nobody
	s.Journal(t, func(j *persistence.Journal) {
		r, _, err := verify.Run(t.Context(), s.Made(t, set), j, verify.Options{})
		if err != nil || r.Difference != nil || r.Deliberations != 4*6 || r.Verified+r.Taken[verify.TakenOutside] != r.Facts {
			t.Errorf("%v %+v", err, r)
		}
	})
	s = s.Fresh(t)
	c := &crashes{fs: persistencetest.NewCrashDisk(), every: 7}
	s.Dir = "run"
	set = asOracle(func(n int, question string) (string, error) {
		_, _ = c.reply(n, question)
		return same(n, question)
	}, false)
	set.FS = c.fs
	s.Run(t, set)
	if len(c.left) < 6 {
		t.Fatalf("%d kills", len(c.left))
	}
	for i, left := range c.left {
		set := asOracle(same, false)
		set.FS, set.Workers = left, 1+i%3
		if got := s.Run(t, set).Digest(); got != want.Digest() {
			t.Errorf("kill %d: %s, want %s", i, got, want.Digest())
		}
	}
}
