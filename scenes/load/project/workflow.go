package project

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/standard"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Workflow is one workflow of the project.
type Workflow struct {
	ID         string
	File       string
	Definition *workflow.Definition
	Plan       *workflow.Plan

	tool     bool             // made of the node that carries out a tool
	doc      *source.Document // while loading
	reported []Fault          // by the decoder, while loading
	linked   bool             // compiled, while loading
}

// resolver finds workflows by id or path; see the package doc.
type resolver struct {
	byID   map[string]*Workflow
	byStem map[string]*Workflow // path below workflows/ without the ending

	// standard loads a workflow of the program by its stem; nil after loading.
	standard func(stem string) (*Workflow, bool)
}

func newResolver() *resolver {
	return &resolver{byID: map[string]*Workflow{}, byStem: map[string]*Workflow{}}
}

func (r *resolver) find(ref string) (*Workflow, bool) {
	if w, ok := r.byID[ref]; ok {
		return w, true
	}
	w, ok := r.byStem[stem(ref)]
	if !ok && r.standard != nil {
		w, ok = r.standard(stem(ref))
	}
	return w, ok
}

// stem is what is left of a path to a workflow file without the folder and the
// ending; "" for what cannot be such a path.
func stem(ref string) string {
	ref = strings.TrimPrefix(ref, "./")
	ref = strings.TrimPrefix(ref, workflowsDir+"/")
	if !fs.ValidPath(ref) || ref == "." {
		return ""
	}
	if ext := path.Ext(ref); slices.Contains(source.Extensions(), strings.ToLower(ext)) {
		ref = strings.TrimSuffix(ref, ext)
	}
	return ref
}

// suggest finds what a reference was probably meant to be: an id or a path.
func (r *resolver) suggest(ref string) string {
	ids := append(protocol.SortedKeys(r.byID), standard.IDs()...)
	if s := source.Suggest(ref, ids); s != "" {
		return s
	}
	return source.Suggest(stem(ref), protocol.SortedKeys(r.byStem))
}

// workflowRef resolves a reference of a definition; "" when there is none or it
// leads nowhere.
func (l *loader) workflowRef(doc *source.Document, steps []string, ref string) string {
	return l.workflowOf(l.fault, doc, steps, ref)
}

func (l *loader) workflowOf(say say, doc *source.Document, steps []string, ref string) string {
	if ref == "" {
		return ""
	}
	if w, ok := l.project.workflows.find(ref); ok {
		return w.ID
	}
	if strings.Contains(ref, "..") || strings.HasPrefix(ref, "/") {
		say(doc, steps, "write an id, or a path such as workflows/skills/greet.json", "%q leaves the project's workflows", ref)
		return ""
	}
	suggestion := l.project.workflows.suggest(ref)
	if suggestion == "" {
		suggestion = l.instead(workflowsDir, ref, protocol.SortedKeys(l.project.workflows.byID))
	}
	say(doc, steps, suggestion, "there is no workflow %q", ref)
	return ""
}

// ownInputs checks that a workflow that runs by itself requires no input but the core inputs and more.
func (l *loader) ownInputs(doc *source.Document, steps []string, id string, more ...string) {
	w, ok := l.project.workflows.find(id)
	if !ok {
		return
	}
	given := append(agent.CoreInputs(), more...)
	for _, name := range protocol.SortedKeys(w.Definition.InterfaceInputs) {
		if p := w.Definition.InterfaceInputs[name]; p.Required && p.Default == nil && !slices.Contains(given, name) {
			l.strict(doc, steps, cmp.Or(source.Suggest(name, given), "remove required, or give the input a default"), "the workflow %q requires the input %q, which nobody gives it here", w.ID, name)
		}
	}
}

func (l *loader) loadWorkflows() {
	r := l.project.workflows
	for _, p := range l.tree.definitions(workflowsDir) {
		l.loadWorkflow(p)
	}
	r.standard = l.standard
	for _, id := range protocol.SortedKeys(r.byID) {
		if other, ok := r.byStem[stem(id)]; ok && other.ID != id {
			l.fault(r.byID[id].doc, at("id"), "rename one of them", "the id %q is also the path of %s", id, other.File)
		}
	}
}

func (l *loader) loadWorkflow(p string) {
	r := l.project.workflows
	doc := l.tree.parse(p)
	if doc == nil {
		return
	}
	w := &Workflow{File: p, Definition: &workflow.Definition{}, doc: doc}
	before := l.report.Total()
	l.decoder.Decode(doc, w.Definition)
	w.reported = slices.Clone(l.report.Since(before))
	if w.Definition.ID == "" {
		w.Definition.ID = l.workflowID(p)
	}
	w.ID = w.Definition.ID
	l.version(doc, at("version"), w.Definition.Version)
	if first, ok := r.byStem[stem(p)]; ok {
		l.tree.fault(p, fmt.Sprintf("differs from %s in its ending only", first.File), "rename one of them")
		return
	}
	r.byStem[stem(p)] = w
	if l.claim("workflow", w.ID, doc, at("id")) {
		r.byID[w.ID] = w
	}
}

// compileOptions finds nested workflows in the project.
func (l *loader) compileOptions() workflow.Options {
	return workflow.Options{
		Kinds: l.opt.Kinds,
		Lookup: func(ref string) (*workflow.Definition, bool) {
			w, ok := l.project.workflows.find(ref)
			if !ok {
				return nil, false
			}
			return standard.Fit(w.Definition), true
		},
	}
}

// linkWorkflows compiles every workflow that has not been compiled. What the decoder has
// said about a node, an edge or a port is not said again.
func (l *loader) linkWorkflows() {
	opt := l.compileOptions()
	for _, id := range protocol.SortedKeys(l.project.workflows.byID) {
		w := l.project.workflows.byID[id]
		if w.linked {
			continue
		}
		w.linked = true
		var faults []workflow.Fault
		w.Plan, faults = workflow.Compile(standard.Fit(w.Definition), opt)
		l.checkNodes(w)
		for _, e := range standard.Volatile(w.Definition, nil) {
			l.warn(w.doc, at("nodes", e.Node, "configValues", e.Setting), volatileHint, volatileText, e.Input)
		}
		bad := map[string]bool{}
		for _, f := range w.reported {
			bad[firstTwo(f.Path)] = true
		}
		for _, f := range faults {
			if !bad[firstTwo(source.Path(f.Path...))] {
				l.workflowFault(w, f)
			}
		}
	}
}

func (l *loader) workflowFault(w *Workflow, f workflow.Fault) {
	message := f.Message
	if f.Field != "" && f.Field != first(f.Path[max(len(f.Path)-1, 0):]) {
		message = f.Field + ": " + message
	}
	switch {
	case w.tool && f.Edge != "": // from a parameter to the node
		f.Path = at("parameters")
	case w.tool:
		f.Path = slices.Concat(at("implementation", "config"), f.Path[min(len(f.Path), 3):])
	case f.Node != "":
		message = fmt.Sprintf("node %q: %s", f.Node, message)
	case f.Edge != "":
		message = fmt.Sprintf("edge %s: %s", f.Edge, message)
	}
	l.saying(f.Strict)(w.doc, f.Path, f.Suggestion, "%s", message)
}

// firstTwo is the node, edge or port that a path leads into: nodes[3].
func firstTwo(path string) string {
	if before, _, ok := strings.Cut(path, "]"); ok {
		return before
	}
	parts := strings.SplitN(path, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}
