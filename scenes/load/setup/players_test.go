package setup_test

import (
	"reflect"
	"testing"

	"tavernsim/engine/panel"
)

// A question has the title of its action and the bindings of its panel, as the scene names it; others may
// have neither.
func TestDescribe(t *testing.T) {
	sc := made(t, `players: {anna: [ada]}
associated_panels: [{panel_id: p, instance_name: main, players: [host], default_bindings: {guide_agent_id: bo}}, {panel_id: p}]
`, "-- panels/p.json --\n{\"id\": \"p\", \"actions\": {\"rate\": {\"title\": \"How was it?\"}}}\n")
	for _, c := range []struct{ q, want panel.Asked }{
		{panel.Asked{Agent: "ada", Panel: "main", Action: "rate"}, panel.Asked{Title: "How was it?", Players: []string{"anna", "host"}, Bindings: map[string]any{"guide_agent_id": "bo"}}},
		{panel.Asked{Agent: "bo", Panel: "p", Action: "rate"}, panel.Asked{Title: "How was it?"}},
		{panel.Asked{Agent: "bo", Panel: "p", Action: "text"}, panel.Asked{}},
		{panel.Asked{Agent: "bo", Action: "rate"}, panel.Asked{}},
	} {
		got := c.q
		sc.Describe(&got)
		c.want.Agent, c.want.Panel, c.want.Action = c.q.Agent, c.q.Panel, c.q.Action
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}
