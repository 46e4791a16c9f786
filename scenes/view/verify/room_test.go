package verify_test

import (
	"context"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools"
)

const paints = `-- tools/paint.tool.yaml --
id: paint
implementation: {type: service, name: lab}
execution: {mode: async, repeat: free, latency: 300ms, timeout: 1m}
-- agent_profiles/painter.yaml --
id: painter
name: Painter
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
custom_runtime_config: {deliberation_frequency_hz: 1}
tool_ids_inventory: [paint]
-- agent_profiles/faller.yaml --
id: faller
name: Faller
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: fall
tool_ids_inventory: [SayTool]
-- workflows/fall.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: f, type: "test:Falls"}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: f, targetHandle: in}
  - {source: f, sourceHandle: out, target: out, targetHandle: decision}
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: b, profile_id: painter}, {instance_id: a, profile_id: faller}]
tool_budget: {calls: 1000}
simulation: {stop: {ticks: 6}, limits: {restart_backoff: 1h}}
-- models/voices.yaml --
otherwise: {calls: [{tool: paint}]}
`

// A task that found no room in a budget of tools is a difference if nothing can count there that no fact says: the turn that has failed
// is of an agent without tools.
func TestNoRoomBesideAnAgentWithoutTools(t *testing.T) {
	falls := scenestest.Kind(func(any) any { panic("falls") })
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(paints))), workflow.Kinds{"test:Falls": falls})
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	lab := tools.Func(func(context.Context, *tools.Call) tools.Result { return tools.Output("a house") })
	if res := s.Run(t, scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": lab}}); res.Err != nil {
		t.Fatal(res)
	}
	if r := run(t, s, scenestest.Settings{}, 1); r.Difference != nil || r.Taken[verify.TakenFailure] == 0 {
		t.Fatalf("%+v", r)
	}
	codec, opened := machines.NewCodec(), 0
	forged := s.Rewrite(t, func(r *protocol.Record) {
		if r.Kind != tooltask.FactOpened {
			return
		}
		if opened++; opened != 3 {
			return
		}
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			t.Fatal(err)
		}
		x := f.(*tooltask.Opened).Task
		no := &tooltask.Ended{ID: x.ID, Agent: x.Agent, Tool: x.Tool, Status: "error", ErrorKind: protocol.KindLimit, Error: budget.ToolsAreOut, At: x.Opened}
		r.Kind = no.FactKind()
		if r.Data, err = codec.Marshal(no); err != nil {
			t.Fatal(err)
		}
	})
	r := run(t, forged, scenestest.Settings{}, 1)
	if d := r.Difference; d == nil || d.Recorded.Kind != tooltask.FactEnded || d.Decided.Kind != tooltask.FactOpened {
		t.Errorf("it was believed that the task found no room: %+v", d)
	}
	if opened < 3 {
		t.Errorf("%d tasks were opened: nothing is tested", opened)
	}
}
