package project

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/builtin"
	"tavernsim/tools/plugin"
	"tavernsim/tools/toolmock"
)

// Tool is a tool of the project, checked.
type Tool struct {
	Definition *manifest.Tool
	File       string
	Plugin     string // that it is of; "" = the project's own
	Service    string // that carries it out, of Project.Services; "" = none of these
	// Check validates the parameters of a call. The error names every fault by its JSON
	// pointer.
	Check func(params map[string]any) error
	// CheckOutput validates an output; nil = every output is right.
	CheckOutput func(output any) error
}

// toolFile reports whether a file of tools/ is the definition of a tool.
func toolFile(p string) bool {
	return strings.HasSuffix(source.Stem(p), ".tool")
}

func (l *loader) loadTools() {
	l.reserve()
	files := l.tree.definitions(toolsDir)
	for _, file := range files {
		if toolFile(file) {
			l.loadTool(file)
		}
	}
	for _, file := range files {
		if l.tree.place(file) == ToolMock {
			if doc := l.tree.parse(file); doc != nil {
				l.mocks[pluginOf(file)], l.mocked[pluginOf(file)] = toolmock.Read(doc, l.report), doc
			}
		} else if l.tree.read[file] == nil {
			l.warns.Add(Fault{File: file, Message: "this file is not read", Suggestion: "call the definition of a tool NAME.tool.yaml"})
		}
	}
}

func (l *loader) loadTool(file string) {
	doc := l.tree.parse(file)
	if doc == nil {
		return
	}
	t := &Tool{Definition: &manifest.Tool{}, File: file, Plugin: pluginOf(file)}
	d := t.Definition
	l.decoder.Decode(doc, d)
	if d.Implementation.Type == manifest.MCP {
		l.pinned(doc, d)
	}
	if d.Implementation.Type == manifest.Node {
		l.ofNode = append(l.ofNode, ofNode{doc, t}) // plugins may yet add kinds
		return
	}
	l.checkTool(doc, t, nil)
}

// checkTool finishes a definition. A tool that no file defines has its schemas at the
// place of a pin that place leads to.
func (l *loader) checkTool(doc *source.Document, t *Tool, place []string) {
	d := t.Definition
	for _, f := range d.Check() {
		l.saying(f.Strict)(doc, slices.Concat(place, f.Steps), f.Suggestion, "%s", f.Message)
	}
	if compiled := l.compile(doc, slices.Concat(place, at("parameters")), d.Parameters); compiled != nil {
		t.Check = func(params map[string]any) error { return compiled.FitsByPointer(params) }
		for i, e := range d.Examples {
			if err := t.Check(e); err != nil {
				l.fault(doc, slices.Concat(place, at("examples", i)), "write parameters as a call has them", "the example does not fit the parameters: %s", err)
			}
		}
		for _, v := range compiled.Defaults(d.Parameters) {
			l.warn(doc, slices.Concat(place, at("parameters", "properties", v.Steps[0], "default")), "", "calls without %q are refused, because its default does not fit: %s", protocol.Short(v.Steps[0], 80), v.Message)
		}
	}
	if d.OutputSchema != nil {
		if compiled := l.compile(doc, slices.Concat(place, at("outputSchema")), d.OutputSchema); compiled != nil {
			t.CheckOutput = compiled.FitsByPointer
		}
	}
	for _, name := range d.Options() {
		if p := l.project.plugins[t.Plugin]; p == nil || p.Manifest.Option(name) == nil {
			l.fault(doc, slices.Concat(place, at("implementation")), "add it to configOptions of the plugin", "there is no option %q for $CONFIG{…}: only those of the tool's own plugin", protocol.Short(name, 64))
		}
	}
	if len(d.Calls()) > 0 {
		l.callers = append(l.callers, ofNode{doc, t})
	}
	switch d.Implementation.Type {
	case manifest.Workflow:
		d.Implementation.ID = l.workflowRef(doc, at("implementation", "id"), d.Implementation.ID)
		l.unread(doc, d)
	case manifest.Script:
		l.scriptFiles(doc, d, "implementation")
	case manifest.Service:
		if s := l.serviceOf(doc, d); s != nil {
			t.Service = s.Name
		}
	}
	if same := l.squashed[Squash(d.ID)]; same != "" && !lessCode(t) {
		where := "comes with the program"
		if other := l.project.tools[same]; other != nil {
			where = "is defined in " + other.File
			if same == d.ID {
				l.fault(doc, slices.Concat(place, at("id")), "rename one of them", "the tool id %q is given twice: it %s, too", d.ID, where)
				return
			}
		}
		l.fault(doc, slices.Concat(place, at("id")), "rename one of them", "the tool %q and %q, which %s, are one name for a model", d.ID, same, where)
		return
	}
	if d.ID != "" {
		l.project.tools[d.ID] = t
		if d.Implementation.Within() {
			l.within = append(l.within, ofNode{doc, t})
		}
		l.squashed[Squash(d.ID)] = d.ID
	}
}

// unread warns of parameters that the workflow of a tool does not take.
func (l *loader) unread(doc *source.Document, d *manifest.Tool) {
	w, known := l.project.workflows.find(d.Implementation.ID)
	if !known || w.Definition == nil {
		return
	}
	properties, _ := d.Parameters["properties"].(map[string]any)
	for _, name := range protocol.SortedKeys(properties) {
		if _, taken := w.Definition.InterfaceInputs[name]; !taken {
			l.warn(doc, at("parameters", "properties", name), source.Suggest(name, protocol.SortedKeys(w.Definition.InterfaceInputs)), "the workflow %s has no input %q; nothing reads this parameter", w.ID, protocol.Short(name, 80))
		}
	}
}

// Squash makes ids equal that models write alike, and that look alike.
func Squash(id string) string { return bind.Squash(norm.NFKC.String(id)) }

// lessCode reports whether a tool is the interpreter of the program, as the project itself
// allows it.
func lessCode(t *Tool) bool {
	return t.Plugin == "" && t.Definition.ID == manifest.CodeInterpreter && t.Definition.Implementation.Type == manifest.Code
}

// withProgram are the tools that come with the program and that profiles name.
func withProgram() []*manifest.Tool {
	return slices.Concat(builtin.FileTools(), builtin.ShellTools(), []*manifest.Tool{manifest.NewCodeInterpreter()})
}

// reserve keeps the ids of the program's tools from definitions.
func (l *loader) reserve() {
	for _, id := range l.opt.Tools {
		l.squashed[Squash(id)] = id
	}
	for _, d := range withProgram() {
		l.squashed[Squash(d.ID)] = d.ID
	}
}

// scriptFiles reads the files that go with a script, whose command stands at a place of the document.
func (l *loader) scriptFiles(doc *source.Document, d *manifest.Tool, place ...string) {
	dir := path.Dir(doc.File)
	all := l.tree.listed
	if name := pluginOf(doc.File); name != "" {
		all = l.tree.ofPlugin[name]
	}
	names, faults := d.Beside(dir, all)
	if name := pluginOf(doc.File); name != "" && len(names) == 0 { // perhaps they lie in the plugin's own folder
		root := path.Join(plugin.Folder, name)
		if more, none := d.Beside(root, all); len(more) > 0 {
			dir, names, faults = root, more, none
		}
	}
	for _, f := range faults {
		l.fault(doc, append(slices.Clip(place), f.Steps[1:]...), f.Suggestion, "%s", f.Message)
	}
	for _, word := range d.Absent(dir, names) {
		l.warn(doc, append(slices.Clip(place), "command"), "the program starts in a folder that has these files alone", "there is no %s in %s", protocol.Short(word, 80), dir)
	}
	var files []manifest.File
	for _, name := range names {
		if f := l.tree.load(name); f != nil {
			files = append(files, manifest.File{Path: strings.TrimPrefix(name, dir+"/"), Data: f.data})
		}
	}
	if err := d.SetFiles(files); err != nil {
		l.fault(doc, append(slices.Clip(place), "files"), "install the program on this machine, as npm install --global does, and name it in the command", "%s", err)
	}
}

// comeAlong adds the tools that come with the program, if a profile has them and no file
// defines them.
func (l *loader) comeAlong(profiles []*Profile) {
	for _, d := range withProgram() {
		for _, p := range profiles {
			i := slices.Index(p.Definition.ToolIDsInventory, d.ID)
			if _, defined := l.project.tools[d.ID]; defined || i < 0 {
				continue
			}
			t := &Tool{Definition: d}
			if compiled := l.compile(p.doc, at("tool_ids_inventory", i), d.Parameters); compiled != nil {
				t.Check = func(params map[string]any) error { return compiled.FitsByPointer(params) }
			}
			l.project.tools[d.ID] = t
		}
	}
}

// ToolMock is what answers in the place of the tools; nil = the project says nothing.
func (p *Project) ToolMock() *toolmock.Mock { return p.toolMock }

// linkMocks refuses rules of mocks that name no tool for which they could answer: of a plugin
// those of its own.
func (l *loader) linkMocks() {
	for _, owner := range protocol.SortedKeys(l.mocks) {
		m := l.mocks[owner]
		if m == nil || l.opt.Tools == nil {
			continue
		}
		var known []string
		for _, d := range withProgram() {
			known = append(known, d.ID)
		}
		for _, id := range protocol.SortedKeys(l.project.tools) {
			if owner == "" || l.project.tools[id].Plugin == owner {
				known = append(known, id)
			}
		}
		m.Named(func(pattern string, steps ...string) {
			if slices.Contains(l.opt.Tools, pattern) {
				l.strict(l.mocked[owner], steps, "remove it", "the program itself carries out %s, and no rule answers for it", pattern)
				return
			}
			l.namesTool(l.strict, l.mocked[owner], steps, pattern, known)
		})
	}
}

// ToolIDs lists the tools of the project, sorted.
func (p *Project) ToolIDs() []string { return protocol.SortedKeys(p.tools) }

// Given are the ids of tools with which the project was loaded (Options.Tools); nil = tool
// ids were not checked.
func (p *Project) Given() []string { return slices.Clone(p.given) }

// HasTasks reports whether some tool is asynchronous.
func (p *Project) HasTasks() bool {
	for _, t := range p.tools {
		if t.Definition.Execution.Mode == manifest.Async {
			return true
		}
	}
	return false
}

// Tool finds a tool of the project by its id.
func (p *Project) Tool(id string) (*Tool, bool) {
	t, ok := p.tools[id]
	return t, ok
}

// knownTools are the ids that an inventory may name.
func (l *loader) knownTools() []string {
	return slices.Concat(l.opt.Tools, protocol.SortedKeys(l.project.tools))
}
