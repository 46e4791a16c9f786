package outside_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/workflow"
	"tavernsim/llm"
	"tavernsim/llm/llmtest"
	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/scenestest"
)

// talkers ask twice in a turn, the second time about the first answer, and keep
// what they heard. Every question says whose and which it is.
const talkers = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- workflows/talk.yaml --
interfaceInputs: {self: {dataFlowType: OBJECT}, turn: {dataFlowType: INTEGER}, observations: {dataFlowType: ARRAY}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: p1, type: TextTemplate, configValues: {template: "{{.self.instance_id}} turn {{.turn}} first"}}
  - {id: m1, type: LLMCompletion}
  - {id: p2, type: TextTemplate, configValues: {template: "{{.self.instance_id}} turn {{.turn}} second, after {{.heard}}"}}
  - {id: m2, type: LLMCompletion}
  - id: d
    type: Expression
    configValues:
      type: OBJECT
      expression: "({private_state: {heard: a + '|' + b, seen: obs.map(o => o.kind)}, events: {type: 'said'}})"
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: self, target: p1, targetHandle: self}
  - {source: in, sourceHandle: turn, target: p1, targetHandle: turn}
  - {source: p1, sourceHandle: text, target: m1, targetHandle: prompt}
  - {source: in, sourceHandle: self, target: p2, targetHandle: self}
  - {source: in, sourceHandle: turn, target: p2, targetHandle: turn}
  - {source: m1, sourceHandle: text, target: p2, targetHandle: heard}
  - {source: p2, sourceHandle: text, target: m2, targetHandle: prompt}
  - {source: m1, sourceHandle: text, target: d, targetHandle: a}
  - {source: m2, sourceHandle: text, target: d, targetHandle: b}
  - {source: in, sourceHandle: observations, target: d, targetHandle: obs}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/talker.yaml --
id: talker
name: Talker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: talk
tool_ids_inventory: [UpdatePrivateStateTool, PublishEventTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Talkers
schema_version: "1.0"
agent_instances:
  - {instance_id: "a_{n}", profile_id: talker, count: 4}
simulation: {seed: 3, stop: {ticks: 6}}
`

func talking() (*project.Project, error) {
	return scenestest.Load(scenestest.Files(txtar.Parse([]byte(talkers))), nil)
}

func talkingScene(t testing.TB) *scenestest.Scene {
	t.Helper()
	p, err := talking()
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// asked names a question: the text up to what was heard before.
func asked(text string) string {
	before, _, _ := strings.Cut(text, ",")
	return before
}

// keptAnswers are the answers that a store's log holds, by question.
func keptAnswers(t testing.TB, dir string, fsys pebbledb.FS) map[string]string {
	t.Helper()
	store, err := persistence.Open(dir, persistence.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	answers := map[string]string{}
	journal, err := store.Journal(outside.JournalID("s"))
	if err != nil {
		t.Fatal(err)
	}
	err = journal.Read(1, func(r protocol.Record) error {
		e, text, err := outside.TextOf(r)
		if r.Kind == outside.FactAnswered {
			answers[fmt.Sprintf("%s turn %d %s", e.Agent, e.Turn, [...]string{1: "first", 2: "second"}[e.Request])] = text
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// heard are the texts that were answered in the journal of a scene, by question,
// and the questions whose outcome is unknown.
func heard(t testing.TB, s *scenestest.Scene) (texts map[string]string, unknown []string) {
	t.Helper()
	texts = map[string]string{}
	type turn struct {
		n       uint64
		answers int
	}
	codec, turns := machines.NewCodec(), map[string]*turn{}
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			if turns[r.Actor] == nil {
				turns[r.Actor] = &turn{n: 1}
			}
			at := turns[r.Actor]
			fact, err := codec.ReadFact(r.Kind, r.Data)
			switch x := fact.(type) {
			case agentfact.Recorded:
				a, _ := x.Answered()
				text, _ := a.Output.(string)
				texts[fmt.Sprintf("%s turn %d %s", r.Actor, at.n, [...]string{"first", "second"}[at.answers])] = text + a.Model.Text
				at.answers++
			case *agentfact.OutcomeUnknown:
				unknown = append(unknown, fmt.Sprintf("%s turn %d %s", r.Actor, at.n, [...]string{1: "first", 2: "second"}[x.Request]))
			case *agentfact.TurnEnded:
				at.n, at.answers = at.n+1, 0
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return texts, unknown
}

// crashes takes copies of a store at every nth call of a model, before and after
// the answer, as a kill there would leave it.
type crashes struct {
	fs    persistencetest.CrashDisk
	every int
	mu    sync.Mutex
	left  []pebbledb.FS
}

func (c *crashes) reply(n int, _ string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n%c.every == 0 {
		c.left = append(c.left, c.fs.Kill())
	}
	return fmt.Sprint("answer ", n), nil
}

// reply makes the nth answer to a question.
type reply func(n int, question string) (string, error)

// asking is a scene under test and how it is run with somebody who replies.
type asking struct {
	scene *scenestest.Scene
	with  func(reply reply, once bool) scenestest.Settings
}

// asModel replies as a model that takes time.
func asModel(reply reply, once bool) scenestest.Settings {
	return scenestest.Settings{Snapshots: 40, Model: &llmtest.Fake{Once: once, Reply: func(_ context.Context, n int, req *protocol.ModelRequest) (string, error) {
		return reply(n, llmtest.LastText(req))
	}}}
}

// A run that is killed at any moment asks nothing twice whose answer was kept,
// ends with the answers that were kept, and asks everything else exactly once
// more: a model, and an executor of another kind.
func TestKilledScene(t *testing.T) {
	for name, make := range map[string]func(testing.TB) asking{
		"model":  func(t testing.TB) asking { return asking{talkingScene(t), asModel} },
		"oracle": func(t testing.TB) asking { return asking{consulting(t), asOracle} },
	} {
		for _, once := range []bool{false, true} {
			if testing.Short() && once != (name == "oracle") {
				continue
			}
			t.Run(fmt.Sprint(name, " once=", once), func(t *testing.T) {
				a, fsys := make(t), persistencetest.NewCrashDisk()
				c := &crashes{fs: fsys, every: 3}
				a.scene.Dir = "run"
				set := a.with(c.reply, once)
				set.FS = fsys
				if r := a.scene.Run(t, set); r.Err != nil || !r.Final || len(c.left) < 12 {
					t.Fatal(r, len(c.left))
				}
				unknown := 0
				for i, left := range c.left {
					unknown += a.resumed(t, left, once, i)
				}
				if (unknown > 0) != once {
					t.Errorf("%d unknown outcomes in %d kills", unknown, len(c.left))
				}
			})
		}
	}
}

// resumed goes on from what a kill left.
func (a *asking) resumed(t *testing.T, left pebbledb.FS, once bool, i int) (unknown int) {
	t.Helper()
	s := a.scene
	kept := keptAnswers(t, s.Dir, left)
	var mu sync.Mutex
	again := map[string]int{}
	set := a.with(func(n int, question string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		again[asked(question)]++
		return fmt.Sprintf("after kill %d answer %d", i, n), nil
	}, once)
	set.FS = left
	r := s.Run(t, set)
	if r.Err != nil || !r.Final {
		t.Fatal(i, r)
	}
	copied := scenestest.Scene{Project: s.Project, Def: s.Def, Dir: t.TempDir()}
	if err := persistencetest.CopyDisk(left, s.Dir, persistencetest.OSDisk(), copied.Dir); err != nil {
		t.Fatal(err)
	}
	texts, lost := heard(t, &copied)
	for question, text := range kept {
		if again[question] > 0 {
			t.Errorf("kill %d: %q was answered and is asked again", i, question)
		}
		if texts[question] != text {
			t.Errorf("kill %d: %q was answered with %q; the journal holds %q", i, question, text, texts[question])
		}
	}
	for question, n := range again {
		if n > 1 {
			t.Errorf("kill %d: %q was asked %d times afterwards", i, question, n)
		}
	}
	for _, question := range lost {
		if again[question] > 0 || !once {
			t.Errorf("kill %d: the outcome of %q is unknown, asked %d times, once %v", i, question, again[question], once)
		}
	}
	if left := keptAnswers(t, copied.Dir, nil); len(left) > 0 {
		t.Errorf("kill %d: at the end the log holds %v", i, slices.Sorted(maps.Keys(left)))
	}
	return len(lost)
}

// The log is not in the digest: with a model that answers the same each time a
// run with it, one without, and one that was killed end alike.
func TestDigestIsWithoutTheLog(t *testing.T) {
	same := func(_ context.Context, _ int, req *protocol.ModelRequest) (string, error) {
		return "heard " + asked(llmtest.LastText(req)), nil
	}
	s := talkingScene(t)
	want := s.Run(t, scenestest.Settings{Model: &llmtest.Fake{Reply: same}}).Digest()
	s = s.Fresh(t)
	r, err := s.StartWith(scenestest.Settings{Model: &llmtest.Fake{Reply: same}}, func(o *scenes.Options) { o.Effects = nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Close().Digest(); got != want {
		t.Errorf("without a log %s, with it %s", got, want)
	}
	fsys := persistencetest.NewCrashDisk()
	c := &crashes{fs: fsys, every: 5}
	s.Dir = "run"
	s.Run(t, scenestest.Settings{FS: fsys, Model: &llmtest.Fake{Reply: func(ctx context.Context, n int, req *protocol.ModelRequest) (string, error) {
		_, _ = c.reply(n, "")
		return same(ctx, n, req)
	}}})
	if len(c.left) < 8 {
		t.Fatalf("%d kills", len(c.left))
	}
	for i, left := range c.left {
		if got := s.Run(t, scenestest.Settings{FS: left, Workers: 1 + i%3, Model: &llmtest.Fake{Reply: same}}).Digest(); got != want {
			t.Errorf("kill %d: %s, want %s", i, got, want)
		}
	}
}

// A failed agent begins its turn again in the same process: what it was
// answered is not asked again either.
func TestFailedAgent(t *testing.T) {
	var through atomic.Int32
	text := strings.NewReplacer(
		"  - {id: out, type: GroupOutput}", "  - {id: shaky, type: \"test:Shaky\"}\n  - {id: out, type: GroupOutput}",
		"{source: m2, sourceHandle: text, target: d, targetHandle: b}",
		"{source: m2, sourceHandle: text, target: shaky, targetHandle: in}\n  - {source: shaky, sourceHandle: out, target: d, targetHandle: b}",
	).Replace(talkers)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), workflow.Kinds{"test:Shaky": scenestest.Kind(func(in any) any {
		if through.Add(1) == 7 {
			panic("fell over")
		}
		return in
	})})
	if err != nil {
		t.Fatal(err)
	}
	model := &llmtest.Fake{}
	if o := scenestest.New(t, p, "").Run(t, scenestest.Settings{Model: model}); o.Err != nil || !o.Final || o.State.Tally.Restarts != 1 {
		t.Fatal(o)
	}
	for text, n := range model.All() {
		if n != 1 {
			t.Errorf("%q was asked %d times", text, n)
		}
	}
}

// A failure of the model is an answer, too, and keeps its kind.
func TestFailuresAreKept(t *testing.T) {
	fsys := persistencetest.NewCrashDisk()
	c := &crashes{fs: fsys, every: 4}
	s := talkingScene(t)
	s.Dir = "run"
	fail := func(_ context.Context, n int, _ *protocol.ModelRequest) (string, error) {
		text, _ := c.reply(n, "")
		if n%2 == 0 {
			return "", &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: text}
		}
		return text, nil
	}
	s.Run(t, scenestest.Settings{FS: fsys, Model: &llmtest.Fake{Reply: fail}})
	if len(c.left) < 8 {
		t.Fatalf("%d kills", len(c.left))
	}
	for i, left := range c.left {
		kept := keptAnswers(t, s.Dir, left)
		model := &llmtest.Fake{}
		s.Run(t, scenestest.Settings{FS: left, Model: model})
		for question := range kept {
			for text := range model.All() {
				if asked(text) == question {
					t.Errorf("kill %d: %q was answered with %q and is asked again", i, question, kept[question])
				}
			}
		}
	}
}
