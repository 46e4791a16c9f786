package answer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/effect"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/answer"
	"tavernsim/scenes/scenestest"
	"tavernsim/tools"
)

const bells = `
-- project.json --
{"id": "bells"}
-- tools/ring.tool.yaml --
id: bell.ring
parameters: {properties: {name: {type: string}}, required: [name]}
implementation: {type: service, name: ring}
-- tools/cast.tool.yaml --
id: bell.cast
parameters: {properties: {name: {type: string}}}
implementation: {type: service, name: cast}
execution: {mode: async}
-- tools/muse.tool.yaml --
id: muse
implementation: {type: workflow, id: muse}
-- workflows/muse.yaml --
interfaceOutputs: {said: {dataFlowType: STRING}}
nodes:
  - {id: v, type: Expression, configValues: {type: STRING, expression: "'hm'"}}
  - {id: x, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: v, sourceHandle: value, target: x, targetHandle: prompt}
  - {source: x, sourceHandle: text, target: out, targetHandle: said}
-- agent_profiles/p.yaml --
id: p
name: P
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [bell.ring, bell.cast, muse]
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: []
`

func load(t *testing.T) *project.Project {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(bells))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// block is a TAM block of steps: fields separated by ";".
func block(steps ...string) string {
	var b strings.Builder
	b.WriteString("<|[REQUEST_TOOL]|>\n")
	for i, s := range steps {
		for f := range strings.SplitSeq(s, ";") {
			name, value, _ := strings.Cut(f, "=")
			fmt.Fprintf(&b, "%s_%d:»»»%s«««\n", name, i+1, value)
		}
	}
	return b.String() + "<|[END_TOOL]|>\n"
}

// ring answers a call; the name "broken" fails, and "long" takes two hours.
func ring(_ context.Context, q *effect.Ask) tools.Result {
	r := tools.Output(map[string]any{"rang": q.Call.Params["name"]})
	if q.Call.Params["name"] == "broken" {
		r = tools.Fail(protocol.KindTransient, "no clapper")
	}
	r.Meta = tools.Meta{Tool: q.Call.Tool, Attempts: 1}
	if q.Call.Params["name"] == "long" {
		r.Meta.Latency = protocol.Duration(2 * time.Hour)
	}
	return r
}

// Promises 1 to 3.
func TestRun(t *testing.T) {
	p := load(t)
	for name, c := range map[string]struct {
		text, only, want string
		problems         int
	}{
		"references":       {block("command=Bell_Ring;name=a", "command=bell.ring;name=@{step_1.output.rang}b"), "", "1.1 bell.ring ok a, 1.2 bell.ring ok ab", 0},
		"stop":             {block("command=bell.ring;name=broken", "command=bell.ring;name=b") + block("command=bell.ring;name=c"), "", "1.1 bell.ring error transient, 1.2 bell.ring not_run, 2.1 bell.ring ok c", 0},
		"continue":         {block("command=bell.ring;name=broken;on_error=continue", "command=bell.ring;name=b"), "", "1.1 bell.ring error transient, 1.2 bell.ring ok b", 0},
		"asynchronous":     {block("command=bell.cast;name=a"), "", "1.1 bell.cast ok a", 0},
		"only one":         {block("command=bell.ring;name=a", "command=bell.cast;name=b"), "BELL_RING", "1.1 bell.ring ok a, 1.2 bell.cast denied denied", 0},
		"no parameter":     {block("command=bell.ring"), "", "1.1 bell.ring error invalid", 0},
		"unknown":          {block("command=gong.ring"), "", "1.1 gong.ring error not_found", 0},
		"of agents":        {block("command=SleepTool"), "", "1.1 SleepTool error not_found", 0},
		"a model":          {block("command=muse"), "", "1.1 muse error unavailable", 0},
		"not understood":   {block("command=bell.ring;name=a") + block("name=a"), "", "1.1 bell.ring ok a", 1},
		"unknown referred": {block("command=bell.ring;name=@{step_7.output}"), "", "1.1 bell.ring ok @{step_7.output}", 1},
		"long calls":       {block("command=bell.ring;name=long", "command=bell.ring;name=long", "command=bell.ring;name=a"), "", "1.1 bell.ring ok long, 1.2 bell.ring ok long, 1.3 bell.ring ok a", 0}, // nobody can set the budget of a deliberation
		"both grammars":    {block("command=bell.ring;name=a") + "<tools><read><file src=\"a\"/></read></tools>", "", "1.1 bell.ring ok a, 2.1 read error not_found", 0},
	} {
		a, err := answer.Run(t.Context(), answer.Options{Project: p, Only: c.only, Call: ring}, c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, s := range a.Steps {
			line := fmt.Sprintf("%d.%d %s %s", s.Block, max(s.Index, 1), s.Tool, s.Status)
			if s.Error != nil {
				line += " " + string(s.Error.Kind)
			}
			if out, ok := s.Output.(map[string]any); ok {
				line += fmt.Sprint(" ", out["rang"])
			}
			got = append(got, line)
		}
		if all := strings.Join(got, ", "); all != c.want || len(a.Problems) != c.problems {
			t.Errorf("%s: %s, problems %q\nwant %s", name, all, a.Problems, c.want)
		}
	}
	if a, err := answer.Run(t.Context(), answer.Options{Project: p, Call: ring}, "Nothing to do."); protocol.KindOf(err) != protocol.KindInvalid || len(a.Steps) > 0 {
		t.Errorf("a text without calls: %+v, %v", a, err)
	}
}

// Steps that say so run beside each other, and a cancelled text ends.
func TestRunBeside(t *testing.T) {
	p := load(t)
	began := make(chan bool)
	a, err := answer.Run(t.Context(), answer.Options{Project: p, Call: func(ctx context.Context, q *effect.Ask) tools.Result {
		if q.Call.Params["name"] == "a" {
			<-began // it ends only if the other one runs beside it
		} else {
			close(began)
		}
		return ring(ctx, q)
	}}, block("command=bell.ring;name=a", "command=bell.ring;name=b;x_after=none"))
	if err != nil || len(a.Steps) != 2 || a.Steps[0].Status != tools.OK || a.Steps[1].Status != tools.OK {
		t.Errorf("%+v, %v", a, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	a, err = answer.Run(ctx, answer.Options{Project: p, Call: func(ctx context.Context, _ *effect.Ask) tools.Result {
		<-ctx.Done()
		return tools.Fail(protocol.KindCancelled, "left")
	}}, block("command=bell.ring;name=a", "command=bell.ring;name=b"))
	if err != nil || a.Steps[0].Status != tools.Cancelled || a.Steps[1].Status != answer.NotRun {
		t.Errorf("%+v, %v", a, err)
	}
}
