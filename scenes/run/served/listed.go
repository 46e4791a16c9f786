package served

import (
	"slices"
	"strings"

	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/mcp/serve"
)

// Shown is a tool of a project as clients are told of it, a value for JSON.
func Shown(p *project.Project, t *project.Tool) any {
	x := toolOf(namesOf(p), t)
	return x.Listed()
}

// toolOf is a tool of a project without what carries out its calls.
func toolOf(names *toolcall.Names, t *project.Tool) serve.Tool {
	d := t.Definition
	x := serve.Tool{Name: names.Wire(d.ID), Description: d.Shown(), Parameters: d.Parameters}
	if promises(d.OutputSchema) {
		x.Output, x.Check = d.OutputSchema, t.CheckOutput
	}
	return x
}

// namesOf are the names of the tools of a project, whichever of them are offered. None is that
// of a command.
func namesOf(p *project.Project) *toolcall.Names {
	q := &protocol.ModelRequest{}
	for _, c := range New(Options{}).commands() {
		q.Tools = append(q.Tools, protocol.ToolSpec{Name: c.Name})
	}
	for _, id := range p.ToolIDs() {
		q.Tools = append(q.Tools, protocol.ToolSpec{Name: id})
	}
	names := toolcall.Of(q)
	return &names
}

// promises reports whether a schema of outputs can be told to clients: they take structured
// content only if it is an object, and read no files of the project.
func promises(schema map[string]any) bool { return schema["type"] == "object" && complete(schema) }

// complete reports whether a schema refers to nothing outside of it.
func complete(v any) bool {
	switch x := v.(type) {
	case []any:
		return !slices.ContainsFunc(x, func(e any) bool { return !complete(e) })
	case map[string]any:
		for name, e := range x {
			ref, isText := e.(string)
			if isText && (name == "$ref" || name == "$dynamicRef") && !strings.HasPrefix(ref, "#") || !complete(e) {
				return false
			}
		}
	}
	return true
}

// validated is the schema of what simd_validate answers.
func validated() map[string]any {
	faults := map[string]any{"type": "array", "items": map[string]any{"type": "object"}}
	return promise(map[string]any{
		"project": of("string"), "sound": of("boolean"), "faults": faults, "total": of("integer"), "warnings": faults,
	}, "project", "sound", "faults", "total", "warnings")
}

// statusSchema is that of what simd_run_status and simd_run_stop answer.
func statusSchema() map[string]any {
	return promise(map[string]any{
		"run": of("string"), "state": of("string"), "summary": of("object"), "problem": of("string"), "exit_code": of("integer"), "said": of("string"),
	}, "run", "state")
}

// promise is the schema of an answer that has some fields always.
func promise(fields map[string]any, always ...string) map[string]any {
	return map[string]any{"type": "object", "properties": fields, "required": always}
}

func of(kind string) map[string]any { return map[string]any{"type": kind} }
