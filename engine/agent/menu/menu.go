// Package menu describes to models what an agent may call: its tools and its skills.
package menu

import (
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Menu lists what an agent may call, as values that are shared and read-only.
type Menu struct {
	List []any // {name, description, parameters} of tools, then skills

	tools, skills []any
}

// AddTool adds a tool.
func (m *Menu) AddTool(s *protocol.ToolSpec) {
	m.tools = append(m.tools, map[string]any{"id": s.Name, "description": s.Description, "parameters": s.Parameters})
	m.List = append(m.List, map[string]any{"name": s.Name, "description": s.Description, "parameters": s.Parameters})
}

// AddSkill adds a skill. Inputs of the workflow that the engine gives are none of its
// parameters.
func (m *Menu) AddSkill(id, name, description string, plan *workflow.Plan, given []string) {
	parameters := Parameters(plan, given)
	m.skills = append(m.skills, map[string]any{"id": tool.SkillPrefix + id, "name": name, "description": description, "parameters": parameters})
	if description == "" {
		description = name
	}
	m.List = append(m.List, map[string]any{"name": tool.SkillPrefix + id, "description": description, "parameters": parameters})
}

// Capabilities is the same by kind: {tools, skills}.
func (m *Menu) Capabilities() map[string]any {
	list := func(l []any) []any { return append([]any{}, l...) } // never null
	return map[string]any{"tools": list(m.tools), "skills": list(m.skills)}
}

// Schema is the schema to which the parameters of a call of a skill are bound: all
// inputs of the workflow.
func Schema(plan *workflow.Plan) *bind.Schema {
	var list []bind.Property
	if plan != nil {
		for i, name := range plan.Inputs() {
			list = append(list, bind.Property{Name: name, Type: bind.Type{Names: typeNames(plan.InputPort(i).DataFlowType)}})
		}
	}
	s := bind.NewSchema(list)
	return &s
}

// Parameters is the JSON Schema of a skill's inputs without those that are given.
func Parameters(plan *workflow.Plan, given []string) map[string]any {
	properties, required := map[string]any{}, []any{}
	if plan != nil {
		for i, name := range plan.Inputs() {
			if slices.Contains(given, name) {
				continue
			}
			in := plan.InputPort(i)
			property := map[string]any{}
			if names := typeNames(in.DataFlowType); names != nil {
				property["type"] = names[0]
			}
			if in.Description != "" {
				property["description"] = in.Description
			}
			if in.Default != nil {
				property["default"] = in.Default
			} else if in.Required {
				required = append(required, name)
			}
			properties[name] = property
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func typeNames(t workflow.Type) []string {
	switch t {
	case workflow.String, workflow.Binary:
		return []string{"string"}
	case workflow.Integer:
		return []string{"integer"}
	case workflow.Float:
		return []string{"number"}
	case workflow.Boolean:
		return []string{"boolean"}
	case workflow.Array:
		return []string{"array"}
	case workflow.Object:
		return []string{"object"}
	}
	return nil // it takes anything
}
