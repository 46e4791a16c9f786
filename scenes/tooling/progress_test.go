package tooling_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/secrets"
)

const building = minimal + `
-- tools/build.tool.yaml --
id: build
implementation: {type: service, name: build}
execution: {repeat: free}
`

// A call that says ten times a second how far it is is heard once a second, and at its end;
// what goes back, and what is no number, is not heard; secrets are taken out.
func TestProgressOfACall(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(building))), nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: value, Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var set *tooling.Set
		build := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
			for i := range 24 {
				c.Progress(tools.Progress{Done: float64(i), Total: 24, Message: fmt.Sprintf("brick %d\n of %s", i, value)})
				c.Progress(tools.Progress{Done: -1, Message: "back"})
				c.Progress(tools.Progress{Done: math.NaN(), Message: "nowhere"})
				<-time.After(110 * time.Millisecond)
			}
			if list := set.Reports(); len(list) != 1 || list[0].Tool != "build" || list[0].Agent != "cli" || list[0].Progress.String() != "75 % brick 18 of $KARYI{key}" || list[0].At.Sub(list[0].Begun) != 2*time.Second {
				t.Errorf("%+v", list)
			}
			c.Progress(tools.Progress{Done: 24, Total: 24, Message: base64.StdEncoding.EncodeToString([]byte(value))})
			return tools.Output("built")
		})
		set, err = tooling.New(tooling.Options{Project: p, Run: "r", Services: map[string]tools.Executor{"build": build}, Secrets: store})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		tool, _ := p.Tool("build")
		var told []string
		r := set.Try(tools.WithProgress(t.Context(), func(tool string, p tools.Progress) { told = append(told, tool+" "+p.String()) }), tool, nil, 0)
		want := "build 0 % brick 0 of $KARYI{key}|build 37 % brick 9 of $KARYI{key}|build 75 % brick 18 of $KARYI{key}|build 100 % (withheld: it has a secret)"
		if got := strings.Join(told, "|"); r.Status != tools.OK || got != want {
			t.Errorf("%+v %s, want %s", r, got, want)
		}
		if list := set.Reports(); len(list) > 0 {
			t.Errorf("%+v", list)
		}
	})
	var none *tooling.Set
	if len(none.Reports()) > 0 {
		t.Error("reports of no set")
	}
}

// What a call says about how far it is is in no history: the digest is the same without it.
func TestProgressIsNoFact(t *testing.T) {
	files := `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
otherwise: {calls: [{tool: build}]}
-- tools/build.tool.yaml --
id: build
implementation: {type: service, name: build}
execution: {repeat: free}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [build]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {seed: 1, stop: {ticks: 2}}
`
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(files))), nil)
	if err != nil {
		t.Fatal(err)
	}
	digest := ""
	for _, says := range []bool{true, false} {
		s := scenestest.New(t, p, "")
		build := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
			if says {
				c.Progress(tools.Progress{Done: 1, Message: "never to be kept"})
			}
			return tools.Output("built")
		})
		r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"build": build}})
		if r.Err != nil || !r.Final || r.State.Tally.ByTool["build"] != 2 {
			t.Fatal(r.Err, r.State.Tally.ByTool)
		}
		if digest == "" {
			digest = r.Digest()
		}
		if r.Digest() != digest {
			t.Errorf("%s, before %s", r.Digest(), digest)
		}
	}
}
