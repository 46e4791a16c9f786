package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// oracle answers questions of agents. It implements outside.Executor.
type oracle struct{}

// Name is its name in metrics.
func (oracle) Name() string { return "delphi" }

// MayRepeat says whether a question may be asked again after a kill.
func (oracle) MayRepeat(*effect.Ask) bool { return true }

// Do carries out a call.
func (oracle) Do(_ context.Context, q *effect.Ask) effect.Answered {
	return effect.Answered{Output: fmt.Sprintf("%v? Ask again.", q.Call.Params["q"])}
}

// seeker is an agent that asks the oracle in each of its turns.
var seeker = fstest.MapFS{
	"project.json":       {Data: []byte(`{"id": "temple", "model": "models/script.yaml"}`)},
	"scenes/day.yaml":    {Data: []byte("{id: day, name: Day, schema_version: '1.0', agent_instances: [{instance_id: ion, profile_id: seeker}], simulation: {stop: {ticks: 2}}}")},
	"models/script.yaml": {Data: []byte("otherwise: {calls: [{tool: AskOracleTool, params: {q: why}}]}")},
	"agent_profiles/seeker.yaml": {Data: []byte(`
id: seeker
name: Seeker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
prompt: {persona: You ask., context: 4096}
tool_ids_inventory: [AskOracleTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
`)},
}

// A Go program brings a tool of its own and what carries it out. Its answers are facts,
// so the run is decided again without the executor, but with the tool.
func ExampleOptions_executors() {
	dir, err := os.MkdirTemp("", "host-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	tools := []agent.External{{Kind: "oracle", Spec: protocol.ToolSpec{
		Name: "AskOracleTool", Description: "Asks the oracle.",
		Parameters: map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []any{"q"}},
	}}}
	p, err := runner.LoadFS(seeker, "temple", false, "AskOracleTool") // the loader knows the id from here
	if err != nil {
		panic(err)
	}
	run, err := runner.Start(p, runner.Options{
		Dir: filepath.Join(dir, "run"), Durability: persistence.Process,
		External: tools, Executors: []outside.Entry{{Kind: "oracle", Executor: oracle{}, AtOnce: 2}},
	})
	if err != nil {
		panic(err)
	}
	sum, err := run.Wait()
	if err != nil {
		panic(err)
	}
	again, err := rundir.Replay(context.Background(), filepath.Join(dir, "run"), rundir.ReplayOptions{Verify: true, External: tools})
	if err != nil {
		panic(err)
	}
	_, err = rundir.Replay(context.Background(), filepath.Join(dir, "run"), rundir.ReplayOptions{Verify: true})
	fmt.Println(sum.StoppedBy, sum.Tools.Calls, again.Scenes[0].Differs(), protocol.KindOf(err))
	// Output:
	// ticks 2 false conflict
}
