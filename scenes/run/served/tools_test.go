package served

import (
	"context"
	"reflect"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/permit"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// Promise 1: the tools of the named profile alone, and a call passes the steps of a scene.
func TestProjectTools(t *testing.T) {
	p, err := runner.Load("../../examples/harbour", true)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Mock, Run: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, profile := range []string{"", "harbour_master"} {
		list, err := New(Options{Project: p, Profile: profile, Tools: set}).projectTools()
		if err != nil || len(list) != 1 || list[0].Name != "weather_wind_b844b5" {
			t.Fatalf("profile %q: %+v, %v", profile, list, err)
		}
		if r := list[0].Call(t.Context(), map[string]any{"latitude": int64(52), "longitude": int64(4)}); r.Error != nil {
			t.Error(r.Error)
		}
		if r := list[0].Call(t.Context(), map[string]any{"latitude": int64(520)}); r.Error == nil || r.Error.Kind != "invalid" {
			t.Errorf("a wrong parameter: %+v", r)
		}
	}
	if _, err := New(Options{Project: p, Profile: "nobody", Tools: set}).projectTools(); err == nil {
		t.Error("a profile that does not exist is taken")
	}
	if list, err := New(Options{Project: p}).projectTools(); len(list) > 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

// A client sees the schema as it is written, and the tool gets the default of what a call leaves out, also where it is required.
func TestDefaults(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(`
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: []
simulation: {stop: {ticks: 1}}
-- tools/order.tool.yaml --
id: order
parameters: {properties: {item: {type: string}, count: {type: integer, minimum: 1, default: 1}}, required: [item, count]}
implementation: {type: service, name: order}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	order := tools.Func(func(_ context.Context, c *tools.Call) tools.Result { got = c.Params; return tools.Output("ok") })
	set, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Live, Run: "test", Services: map[string]tools.Executor{"order": order}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	list, err := New(Options{Project: p, Tools: set}).projectTools()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if required := list[0].Parameters.(map[string]any)["required"]; !reflect.DeepEqual(required, []any{"item", "count"}) {
		t.Errorf("required is %v", required)
	}
	if r := list[0].Call(t.Context(), map[string]any{"item": "tea"}); r.Error != nil || !reflect.DeepEqual(got, map[string]any{"item": "tea", "count": int64(1)}) {
		t.Errorf("the tool got %v: %+v", got, r.Error)
	}
	if r := list[0].Call(t.Context(), map[string]any{"item": "tea", "count": int64(0)}); r.Error == nil || r.Error.Kind != protocol.KindInvalid {
		t.Errorf("0 is taken: %+v", r)
	}
}

// Promise 1: the policy of the project judges calls of clients, by the bound parameters.
func TestPolicy(t *testing.T) {
	p, err := runner.Load("../../examples/harbour", true)
	if err != nil {
		t.Fatal(err)
	}
	judge, faults := permit.New(&permit.Policy{Rules: []permit.Rule{
		{ID: "near", Tools: []string{"weather.*"}, Profiles: []string{"harbour_master"}, Do: permit.Allow},
		{ID: "far", Tools: []string{"weather.wind"}, Params: map[string]any{"/latitude": "9?"}, Do: permit.Deny, Reason: "too cold"},
		{ID: "south", Tools: []string{"weather.wind"}, Params: map[string]any{"/latitude": "-*"}, Do: permit.Ask},
	}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, c := range []struct {
		profile string
		params  map[string]any
		want    string
	}{
		{profile: "harbour_master", params: map[string]any{"latitude": int64(52), "longitude": int64(4)}},
		{profile: "harbour_master", params: map[string]any{"Latitude": int64(90), "longitude": int64(4)}, want: "weather.wind: denied by the rule far of tool_policy: too cold"},
		{profile: "harbour_master", params: map[string]any{"latitude": int64(-52), "longitude": int64(4)}, want: "weather.wind: denied by the rule south of tool_policy, which asks for leave; there was no answer"},
		{profile: "", params: map[string]any{"latitude": int64(52), "longitude": int64(4)}, want: "weather.wind: no rule of tool_policy allows this call"},
	} {
		set, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Mock, Run: "test", Policy: judge, Profile: c.profile})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		list, err := New(Options{Project: p, Profile: c.profile, Tools: set}).projectTools()
		if err != nil {
			t.Fatal(err)
		}
		r := list[0].Call(t.Context(), c.params)
		if c.want == "" && r.Error != nil || c.want != "" && (r.Status != tools.Denied || r.Error.Message != c.want) {
			t.Errorf("%v: %+v, %+v; want %q", c.params, r, r.Error, c.want)
		}
	}
}
