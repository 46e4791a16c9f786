package project

import (
	"maps"
	"slices"

	"tavernsim/engine/workflow"
)

// promptKind is the node kind whose settings a profile may replace.
const promptKind = "AssemblePrompt"

// linkPrompt compiles the profile's workflows with its own settings of the prompt.
func (l *loader) linkPrompt(p *Profile) {
	d := p.Definition
	if d.Prompt == nil {
		return
	}
	settings := d.Prompt.Settings()
	core, ok := l.project.workflows.find(d.CoreDeliberationWorkflowID)
	if !ok {
		return // reported
	}
	if p.Core = l.prompted(p, core, settings); p.Core == nil {
		return
	}
	delete(settings, "state")
	delete(settings, "instruction")
	if w, ok := l.project.workflows.find(d.ReflectionWorkflowID); ok && d.ReflectionWorkflowID != "" && slices.ContainsFunc(w.Definition.Nodes, assembles) {
		p.Reflection = l.prompted(p, w, settings)
	}
}

func assembles(n workflow.Node) bool { return n.Type == promptKind }

// prompted compiles a copy of a workflow with other settings. Faults of settings are
// the profile's, and the others are reported with the workflow.
func (l *loader) prompted(p *Profile, w *Workflow, settings map[string]any) *workflow.Plan {
	def := *w.Definition
	def.Nodes = slices.Clone(def.Nodes)
	found := false
	for i := range def.Nodes {
		if assembles(def.Nodes[i]) {
			found = true
			config := maps.Clone(def.Nodes[i].ConfigValues)
			if config == nil {
				config = map[string]any{}
			}
			maps.Copy(config, settings)
			def.Nodes[i].ConfigValues = config
		}
	}
	if !found {
		l.fault(p.doc, at("prompt"), "name std/core in core_deliberation_workflow_id, or remove the field", "the workflow %q has no node of the kind %s", w.ID, promptKind)
		return nil
	}
	plan, faults := workflow.Compile(&def, l.compileOptions())
	for _, f := range faults {
		if _, own := settings[f.Field]; own {
			l.fault(p.doc, at("prompt", f.Field), f.Suggestion, "%s", f.Message)
		}
	}
	return plan
}

// early are the inputs that differ in every turn. A prompt that begins with one shares
// nothing with the prompts before it, and a fork asks anew what shows it.
func early() []string {
	return []string{"turn", "now", "world_version", "incoming_events", "observations"}
}
