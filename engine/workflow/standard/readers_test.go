package standard_test

import (
	"fmt"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/standard"
)

// Which tools a node that chooses one offers, by where its tools come from.
func TestChoices(t *testing.T) {
	in := workflow.Node{ID: "in", Type: workflow.TypeGroupInput}
	think := workflow.Node{ID: "think", Type: "LLMCompletion", ConfigValues: map[string]any{"toolChoice": "X"}}
	offered := []any{map[string]any{"name": "X"}, map[string]any{"id": "Y", "name": "Z"}, "odd"}
	literal := think
	literal.InputValues = map[string]any{"tools": offered}
	prompt := func(grammar string) workflow.Node {
		return workflow.Node{ID: "prompt", Type: standard.AssemblePrompt, ConfigValues: map[string]any{"grammar": grammar}}
	}
	all := func(from, to string) workflow.Edge {
		return workflow.Edge{Source: from, SourceHandle: "*", Target: to, TargetHandle: "*"}
	}
	tools := func(from, handle string) workflow.Edge {
		return workflow.Edge{Source: from, SourceHandle: handle, Target: "think", TargetHandle: "tools"}
	}
	for name, c := range map[string]struct {
		nodes []workflow.Node
		edges []workflow.Edge
		want  string
	}{
		"nothing":        {[]workflow.Node{think}, nil, "true [] false"},
		"written":        {[]workflow.Node{literal}, nil, "true [X Y] false"},
		"constant":       {[]workflow.Node{{ID: "c", Type: "Constant", ConfigValues: map[string]any{"value": offered}}, think}, []workflow.Edge{tools("c", "value")}, "true [X Y] false"},
		"the agent's":    {[]workflow.Node{in, think}, []workflow.Edge{tools("in", "tools")}, "false [] true"},
		"all inputs":     {[]workflow.Node{in, think}, []workflow.Edge{all("in", "think")}, "false [] true"},
		"another input":  {[]workflow.Node{in, think}, []workflow.Edge{tools("in", "other")}, "true [] false"},
		"by the prompt":  {[]workflow.Node{in, prompt(""), think}, []workflow.Edge{all("in", "prompt"), all("prompt", "think")}, "false [] true"},
		"in the text":    {[]workflow.Node{in, prompt("tam"), think}, []workflow.Edge{all("in", "prompt"), all("prompt", "think")}, "true [] false"},
		"of its own":     {[]workflow.Node{in, {ID: "x", Type: "Expression"}, think}, []workflow.Edge{tools("x", "value")}, "false [] false"},
		"all of another": {[]workflow.Node{{ID: "x", Type: "Get"}, think}, []workflow.Edge{all("x", "think")}, "false [] false"},
		"in a circle":    {[]workflow.Node{prompt(""), think}, []workflow.Edge{all("prompt", "think"), all("prompt", "prompt")}, "false [] false"},
	} {
		d := &workflow.Definition{Nodes: c.nodes, Edges: c.edges, InterfaceInputs: map[string]workflow.Port{"tools": {}}}
		list := standard.Choices(d)
		if len(list) != 1 || list[0].Tool != "X" {
			t.Errorf("%s: %+v", name, list)
			continue
		}
		if got := fmt.Sprint(list[0].Known, list[0].Names, list[0].Agents); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A prompt's context is held to that of the model that reads it.
func TestTooLong(t *testing.T) {
	prompt := workflow.Node{ID: "prompt", Type: standard.AssemblePrompt, ConfigValues: map[string]any{"context": 5000}}
	for name, c := range map[string]struct {
		think workflow.Node
		want  string
	}{
		"named":   {workflow.Node{ID: "think", Type: "LLMCompletion", ConfigValues: map[string]any{"model": "small"}}, "[{0 5000 4000 small}]"},
		"default": {workflow.Node{ID: "think", Type: "LLMCompletion"}, "[{0 5000 4500 }]"},
		"fits":    {workflow.Node{ID: "think", Type: "LLMCompletion", ConfigValues: map[string]any{"model": "big"}}, "[]"},
	} {
		d := &workflow.Definition{Nodes: []workflow.Node{prompt, c.think}, Edges: []workflow.Edge{{Source: "prompt", SourceHandle: "messages", Target: "think", TargetHandle: "messages"}}}
		if got := fmt.Sprint(standard.TooLong(d, map[string]workflow.Room{"": {Context: 4500}, "small": {Context: 4000}, "big": {Context: 9000}})); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if prompt.ConfigValues["model"] != nil {
			t.Fatal("the definition was changed")
		}
	}
}
