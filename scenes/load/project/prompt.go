package project

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/standard"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/minds"
)

// standard loads a workflow that comes with the program.
func (l *loader) standard(stem string) (*Workflow, bool) {
	if !slices.Contains(standard.IDs(), stem) {
		return nil, false
	}
	l.loadWorkflow(workflowsDir + "/" + stem + ".yaml")
	w, ok := l.project.workflows.byStem[stem]
	return w, ok
}

// open opens a file of the project, or one that comes with the program.
func (t *tree) open(p string) (fs.File, error) {
	f, err := t.fsys.Open(p)
	if name, ok := strings.CutPrefix(p, workflowsDir+"/"+standard.Dir); err != nil && ok {
		if own, missing := standard.Open(standard.Dir + name); missing == nil {
			return own, nil
		}
	}
	return f, err
}

// linkPrompt compiles the profile's workflows with its own settings of the prompt.
func (l *loader) linkPrompt(p *Profile) {
	core, ok := l.project.workflows.find(p.Definition.CoreDeliberationWorkflowID)
	given := p.Definition.Prompt.Settings()
	settings, shown := minds.Settings(p.Definition, given), minds.Shown(p.Definition)
	if settings == nil && shown == nil || !ok {
		return
	}
	def, ok := standard.With(core.Definition, settings, shown...)
	if !ok && given != nil {
		l.fault(p.doc, at("prompt"), "name std/core in core_deliberation_workflow_id, or remove the field", "the workflow %q has no node of the kind %s", core.ID, standard.AssemblePrompt)
		return
	}
	p.Core = l.prompted(p, def, settings)
	if settings != nil {
		for _, e := range standard.Volatile(core.Definition, settings) {
			l.warn(p.doc, at("prompt", e.Setting), volatileHint, volatileText, e.Input)
		}
	}
	delete(settings, "state")
	delete(settings, "instruction")
	if w, ok := l.project.workflows.find(p.Definition.ReflectionWorkflowID); ok {
		if def, ok := standard.With(w.Definition, settings, shown...); ok {
			p.Reflection = l.prompted(p, def, settings)
		}
	}
}

// checkCore warns about inputs and outputs of a core workflow whose names are almost those of the engine. Others are its own.
func (l *loader) checkCore(p *Profile) {
	w, ok := l.project.workflows.find(p.Definition.CoreDeliberationWorkflowID)
	if !ok || w.doc == nil {
		return
	}
	for _, x := range []struct {
		field, kind string
		ports       map[string]workflow.Port
		known       []string
	}{
		{"interfaceInputs", "gives no input", w.Definition.InterfaceInputs, agent.CoreInputs()},
		{"interfaceOutputs", "reads no output", w.Definition.InterfaceOutputs, agent.CoreOutputs()},
	} {
		for _, name := range protocol.SortedKeys(x.ports) {
			if near := source.Suggest(name, x.known); near != "" && !slices.Contains(x.known, name) {
				l.warn(w.doc, at(x.field, name), near, "in the core workflow of the profile %s the engine %s %q", p.Definition.ID, x.kind, protocol.Short(name, 80))
			}
		}
	}
}

// prompted compiles a workflow with settings of the profile. Faults of these are the
// profile's, unless the decoder named them; the others are the workflow's.
func (l *loader) prompted(p *Profile, def *workflow.Definition, settings map[string]any) *workflow.Plan {
	plan, faults := workflow.Compile(standard.Fit(def), l.compileOptions())
	if _, own := settings["context"]; own {
		for _, x := range standard.TooLong(def, l.known) {
			l.fault(p.doc, at("prompt", "context"), tooLongHint, tooLongText, x.Context, x.Known, cmp.Or(x.Model, "that answers here"))
		}
	}
	for _, f := range faults {
		said := func(was Fault) bool { return strings.HasPrefix(was.Path, source.Path("prompt", f.Field)) }
		if _, own := settings[f.Field]; own && !slices.ContainsFunc(p.said, said) {
			l.saying(f.Strict)(p.doc, at("prompt", f.Field), f.Suggestion, "%s", f.Message)
		}
	}
	return plan
}

// onlyModel is the file of the model that answers requests without a name in every scene;
// "" = there are several.
func (l *loader) onlyModel() (only string) {
	for _, s := range l.project.scenes {
		m := cmp.Or(s.Definition.Simulation.Model, l.project.Definition.Model, DefaultModel)
		if only != "" && m != only {
			return ""
		}
		only = m
	}
	return only
}

// checkNodes checks what the nodes of a workflow say of models and tools.
func (l *loader) checkNodes(w *Workflow) {
	for _, x := range standard.TooLong(w.Definition, l.known) {
		l.fault(w.doc, at("nodes", x.Node, "configValues", "context"), tooLongHint, tooLongText, x.Context, x.Known, cmp.Or(x.Model, "that answers here"))
	}
	for _, c := range standard.Choices(w.Definition) {
		known := c.Names
		if c.Agents {
			known = l.opt.Tools
		}
		if id, skill := strings.CutPrefix(c.Tool, "workflow:"); skill && c.Agents {
			if _, ok := l.project.workflows.find(id); ok {
				continue
			}
		} else if c.Agents && known == nil || !c.Agents && !c.Known || slices.Contains(known, c.Tool) {
			continue
		}
		l.fault(w.doc, at("nodes", c.Node, "configValues", "toolChoice"), suggestOr(c.Tool, known), choiceText, c.Tool)
	}
}

// checkChoices checks that the profile has the tools which its core workflow, or its
// reflection, makes the model call.
func (l *loader) checkChoices(p *Profile) {
	d := p.Definition
	for _, id := range []string{d.CoreDeliberationWorkflowID, d.ReflectionWorkflowID} {
		w, ok := l.project.workflows.find(id)
		if !ok {
			continue
		}
		for _, c := range standard.Choices(w.Definition) {
			skill, isSkill := strings.CutPrefix(c.Tool, "workflow:")
			if !c.Agents || isSkill && slices.Contains(d.SkillWorkflowIDsInventory, skill) || !isSkill && slices.Contains(d.ToolIDsInventory, c.Tool) {
				continue
			}
			l.fault(p.doc, at("tool_ids_inventory"), "", "the node %q of the workflow %q makes the model call %q (toolChoice), which the profile does not have", w.Definition.Nodes[c.Node].ID, w.ID, c.Tool)
		}
	}
}

const (
	tooLongText = "a context of %d tokens is more than the %d of the model %s"
	tooLongHint = "leave it out: it is the model's then"
	choiceText  = "the model is made to call %q, and the node offers no such tool"
)

const (
	volatileText = "the prompt shows %q before what stays the same"
	volatileHint = "show it at the end: no endpoint caches what stands behind it, and a fork asks all these questions anew"
)
