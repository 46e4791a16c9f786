package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// moment is a scene time so many seconds after some beginning.
func moment(seconds float64) protocol.Time {
	return protocol.Time((1000 + seconds) * float64(time.Second))
}

// echo is a core workflow that does what stands in the private state: decision
// and response are taken from there.
func echo() *workflow.Definition {
	get := func(id, typ string) workflow.Node {
		return workflow.Node{ID: id, Type: "Get", ConfigValues: map[string]any{"path": id, "type": typ, "onMissing": "skip"}}
	}
	edge := func(source, from, target, to string) workflow.Edge {
		return workflow.Edge{Source: source, SourceHandle: from, Target: target, TargetHandle: to}
	}
	return &workflow.Definition{
		ID:               "echo",
		InterfaceInputs:  map[string]workflow.Port{"private_state": {DataFlowType: workflow.Object}},
		InterfaceOutputs: map[string]workflow.Port{"decision": {DataFlowType: workflow.Object}, "response": {DataFlowType: workflow.String}},
		Nodes:            []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}, get("decision", "OBJECT"), get("response", "STRING"), {ID: "out", Type: workflow.TypeGroupOutput}},
		Edges: []workflow.Edge{
			edge("in", "private_state", "decision", "from"), edge("in", "private_state", "response", "from"),
			edge("decision", "value", "out", "decision"), edge("response", "value", "out", "response"),
		},
	}
}

func compile(t testing.TB, d *workflow.Definition) *workflow.Plan {
	t.Helper()
	plan, faults := workflow.Compile(d, workflow.Options{Kinds: nodes.Standard(nodes.Options{})})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return plan
}

// asks is a core workflow that asks a model n times at once and says what it
// answers.
func asks(n int) *workflow.Definition {
	d := &workflow.Definition{
		ID: "asks", InterfaceOutputs: map[string]workflow.Port{"response": {DataFlowType: workflow.String}},
		Nodes: []workflow.Node{{ID: "merge", Type: "TextMerge", ConfigValues: map[string]any{"separator": ","}}, {ID: "out", Type: workflow.TypeGroupOutput}},
		Edges: []workflow.Edge{{Source: "merge", SourceHandle: "text", Target: "out", TargetHandle: "response"}},
	}
	for i := range n {
		id := fmt.Sprint("m", i)
		d.Nodes = append(d.Nodes, workflow.Node{ID: id, Type: "LLMCompletion", InputValues: map[string]any{"prompt": id}})
		d.Edges = append(d.Edges, workflow.Edge{Source: id, SourceHandle: "text", Target: "merge", TargetHandle: "texts"})
	}
	return d
}

// machine makes an agent with every tool.
func machine(t testing.TB, core *workflow.Definition, change ...func(*Definition)) *Machine {
	t.Helper()
	d := &Definition{
		Profile: "p", Name: "P", Limits: (*profile.RuntimeConfig)(nil).Limits(), Core: compile(t, core), Tools: ProfileTools(),
	}
	for _, f := range change {
		f(d)
	}
	d.Seal(func(id string) (string, string) { return id, "" })
	return &Machine{Def: d, ID: Identity{Instance: "ada", Ordinal: 4}, State: State{own: own{Private: map[string]any{}}}}
}

// published is what services show.
type published map[string]any

func (s published) Shown(service string) any { return s[service] }

func wake(t testing.TB, n uint64) *Wake {
	t.Helper()
	doc, err := world.FromValue(map[string]any{"n": int64(7)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &Wake{Now: moment(float64(n)), Wave: n, View: published{worldstate.Service: worldstate.NewState(doc)}, Draw: protocol.NewDraw(1, n)}
}

// decide wakes the agent and applies what it decided; it must not wait.
func decide(t testing.TB, m *Machine, n uint64) protocol.Decision {
	t.Helper()
	d, err := m.Decide(wake(t, n))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Facts) == 0 {
		t.Fatalf("it waits for %v", d.Effects)
	}
	apply(t, m, d, n)
	return d
}

func apply(t testing.TB, m *Machine, d protocol.Decision, n uint64) {
	t.Helper()
	for _, f := range d.Facts {
		if err := m.Apply(f, moment(float64(n))); err != nil {
			t.Fatal(err)
		}
	}
}

// bytesOf is the state as it is stored.
func bytesOf(t testing.TB, m *Machine) []byte {
	t.Helper()
	raw, err := Snapshot(protocol.NewCodec(), &m.State)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// event is one that the agent hears.
func event(id string, p protocol.Priority) *protocol.Envelope {
	return &protocol.Envelope{
		EventHeader: protocol.EventHeader{ID: id, Type: "talk.x", Source: "bo", Priority: p, Time: moment(0)}, Kind: protocol.KindEvent, Body: protocol.NewBody(protocol.Encode(map[string]any{"text": id})),
	}
}

// ids lists what an agent would perceive.
func ids(m *Machine, now protocol.Time) string {
	events := m.State.perceive(now, m.State.heard, &m.Def.Limits)
	var out []string
	for _, e := range events {
		out = append(out, e.ID)
	}
	return strings.Join(out, " ")
}

// seen lists what the agent keeps for its next turns.
func seen(m *Machine) string { return names(m.State.observations) }

// names lists observations as kind or tool.
func names(list []Observation) string {
	var out []string
	for _, o := range list {
		name := o.Kind
		if v, ok := o.Value.(map[string]any); ok {
			if tool, ok := v["tool"].(string); ok {
				name = tool
			}
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// calls lists the calls of a decision: tool, status, error.
func calls(d protocol.Decision) []string {
	var out []string
	for _, f := range d.Facts {
		if c, ok := f.(*agentfact.CallMade); ok {
			out = append(out, strings.TrimSpace(c.Tool+" "+string(c.Status)+" "+c.Error))
		}
	}
	return out
}

func same(t testing.TB, got, want []byte, what string) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%q\n%q", what, got, want)
	}
}
