package project

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/plugin"
)

// Plugin is a plugin that the project lists. Its definitions are among those of the
// project, unless it is broken.
type Plugin struct {
	Manifest *plugin.Manifest // nil = it is broken
	Use      plugin.Use
	File     string  // of the manifest
	Faults   []Fault // of a broken one
	Tools    []string
	// Files are those that were read, by path within the plugin, with their SHA-256.
	Files map[string]string
}

// Broken reports whether nothing of the plugin is loaded.
func (p *Plugin) Broken() bool { return p.Manifest == nil }

// Plugins are those that the project lists, by name.
func (p *Project) Plugins() map[string]*Plugin { return p.plugins }

// BrokenPlugins are the names of those that are broken, sorted.
func (p *Project) BrokenPlugins() (names []string) {
	for _, name := range protocol.SortedKeys(p.plugins) {
		if p.plugins[name].Broken() {
			names = append(names, name)
		}
	}
	return names
}

// loaded loads a project again and again, without the plugins that were found broken.
func loaded(fsys fs.FS, opt Options) (*loader, error) {
	broken := map[string][]Fault{}
	for _, name := range opt.Broken {
		broken[name] = nil
	}
	for {
		l := newLoader(fsys, opt)
		l.broken = broken
		if err := l.tree.list(); err != nil {
			return nil, protocol.Errorf(protocol.KindNotFound, "project: load: %w", err)
		}
		l.load()
		found := l.brokenPlugins()
		if len(found) == 0 {
			l.finishPlugins()
			return l, nil
		}
		maps.Copy(broken, found)
	}
}

// brokenPlugins are those in which this load found faults.
func (l *loader) brokenPlugins() map[string][]Fault {
	found := map[string][]Fault{}
	for _, f := range l.report.Since(0) {
		if name := pluginOf(f.File); name != "" && l.listed(name) {
			found[name] = append(found[name], f)
		}
	}
	return found
}

func (l *loader) listed(name string) bool {
	_, broken := l.broken[name]
	return !broken && l.project.plugins[name] != nil
}

// faults is the error of a load. What is wrong with plugins belongs to it only if something
// else is wrong: it may be the cause.
func (l *loader) faults() error {
	if l.report.Total() > 0 {
		for _, name := range protocol.SortedKeys(l.broken) {
			for _, f := range l.broken[name] {
				l.report.Add(f)
			}
		}
	}
	return l.report.Err()
}

// pluginOf is the plugin in whose folder a file lies; "" = in none.
func pluginOf(file string) string {
	rest, ok := strings.CutPrefix(file, plugin.Folder+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// ownPath is the path of a file within its plugin, or within the project.
func ownPath(file string) string {
	if name := pluginOf(file); name != "" {
		return strings.TrimPrefix(file, plugin.Folder+"/"+name+"/")
	}
	return file
}

// workflowID is the id of a workflow that gives itself none.
func (l *loader) workflowID(file string) string {
	if name := pluginOf(file); name != "" {
		return name + "/" + stem(l.tree.place(file))
	}
	return stem(file)
}

// loadPlugins reads the manifests of the plugins that the project lists, and lists their
// files.
func (l *loader) loadPlugins() {
	here := func(i int, steps ...any) place {
		return place{l.def, l.nodeOf(at(append([]any{"plugins", i}, steps...)...))}
	}
	uses := l.project.Definition.Plugins
	seen := map[string]string{} // as environments and models would write the names
	for i, use := range append(slices.Clone(uses), l.opt.Plugins...) {
		squashed := strings.ToUpper(strings.ReplaceAll(use.Name, "-", "_"))
		switch {
		case use.Name == "":
			continue // reported
		case !plugin.IsName(use.Name):
			l.faultAt(here(i, "name"), "", "%q is no name of a plugin; want %s", protocol.Short(use.Name, 80), plugin.NameRule)
			continue
		case seen[squashed] != "":
			l.faultAt(here(i, "name"), "remove one", "the plugin %q is listed already, as %s", use.Name, seen[squashed])
			continue
		}
		seen[squashed] = use.Name
		p := &Plugin{Use: use, Faults: l.broken[use.Name]}
		l.project.plugins[use.Name] = p
		if _, broken := l.broken[use.Name]; broken {
			l.warnAt(here(i), "simd validate lists its faults", "the plugin %s is broken and off", use.Name)
			continue
		}
		if !l.loadPlugin(p, here(i, "name")) {
			continue
		}
		ok, err := plugin.Fits(use.Version, p.Manifest.Version)
		switch {
		case use.Version == "":
		case err != nil:
			l.faultAt(here(i, "version"), "", "%s", err)
		case !ok:
			l.faultAt(here(i, "version"), "", "the project wants %s of the plugin %s, which has the version %s", protocol.Short(use.Version, 80), use.Name, p.Manifest.Version)
		}
		if _, err := p.Manifest.Resolve(plugin.Layer{Name: plugin.FromProject, Values: use.Config}); err != nil {
			l.faultAt(here(i, "config"), "", "%s", err)
		}
	}
	l.linkPlugins()
}

// loadPlugin reads one manifest and lists the files; false = there is none.
func (l *loader) loadPlugin(p *Plugin, listed place) bool {
	dir := path.Join(plugin.Folder, p.Use.Name)
	if info, err := fs.Lstat(l.tree.fsys, dir); err != nil || !info.IsDir() {
		l.faultAt(listed, source.Suggest(p.Use.Name, l.tree.pluginFolders()), "there is no plugin %q: no folder %s", protocol.Short(p.Use.Name, 80), protocol.Short(dir, 80))
		delete(l.project.plugins, p.Use.Name)
		return false
	}
	for _, name := range plugin.Files() {
		if info, err := fs.Lstat(l.tree.fsys, path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			if p.File != "" {
				l.tree.fault(path.Join(dir, name), "the plugin has a second manifest beside "+p.File, "remove one")
				continue
			}
			p.File = path.Join(dir, name)
		}
	}
	p.Manifest = &plugin.Manifest{}
	if p.File == "" {
		l.tree.fault(dir, "the folder has no "+plugin.Files()[0], "simd plugin new makes one")
		return false
	}
	doc := l.tree.parse(p.File)
	if doc == nil {
		return false
	}
	l.decoder.Decode(doc, p.Manifest)
	for _, f := range p.Manifest.Check(p.Use.Name, l.opt.Program) {
		l.fault(doc, f.Steps, f.Suggestion, "%s", f.Message)
	}
	l.tree.listPlugin(dir, p)
	for _, e := range []struct {
		field string
		entry *plugin.Entry
	}{{"nodes", p.Manifest.Nodes}, {"tools", p.Manifest.Tools}, {"mcp_servers", p.Manifest.MCPServers}} {
		if e.entry != nil && !slices.ContainsFunc(l.tree.ofPlugin[p.Use.Name], func(f string) bool { return strings.HasPrefix(f, path.Join(dir, plugin.In(e.entry, ""))+"/") }) {
			l.fault(doc, at(e.field, "entry"), "", "there are no files in %s", protocol.Short(e.entry.Entry, 80))
		}
	}
	for _, name := range protocol.SortedKeys(p.Manifest.Services) {
		if s := p.Manifest.Services[name]; s != nil {
			l.scriptFiles(doc, s.Script(), "services", name)
		}
	}
	return true
}

// scenePlugins checks what a scene says about options of plugins.
func (l *loader) scenePlugins(s *Scene) {
	for _, name := range protocol.SortedKeys(s.Definition.PluginConfig) {
		steps := at("plugin_config", name)
		p := l.project.plugins[name]
		switch {
		case p == nil:
			l.fault(s.doc, steps, suggestOr(name, protocol.SortedKeys(l.project.plugins)), "the project lists no plugin %q", name)
		case !p.Broken():
			if _, err := p.Manifest.Resolve(plugin.Layer{Name: plugin.FromScene, Values: s.Definition.PluginConfig[name]}); err != nil {
				l.fault(s.doc, steps, "", "%s", err)
			}
		}
	}
}

// linkPlugins checks that plugins have those that they need.
func (l *loader) linkPlugins() {
	for _, name := range protocol.SortedKeys(l.project.plugins) {
		p := l.project.plugins[name]
		if p.Broken() || p.Manifest.Dependencies == nil {
			continue
		}
		doc := l.tree.parse(p.File)
		for _, other := range protocol.SortedKeys(p.Manifest.Dependencies) {
			steps, versions := at("dependencies", other), p.Manifest.Dependencies[other]
			switch d := l.project.plugins[other]; {
			case d == nil:
				l.fault(doc, steps, "add it to plugins in project.json", "it needs the plugin %s, which the project does not list", other)
			case d.Broken():
				l.fault(doc, steps, "", "it needs the plugin %s, which is broken", other)
			default:
				if ok, err := plugin.Fits(versions, d.Manifest.Version); err == nil && !ok {
					l.fault(doc, steps, "", "it needs %s of the plugin %s, which has the version %s", versions, other, d.Manifest.Version)
				}
			}
		}
	}
}

// finishPlugins gives plugins their tools and files, and forgets what a broken one was not
// asked for.
func (l *loader) finishPlugins() {
	for _, id := range protocol.SortedKeys(l.project.tools) {
		if p := l.project.plugins[l.project.tools[id].Plugin]; p != nil {
			p.Tools = append(p.Tools, id)
		}
	}
	l.project.toolMock = l.mocks[""]
	for _, name := range protocol.SortedKeys(l.project.plugins) {
		if m := l.mocks[name]; m != nil {
			l.project.toolMock = l.project.toolMock.With(l.project.plugins[name].Tools, m)
		}
	}
	for _, file := range protocol.SortedKeys(l.tree.read) {
		if p := l.project.plugins[pluginOf(file)]; p != nil {
			if p.Files == nil {
				p.Files = map[string]string{}
			}
			p.Files[ownPath(file)] = l.tree.read[file].SHA256
		}
	}
}

// pluginFolders are the names of all folders of plugins.
func (t *tree) pluginFolders() (names []string) {
	entries, _ := fs.ReadDir(t.fsys, plugin.Folder) // without it there are none
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// listPlugin lists the files of a plugin, with the places that they would have in a project.
func (t *tree) listPlugin(dir string, p *Plugin) {
	from := len(t.listed)
	_ = fs.WalkDir(t.fsys, dir, func(file string, d fs.DirEntry, err error) error {
		base := path.Base(file)
		switch {
		case err != nil:
			t.fault(file, "cannot be read: "+cause(err), "")
			return skip(d)
		case strings.HasPrefix(base, ".") || d.IsDir() && (base == "node_modules" || file == dir+"/web"):
			return skip(d)
		case d.IsDir() && strings.Count(file, "/") >= t.lim.MaxFolders:
			t.fault(file, fmt.Sprintf("folders nested deeper than %d", t.lim.MaxFolders), "")
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return t.take(file, d)
	}) // every error was a fault
	slices.Sort(t.listed[from:])
	t.ofPlugin[p.Use.Name] = t.listed[from:len(t.listed):len(t.listed)]
	entries := map[string]string{ // by folder of a project: that of the plugin
		nodesDir: plugin.In(p.Manifest.Nodes, nodesDir), toolsDir: plugin.In(p.Manifest.Tools, toolsDir), mcpDir: plugin.In(p.Manifest.MCPServers, mcpDir),
	}
	for _, folder := range []string{workflowsDir, profilesDir, knowledgeDir, modelsDir, panelsDir} {
		entries[folder] = folder
	}
	for _, file := range t.listed[from:] {
		t.given[file] = ""
		for _, folder := range protocol.SortedKeys(entries) {
			if rest, ok := strings.CutPrefix(file, dir+"/"+entries[folder]+"/"); ok {
				t.given[file] = folder + "/" + rest
			}
		}
	}
}

// nodeOf is the node of project.json that steps lead to; nil = there is no project.json.
func (l *loader) nodeOf(steps []string) *source.Node {
	if l.def == nil {
		return nil
	}
	n, _ := l.def.Root.Find(steps...)
	return n
}

// faultAt notes a fault at a place of project.json, or of no file.
func (l *loader) faultAt(p place, suggestion, format string, args ...any) {
	l.report.Add(p.fault(suggestion, format, args...))
}

func (l *loader) warnAt(p place, suggestion, format string, args ...any) {
	l.warns.Add(p.fault(suggestion, format, args...))
}

func (p place) fault(suggestion, format string, args ...any) Fault {
	f := Fault{File: plugin.Folder, Message: fmt.Sprintf(format, args...), Suggestion: suggestion}
	if p.doc != nil {
		f.File, f.Line, f.Column, f.Path = p.doc.File, p.node.Pos.Line, p.node.Pos.Column, "plugins"
	}
	return f
}

// missingTool notes that an inventory names a tool that is not there. If a plugin is
// broken, it may be the plugin's: then scenes with the profile do not start.
func (l *loader) missingTool(p *Profile, steps []string, id string) {
	f := Fault{File: p.File, Path: source.Path(steps...), Message: fmt.Sprintf("there is no tool %q", id), Suggestion: source.Suggest(id, l.knownTools())}
	n, _ := p.doc.Root.Find(steps...)
	f.Line, f.Column = n.Pos.Line, n.Pos.Column
	if len(l.broken) == 0 {
		l.report.Add(f)
		return
	}
	f.Suggestion = "it may be of a plugin that is broken: " + strings.Join(protocol.SortedKeys(l.broken), ", ")
	p.missing = append(p.missing, f)
}

// Startable says why a scene cannot start although the project is sound: its agents have
// tools of plugins that are broken.
func (p *Project) Startable(s *Scene) error {
	report, seen := &source.Report{}, map[*Profile]bool{}
	for _, e := range s.entries {
		if seen[e.profile] {
			continue
		}
		seen[e.profile] = true
		for _, f := range e.profile.missing {
			report.Add(f)
		}
	}
	if report.Total() == 0 {
		return nil
	}
	for _, name := range protocol.SortedKeys(p.plugins) {
		for _, f := range p.plugins[name].Faults {
			report.Add(f)
		}
	}
	return report.Err()
}
