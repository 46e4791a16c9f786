package inspect

import (
	"slices"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
)

// What charges a budget and answers nothing is no answer of a model of a deliberation, and is shown all the same.
func TestCutRequestsAreNoAnswers(t *testing.T) {
	var turn turnFacts
	for _, cut := range []bool{true, false} {
		f := &agentfact.ModelAnswered{Request: 1, Error: "away", Origin: &effect.Origin{Endpoint: "far", Budget: &protocol.ModelBudget{Cut: cut, Lost: 100}}}
		turn.take(protocol.Record{Kind: f.FactKind()}, f)
	}
	if len(turn.models) != 1 || turn.models[0].Cut() || len(turn.other) != 1 {
		t.Errorf("%d answers, %+v", len(turn.models), turn.other)
	}
}

// Files of models whose questions are equal have one hash. The view names the file that was asked: that of the choice, of the
// request, of the run or of the scene.
func TestTheAskedModelOfSeveral(t *testing.T) {
	served := protocol.Encode(map[string]any{"model": "b", "by": llm.ByLLM})
	for _, c := range []struct {
		request, run, scene string
		served              protocol.Raw
		endpoints           map[string]string
		want                string
		or                  []string
	}{
		{request: "a", want: "a"},
		{request: "b", want: "b"},
		{request: "route", served: served, want: "b"},
		{run: "b", scene: "models/a.yaml", want: "b"},
		{scene: "models/b.yaml", want: "b"},
		{request: "a", endpoints: map[string]string{"c": "far"}, want: "c"},
		{request: "a", endpoints: map[string]string{"a": "near", "b": "far"}, want: "b"}, // a budget moved the request
		{request: "a", endpoints: map[string]string{"a": "near", "b": "near"}, want: "a"},
		{request: "d", want: "a", or: []string{"b", "c"}},
		{request: "a", endpoints: map[string]string{}, want: ""},
	} {
		if c.endpoints == nil {
			c.endpoints = map[string]string{"a": "far", "b": "far", "c": "far"}
		}
		s := &Scene{run: &Run{Opened: &rundir.Opened{Manifest: &rundir.Manifest{Model: c.run}}}, def: &project.Scene{Definition: &agenda.Scene{}}}
		s.def.Definition.Simulation.Model = c.scene
		s.Askers = func(_ *protocol.ModelRequest, hash string) (map[string]string, error) {
			if hash != "same" {
				t.Error(hash)
			}
			return c.endpoints, nil
		}
		d := &Deliberation{Models: make([]Asked, 1)}
		turn := &turnFacts{models: []*agentfact.ModelAnswered{{Request: 1, Origin: &effect.Origin{Endpoint: "far", Question: "same", Served: c.served}}}}
		s.answered(d, turn, &effect.Ask{Number: 1, Model: protocol.ModelRequest{Model: c.request}})
		if got := d.Models[0].Question; got.Model != c.want || !slices.Equal(got.Or, c.or) {
			t.Errorf("%+v: %q or %q", c, got.Model, got.Or)
		}
	}
}
