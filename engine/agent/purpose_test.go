package agent

import (
	"slices"
	"testing"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// A request says for what it is: the core workflow deliberates, a skill and the
// reflection ask for themselves, and a node that names its purpose for that.
func TestPurpose(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Definition)
		want   []protocol.Purpose
	}{
		"core workflow": {func(*Definition) {}, []protocol.Purpose{protocol.PurposeDeliberate}},
		"skill":         {func(d *Definition) { d.Skills = []string{"hum"} }, []protocol.Purpose{protocol.PurposeDeliberate, protocol.PurposeSkill}},
		"reflection":    {func(d *Definition) { d.Reflection = "hum" }, []protocol.Purpose{protocol.PurposeDeliberate, protocol.PurposeReflect}},
		"a node that judges": {func(d *Definition) {
			d.Skills = []string{"hum"}
			judge := asks(1)
			judge.Nodes[2].ConfigValues = map[string]any{"purpose": "judge"}
			d.Workflows["hum"] = compile(t, judge)
		}, []protocol.Purpose{protocol.PurposeDeliberate, protocol.PurposeJudge}},
	} {
		m := machine(t, thinks("go"), func(d *Definition) {
			d.Workflows = map[string]*workflow.Plan{"hum": compile(t, asks(1))}
			c.change(d)
		})
		d, err := m.Decide(wake(t, 1))
		var got []protocol.Purpose
		for len(d.Effects) > 0 {
			q := d.Effects[0].(*effect.Ask)
			got = append(got, q.Model.Purpose)
			x := &effect.Answered{Kind: effect.KindModel, Number: q.Number, Model: protocol.ModelAnswer{Text: "so", Finish: protocol.FinishStop}}
			if len(got) == 1 {
				x.Model.Calls = []protocol.Call{{Tool: "workflow:hum"}, {Tool: toolReflect}}
			}
			d, err = m.Decide(x)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v; %v", name, got, c.want, err)
		}
	}
}
