package workflow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Promises 2 and 6. FuzzCompile: whatever decodes compiles or has faults with a place, and what
// compiles runs to an end. Nothing panics, twice gives the same.
func FuzzCompile(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range txtar.Parse(data).Files {
			if strings.HasPrefix(part.Name, "workflow") {
				f.Add(part.Data)
			}
		}
	}
	kinds := testKinds()
	nested := decode(f, []byte(`{"id": "inner", "interfaceInputs": {"item": {}, "accumulator": {"default": 0}}, "interfaceOutputs": {"r": {}, "accumulator": {}},
		"nodes": [{"id": "in", "type": "GroupInput"}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "in", "sourceHandle": "*", "target": "out", "targetHandle": "*"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		def := &workflow.Definition{}
		if len(data) > 1<<16 || json.Unmarshal(data, def) != nil {
			return
		}
		opts := workflow.Options{Kinds: kinds, MaxSteps: 500, Lookup: func(id string) (*workflow.Definition, bool) {
			if id == def.ID {
				return def, true
			}
			return nested, true
		}}
		plan, faults := workflow.Compile(def, opts)
		if (plan == nil) != (len(faults) > 0) {
			t.Fatalf("plan %v and %d faults", plan != nil, len(faults))
		}
		for _, fault := range faults {
			if fault.Message == "" {
				t.Fatalf("a fault without a message: %+v", fault)
			}
		}
		if plan != nil {
			runFuzzed(t, plan)
		}
	})
}

func runFuzzed(t *testing.T, plan *workflow.Plan) {
	args := make([]any, len(plan.Inputs()))
	for i := range args {
		args[i] = []any{nil, int64(3), "text", map[string]any{"a": int64(1)}, []any{int64(1), "b"}}[i%5]
	}
	play := func() string {
		var run workflow.Run
		if err := run.Start(plan, args, workflow.Env{Trace: true, Draw: protocol.NewDraw(1)}); err != nil {
			return err.Error()
		}
		if !run.Advance(instant{}) {
			t.Fatal("everything was answered and the run is not done")
		}
		return report(&run, nil)
	}
	if a, b := play(), play(); a != b {
		t.Fatalf("twice, and not the same:\n%s\n%s", a, b)
	}
}
