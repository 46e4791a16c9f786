// Package render shows people the descriptions of a project's tools as models get them.
package render

import (
	"tavernsim/engine/prompt"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/scenes/load/project"
)

// Function is a tool as models with native calls are told of it, under the name that
// endpoints accept.
func Function(t *project.Tool) map[string]any {
	d := t.Definition
	return map[string]any{"type": "function", "function": map[string]any{
		"name": (&toolcall.Names{}).Wire(d.ID), "description": d.Shown(), "parameters": d.Parameters,
	}}
}

// Manual is a tool as models that write calls into their text are told of it.
func Manual(t *project.Tool) string {
	d := t.Definition
	unit := prompt.Tools([]any{map[string]any{"name": d.ID, "description": d.Shown(), "parameters": d.Parameters, "detailed": true}})[0]
	return prompt.TAM + "\n\n" + unit.Text
}
