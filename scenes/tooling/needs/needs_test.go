package needs_test

import (
	"maps"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/internal/metrics"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
)

const three = `
-- project.json --
{"id": "test", "plugins": [{"name": "free"}, {"name": "asks"}, {"name": "bad"}]}
-- plugins/free/plugin.yaml --
{name: free, version: 1.0.0}
-- plugins/asks/plugin.yaml --
{name: asks, version: 1.0.0, configOptions: [{key: extensions.asks.token, type: string, secret: true}]}
-- plugins/bad/plugin.yaml --
{name: bad, version: one}
-- plugins/off/plugin.yaml --
{name: off, version: 1.0.0}
-- scenes/s.yaml --
{id: s, name: S, agent_instances: []}
`

func TestStates(t *testing.T) {
	files, err := txtar.FS(txtar.Parse([]byte(three)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(files, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		all.Give(&a)
	}
	for name, c := range map[string]struct {
		store *grants.Store
		live  bool
		want  map[string]int
	}{
		"granted":     {all, true, map[string]int{metrics.PluginOn: 2, metrics.PluginBroken: 1}},
		"not granted": {&grants.Store{}, true, map[string]int{metrics.PluginOn: 1, metrics.PluginDenied: 1, metrics.PluginBroken: 1}},
		"mocks":       {&grants.Store{}, false, map[string]int{metrics.PluginOn: 2, metrics.PluginBroken: 1}},
	} {
		if got := needs.States(p, needs.Place{}, c.store, c.live); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if list := needs.Changes(map[string][]string{"a": {"x"}, "b": {"y"}}, map[string][]string{"a": {"x"}, "c": {"z", "w"}}); len(list) != 2 || list[0] != "b had y and has nothing" || list[1] != "c had nothing and has z, w" {
		t.Errorf("%q", list)
	}
}
