package project

import (
	"io/fs"
	"slices"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/standard"
	"tavernsim/internal/source"
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
	if p.Definition.Prompt == nil || !ok {
		return
	}
	settings := p.Definition.Prompt.Settings()
	def, ok := standard.With(core.Definition, settings)
	if !ok {
		l.fault(p.doc, at("prompt"), "name std/core in core_deliberation_workflow_id, or remove the field", "the workflow %q has no node of the kind %s", core.ID, standard.AssemblePrompt)
		return
	}
	p.Core = l.prompted(p, def, settings)
	for _, e := range standard.Volatile(core.Definition, settings) {
		l.warn(p.doc, at("prompt", e.Setting), volatileHint, volatileText, e.Input)
	}
	delete(settings, "state")
	delete(settings, "instruction")
	if w, ok := l.project.workflows.find(p.Definition.ReflectionWorkflowID); ok {
		if def, ok := standard.With(w.Definition, settings); ok {
			p.Reflection = l.prompted(p, def, settings)
		}
	}
}

// prompted compiles a workflow with settings of the profile. Faults of these are the
// profile's, unless the decoder named them; the others are the workflow's.
func (l *loader) prompted(p *Profile, def *workflow.Definition, settings map[string]any) *workflow.Plan {
	plan, faults := workflow.Compile(def, l.compileOptions())
	for _, f := range faults {
		said := func(was Fault) bool { return strings.HasPrefix(was.Path, source.Path("prompt", f.Field)) }
		if _, own := settings[f.Field]; own && !slices.ContainsFunc(p.said, said) {
			l.fault(p.doc, at("prompt", f.Field), f.Suggestion, "%s", f.Message)
		}
	}
	return plan
}

const (
	volatileText = "the prompt shows %q before what stays the same"
	volatileHint = "show it at the end: no endpoint caches what stands behind it, and a fork asks all these questions anew"
)
