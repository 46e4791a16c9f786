// Package menu describes the tools and skills of an agent to models.
package menu

import (
	"cmp"
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Menu lists what an agent may call: tools, then skills.
type Menu struct{ entries []entry }

type entry struct {
	id, name, description string // name of skills
	parameters            any    // JSON Schema
	detailed              bool   // texts show the schemas of its parameters, not only their names
	skill                 bool
	whole                 map[string]any // as it was added
}

func (m *Menu) add(e entry) {
	e.whole = e.listed()
	m.entries = append(m.entries, e)
}

// AddTool adds a tool. Texts show the parameters of a detailed one with their schemas.
func (m *Menu) AddTool(s *protocol.ToolSpec, detailed bool) {
	m.add(entry{id: s.Name, description: s.Description, parameters: s.Parameters, detailed: detailed})
}

// AddSkill adds a skill. Inputs of the workflow that the engine gives are none of its
// parameters.
func (m *Menu) AddSkill(id, name, description string, plan *workflow.Plan, given []string) {
	m.add(entry{id: tool.SkillPrefix + id, name: name, description: description, parameters: Parameters(inputsOf(plan, given)), skill: true})
}

// List describes each as a value that is shared and read-only: {name, description, parameters}, with
// detailed: true where that holds.
func (m *Menu) List() (list []any) {
	for i := range m.entries {
		list = append(list, m.entries[i].listed())
	}
	return list
}

// Whole is what List would have if Fit had cut nothing, by name.
func (m *Menu) Whole() map[string]any {
	whole := make(map[string]any, len(m.entries))
	for i := range m.entries {
		whole[m.entries[i].id] = m.entries[i].whole
	}
	return whole
}

func (e *entry) listed() map[string]any {
	v := map[string]any{"name": e.id, "description": cmp.Or(e.description, e.name), "parameters": e.parameters}
	if e.detailed {
		v["detailed"] = true
	}
	return v
}

// Capabilities is the same by kind: {tools, skills}.
func (m *Menu) Capabilities() map[string]any {
	tools, skills := []any{}, []any{} // never null
	for i := range m.entries {
		e := &m.entries[i]
		if v := map[string]any{"id": e.id, "description": e.description, "parameters": e.parameters}; !e.skill {
			tools = append(tools, v)
		} else {
			v["name"], skills = e.name, append(skills, v)
		}
	}
	return map[string]any{"tools": tools, "skills": skills}
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

// Parameters is the JSON Schema of inputs.
func Parameters(inputs map[string]workflow.Port) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, name := range protocol.SortedKeys(inputs) {
		in := inputs[name]
		property := map[string]any{}
		if names := typeNames(in.DataFlowType); names != nil {
			property["type"] = names[0]
		}
		if in.DisplayName != "" {
			property["title"] = in.DisplayName
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
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// ParametersWith is [Parameters] with the types of the elements of lists.
func ParametersWith(inputs map[string]workflow.Port, elements map[string]workflow.Type) map[string]any {
	schema := Parameters(inputs)
	properties, _ := schema["properties"].(map[string]any)
	for name, t := range elements {
		if names := typeNames(t); names != nil {
			properties[name].(map[string]any)["items"] = map[string]any{"type": names[0]} //nolint:forcetypeassert // made above
		}
	}
	return schema
}

// inputsOf are the inputs of a plan without those that are given.
func inputsOf(plan *workflow.Plan, given []string) map[string]workflow.Port {
	inputs := map[string]workflow.Port{}
	if plan != nil {
		for i, name := range plan.Inputs() {
			if !slices.Contains(given, name) {
				inputs[name] = plan.InputPort(i)
			}
		}
	}
	return inputs
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
