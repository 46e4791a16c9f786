package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/permit"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/workflow"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata/script from what the code does")

// A script is a txtar archive about one rule, which its comment states:
//
//	-- agent --       the profile, in YAML: the fields of setting
//	-- world --       what wakes see, in YAML; {n: 7} without it
//	-- knowledge --   a list of knowledge bases, in YAML
//	-- workflow ID -- a further workflow, in JSON; core and reflection mean these
//	-- script --      commands, and after each ---- what the machine did, up to an empty line
//
// A command is a line: a verb, words, and name=value in YAML. Verbs are
//
//	hear ID [TYPE] [from= priority= text= payload= targets= ack= ephemeral= expires= task= asks= wave= place= trace=]
//	observe KIND [value=]   an observation from another machine
//	missed [wave= place=]   a mailbox did not take an event
//	wake [at= wave= workflow= response= calls= decision= inputs=]
//	answer [KIND] N [text= calls= finish= in= out= took= output= artifact=]
//	fail [KIND] N ERROR_KIND WORDS
//	task ID STATUS          a task of the agent is open, or has ended
//	world value=            what later wakes see
//	cancel REASON, interrupt REASON
//	interrupted             the scene cancelled the requests of the turn whose latency passes
//	failed                  the actor failed and was restored
//	snapshot                the state is encoded and read back
//
// at= is in seconds of the scene; a wake without it comes one second after the
// one before. A core workflow of kind given hands on what the wake says; one of
// kind model asks a model for its response; models asks three at once.
//
// The outcome is one line for each fact, effect and request, and for each part of
// the state that the command changed. Three machines play every script: the one
// whose outcome is printed; one that is restored from a snapshot whenever it does
// not deliberate; one that only folds what was decided, from its bytes. The second
// must decide the same, and all three have the same state after each command.
func TestScripts(t *testing.T) {
	doctest.Archives(t, "testdata/script/*.txt", "script", *update, func(t *testing.T, a *txtar.Archive, held string) string {
		return newScript(t, a).play(held)
	})
}

// setting is what the section agent says.
type setting struct {
	Limits     profile.RuntimeConfig        `json:"custom_runtime_config"`
	Core       string                       `json:"core"`       // given, model, models, or the id of a workflow
	Prompt     string                       `json:"prompt"`     // a template; of the core workflow model
	Reflection string                       `json:"reflection"` // id of a workflow
	Skills     []string                     `json:"skills"`
	OnEvent    map[string]string            `json:"on_event"`
	Tools      []string                     `json:"tools"`  // all that a profile may have when it is missing
	Orders     []string                     `json:"orders"` // instances that may order
	Directors  []string                     `json:"directors"`
	External   map[string]string            `json:"external"` // kind of the executor by tool; all take q
	Carried    map[string]string            `json:"carried"`  // workflow by the tool that it carries out; all take q, and no r of theirs is "bad"
	Parallel   bool                         `json:"parallel"` // these tools may run beside each other
	Async      []string                     `json:"async"`    // their calls are tasks, and take output_uri too
	Open       []string                     `json:"open"`     // tasks of the agent; and one of another agent, and one that ended
	Assigned   []string                     `json:"assigned"` // tasks between agents: id, and who has taken it
	Knowledge  []profile.KnowledgeReference `json:"knowledge"`
	Private    map[string]any               `json:"private"`
	Forbidden  string                       `json:"forbidden"` // no private state has this field
	Realtime   bool                         `json:"realtime"`
	Policy     *permit.Policy               `json:"policy"`
	Motivation *profile.Motivation          `json:"motivation"`
	Memory     *profile.Memory              `json:"memory"`
	Reflects   *profile.Reflection          `json:"reflects"`
	Goals      []map[string]any             `json:"goals"`  // of the start: parameters of UpdateGoalTool, rewards and penalties as commands, kb
	Period     float64                      `json:"period"` // seconds
	Space      []string                     `json:"space"`  // rows of its ground; bo is in the place inn, the cell 2,0, and ada at 0,0
}

type script struct {
	t         *testing.T
	codec     *protocol.Codec
	live      *Machine // its outcome is printed
	cut       *Machine // restored from a snapshot again and again
	fold      *Machine // takes facts and deliveries only
	world     any
	knowledge knowledge.State
	tasks     tooltask.State
	space     any // what the service shows
	now       protocol.Time
	wave      uint64
	seen      map[string]string // the state as it was last printed, by part
	out       strings.Builder
}

func newScript(t *testing.T, a *txtar.Archive) *script {
	t.Helper()
	s := &script{t: t, codec: protocol.NewCodec(agentfact.Facts(), statecmd.Facts()), world: map[string]any{"n": int64(7)}, seen: map[string]string{}, now: moment(0)}
	var set setting
	d := &Definition{Profile: "p", Name: "P", Workflows: map[string]*workflow.Plan{}}
	for _, f := range a.Files {
		kind, id, _ := strings.Cut(f.Name, " ")
		switch kind {
		case "agent":
			s.read(f, &set)
		case "world":
			s.world = nil
			s.read(f, &s.world)
			s.world, _ = protocol.Normalize(s.world)
		case "knowledge":
			s.knowledge = s.bases(f)
		case "workflow":
			def := &workflow.Definition{}
			s.read(f, def)
			def.ID = id
			d.Workflows[id] = compile(t, def)
		case "script":
		default:
			t.Fatalf("section %s: want agent, world, knowledge, workflow ID or script", f.Name)
		}
	}
	s.define(d, &set)
	var open []*tooltask.Task
	var past []tooltask.Past
	var work []tooltask.Work
	for _, id := range set.Open {
		open = append(open, &tooltask.Task{ID: id, Agent: "ada", Tool: "paint", Opened: moment(0), Due: moment(9)})
	}
	for _, text := range set.Assigned {
		id, by, _ := strings.Cut(text, " ")
		asker, _, _ := strings.Cut(id, "/")
		x := tooltask.Assignment{Type: "job.do"}
		open = append(open, &tooltask.Task{ID: id, Agent: asker, Kind: tooltask.KindAgent, Tool: tooltask.AskTool, Params: x.Encode(), Opened: moment(0), Due: moment(9)})
		if by != "" {
			work = append(work, tooltask.Work{ID: id, By: by, Status: tooltask.ReportProgress, Progress: 0.5, Note: "half"})
		}
	}
	if len(set.Open) > 0 {
		open = append(open, &tooltask.Task{ID: "bo/1.1", Agent: "bo"})
		past = []tooltask.Past{{ID: "ada/0.1", Agent: "ada", Tool: "paint", Status: "error", Error: "no paint", At: moment(0)}}
	}
	s.tasks = tooltask.New(open, past, work)
	for _, m := range []**Machine{&s.live, &s.cut, &s.fold} {
		private, _ := protocol.Normalize(set.Private)
		state, _ := private.(map[string]any)
		if state == nil {
			state = map[string]any{}
		}
		*m = &Machine{Def: d, ID: Identity{Instance: "ada", Ordinal: 4}, State: State{own: own{Private: state}, Goals: s.goals(&set)}}
	}
	s.changes()
	s.out.Reset() // what it begins with stands in the section agent
	return s
}

// goals are those of the start.
func (s *script) goals(set *setting) (list []goal.Goal) {
	for _, params := range set.Goals {
		v, err := protocol.Normalize(params)
		if err != nil {
			s.t.Fatal(err)
		}
		p := v.(map[string]any)
		g, err := goal.Asked(goal.Goal{}, false, p)
		if err != nil {
			s.t.Fatal(err)
		}
		more, err := goal.AskedMore(nil, p, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		m := *more
		g.KB, _ = p["kb"].(string)
		m.Source = goal.Initial
		for name, into := range map[string]*protocol.Raw{"reward": &m.Reward, "penalty": &m.Penalty} {
			if p[name] != nil {
				*into = protocol.Encode(p[name])
			}
		}
		g.More = &m
		list = append(list, g)
	}
	return list
}

// read decodes YAML by the names of JSON and refuses unknown ones.
func (s *script) read(f txtar.File, into any) {
	s.t.Helper()
	var v any
	err := yaml.Unmarshal(f.Data, &v)
	if err == nil {
		var raw []byte
		if raw, err = json.Marshal(v); err == nil {
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.DisallowUnknownFields()
			dec.UseNumber()
			err = dec.Decode(into)
		}
	}
	if err != nil {
		s.t.Fatalf("section %s: %v", f.Name, err)
	}
}

func (s *script) bases(f txtar.File) knowledge.State {
	var defs []knowledge.KnowledgeBase
	s.read(f, &defs)
	var list []*knowledge.Base
	for i := range defs {
		for j := range defs[i].Entries {
			defs[i].Entries[j].Content, _ = protocol.Normalize(defs[i].Entries[j].Content)
		}
		b, err := knowledge.New(defs[i])
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, b)
	}
	state, err := knowledge.NewState(list...)
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

func (s *script) define(d *Definition, set *setting) {
	d.Realtime, d.Assigns = set.Realtime, slices.Contains(set.Tools, tooltask.ReportTool)
	if d.InSpace = set.Space != nil; d.InSpace {
		s.space = yard(s.t, set.Space)
	}
	d.Policy, _ = permit.New(set.Policy)
	d.Limits, d.Reflection, d.Skills, d.OnEvent, d.Tools = set.Limits.Limits(), set.Reflection, set.Skills, set.OnEvent, set.Tools
	if d.Tools == nil {
		d.Tools = ProfileTools()
	}
	for _, name := range protocol.SortedKeys(set.External) {
		takes := map[string]any{"q": map[string]any{"type": "string"}}
		async := slices.Contains(set.Async, name)
		if async {
			takes["output_uri"] = map[string]any{"type": "string"}
		}
		d.External = append(d.External, External{Kind: set.External[name], Parallel: set.Parallel, Async: async, Spec: protocol.ToolSpec{Name: name, Parameters: map[string]any{
			"type": "object", "properties": takes, "required": []any{"q"},
		}}})
	}
	for _, name := range protocol.SortedKeys(set.Carried) {
		d.External = append(d.External, External{Skill: set.Carried[name], Spec: protocol.ToolSpec{Name: name, Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "additionalProperties": false,
		}}, CheckOutput: func(output any) error {
			if output.(map[string]any)["r"] == "bad" {
				return errors.New("/r: it is bad")
			}
			return nil
		}})
	}
	for _, r := range set.Knowledge {
		d.Knowledge = append(d.Knowledge, r.Access())
	}
	d.May = func(instance string, right cast.Right) bool {
		return right != cast.Direct && slices.Contains(set.Orders, instance) || slices.Contains(set.Directors, instance)
	}
	if set.Motivation != nil {
		rules, err := set.Motivation.Rules()
		if err != nil {
			s.t.Fatal(err)
		}
		d.Motive, d.Period = rules, time.Duration(set.Period*float64(time.Second))
	}
	d.Memory = memory.RulesOf(&profile.Profile{Memory: set.Memory, Reflection: set.Reflects}, d.Limits.MaxHistory)
	if set.Forbidden != "" {
		d.Check = func(state map[string]any) error {
			if _, has := state[set.Forbidden]; has {
				return fmt.Errorf("field %s is forbidden", set.Forbidden)
			}
			return nil
		}
	}
	switch set.Core {
	case "", "given":
		d.Core = compile(s.t, given())
	case "model":
		d.Core = compile(s.t, thinks(cmp.Or(set.Prompt, "decide")))
	case "models":
		d.Core = compile(s.t, asks(3))
	case "none":
	default:
		if d.Core = d.Workflows[set.Core]; d.Core == nil {
			s.t.Fatalf("core %s: no such workflow", set.Core)
		}
	}
	d.Seal(func(id string) (string, string) { return id, "" })
	for _, entry := range d.tools {
		if entry.run != nil {
			entry.run = s.telling(entry)
		}
	}
}

// telling holds a tool to toldByItsFact: each call that leaves a fact at once is told by it, and a call that is told
// by a fact leaves one, or a request of which a fact comes.
func (s *script) telling(entry *Tool) carryOut {
	run := entry.run
	return func(t *Turn, p tool.Params) (any, error) {
		facts, requests := len(t.out.Facts), len(t.out.Requests)
		out, err := run(t, p)
		left := len(t.out.Facts) > facts
		if err == nil && (left && !entry.inFact || entry.inFact && !left && len(t.out.Requests) == requests) {
			s.t.Errorf("%s: a call leaves a fact at once: %t; toldByItsFact in its entry: %t", entry.Name, left, entry.inFact)
		}
		return out, err
	}
}

func edge(source, from, target, to string) workflow.Edge {
	return workflow.Edge{Source: source, SourceHandle: from, Target: target, TargetHandle: to}
}

// given is a core workflow whose outputs are inputs of the wake.
func given() *workflow.Definition {
	d := &workflow.Definition{
		ID: "given", InterfaceInputs: map[string]workflow.Port{}, InterfaceOutputs: map[string]workflow.Port{},
		Nodes: []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}, {ID: "out", Type: workflow.TypeGroupOutput}},
	}
	for _, name := range []string{OutputResponse, OutputCalls, OutputDecision} {
		d.InterfaceInputs[name], d.InterfaceOutputs[name] = workflow.Port{}, workflow.Port{}
		d.Edges = append(d.Edges, edge("in", name, "out", name))
	}
	return d
}

// thinks is a core workflow that asks a model what to do. The prompt may name all
// that a deliberation perceives.
func thinks(prompt string) *workflow.Definition {
	d := &workflow.Definition{
		ID: "thinks", InterfaceInputs: map[string]workflow.Port{},
		InterfaceOutputs: map[string]workflow.Port{OutputResponse: {DataFlowType: workflow.String}, OutputCalls: {DataFlowType: workflow.Array}},
		Nodes: []workflow.Node{
			{ID: "in", Type: workflow.TypeGroupInput}, {ID: "prompt", Type: "TextTemplate", ConfigValues: map[string]any{"template": prompt}},
			{ID: "think", Type: "LLMCompletion"}, {ID: "out", Type: workflow.TypeGroupOutput},
		},
		Edges: []workflow.Edge{edge("prompt", "text", "think", "prompt"), edge("think", "text", "out", OutputResponse), edge("think", "calls", "out", OutputCalls)},
	}
	for _, name := range CoreInputs() {
		if strings.Contains(prompt, "."+name) {
			d.InterfaceInputs[name] = workflow.Port{}
			d.Edges = append(d.Edges, edge("in", name, "prompt", name))
		}
	}
	return d
}

// play carries the commands out and gives the script with what came of them.
func (s *script) play(text string) string {
	var script strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&script, line)
			continue
		}
		fmt.Fprintln(&script, line)
		if i+1 < len(lines) && lines[i+1] == "----" { // what it came to when the script was written
			for i++; i+1 < len(lines) && lines[i+1] != ""; i++ {
			}
		}
		s.out.Reset()
		s.do(line)
		s.changes()
		s.twins(line)
		fmt.Fprintf(&script, "----\n%s", cmp.Or(s.out.String(), "nothing changed\n"))
		if i+1 == len(lines) || lines[i+1] != "" {
			fmt.Fprintln(&script)
		}
	}
	return strings.TrimRight(script.String(), "\n") + "\n"
}
