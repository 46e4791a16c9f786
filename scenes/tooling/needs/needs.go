// Package needs lists the needs of the tools and plugins of a project, and which of them are
// granted (docs/formats/grants.md). It decides nothing: tools/grants decides about grants,
// and scenes/tooling refuses calls.
package needs

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/grants"
	"tavernsim/tools/manifest"
)

// Place is where a project lies, as its operator sees it; the zero value is nowhere.
type Place struct {
	Folder string // as in grants.Asked
	Origin string
}

// Of lists what the tools of a project ask an operator for, by id. Tools that ask for
// nothing are not in it.
func Of(p *project.Project, at Place) (list []grants.Asked) {
	hashes := map[string]string{}
	for _, f := range p.Files() {
		hashes[f.Path] = f.SHA256
	}
	for _, id := range p.ToolIDs() {
		t, _ := p.Tool(id)
		if t.Plugin != "" {
			continue // it has what the plugin has
		}
		a := grants.Asked{Folder: at.Folder, Origin: at.Origin, Tool: id, Needs: t.Definition.Asks(), Files: map[string]string{}}
		add := func(files ...string) {
			for _, f := range files {
				a.Files[f] = hashes[f]
			}
		}
		add(t.File)
		for _, f := range t.Definition.Files() {
			add(path.Join(path.Dir(t.File), f.Path))
		}
		if x := p.Services()[t.Service]; x != nil {
			a.Needs = append(a.Needs, x.Script.Asks()...)
			add(x.File)
			for _, f := range x.Script.Files() {
				add(path.Join(path.Dir(x.File), f.Path))
			}
		}
		if x := &t.Definition.Implementation; x.Type == manifest.MCP {
			s := p.Servers()[x.Server]
			a.Needs = s.Definition.Asks()
			add(s.File, s.PinFile)
			for _, f := range s.Definition.Script().Files() {
				add(path.Join(path.Dir(s.File), f.Path))
			}
		}
		if len(a.Needs) > 0 {
			list = append(list, a)
		}
	}
	return append(list, askedByPlugins(p, at)...)
}

// OfPlugin stands for a plugin as a whole among the tools of a file of grants.
func OfPlugin(name string) string { return "plugin:" + name }

// askedByPlugins lists what plugins ask for: each has all of it, or nothing, for the state
// of all its files.
func askedByPlugins(p *project.Project, at Place) (list []grants.Asked) {
	for _, name := range protocol.SortedKeys(p.Plugins()) {
		x := p.Plugins()[name]
		if x.Broken() {
			continue
		}
		a := grants.Asked{Folder: at.Folder, Origin: at.Origin, Tool: OfPlugin(name), Needs: x.Manifest.Asks(), Files: x.Files}
		for _, id := range x.Tools {
			t, _ := p.Tool(id)
			a.Needs = append(a.Needs, t.Definition.Asks()...)
		}
		for _, s := range p.Servers() {
			if s.Plugin == name {
				a.Needs = append(a.Needs, s.Definition.Asks()...)
			}
		}
		for _, s := range p.Services() {
			if s.Plugin == name {
				a.Needs = append(a.Needs, s.Script.Asks()...)
			}
		}
		slices.Sort(a.Needs)
		if a.Needs = slices.Compact(a.Needs); len(a.Needs) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// Granted lists what the tools of a project ask for and have, by id.
func Granted(p *project.Project, at Place, store *grants.Store) map[string][]string {
	has := map[string][]string{}
	for _, a := range Of(p, at) {
		if store.Check(&a) == nil {
			has[a.Tool] = a.Needs
		}
	}
	return has
}

// Refused lists the tools of a project that the operator has not granted what they ask for:
// their calls are denied.
func Refused(p *project.Project, at Place, store *grants.Store) (list []error) {
	for _, a := range Of(p, at) {
		if err := store.Check(&a); err != nil {
			list = append(list, err)
		}
	}
	return list
}

// Changes lists how grants differ, a line for each tool.
func Changes(was, is map[string][]string) (list []string) {
	all := map[string]bool{}
	for id := range was {
		all[id] = true
	}
	for id := range is {
		all[id] = true
	}
	for _, id := range protocol.SortedKeys(all) {
		if before, after := was[id], is[id]; !reflect.DeepEqual(before, after) {
			list = append(list, id+" had "+written(before)+" and has "+written(after))
		}
	}
	return list
}

func written(needs []string) string {
	if len(needs) == 0 {
		return "nothing"
	}
	return strings.Join(needs, ", ")
}

// States counts the plugins of a project by what became of them, in the words of the metric
// simd_plugins. live says that tools are carried out: else nothing must be granted.
func States(p *project.Project, at Place, store *grants.Store, live bool) map[string]int {
	denied := map[string]bool{}
	for _, a := range Of(p, at) {
		denied[a.Tool] = live && store.Check(&a) != nil
	}
	n := map[string]int{}
	for name, x := range p.Plugins() {
		switch {
		case x.Broken():
			n[metrics.PluginBroken]++
		case denied[OfPlugin(name)]:
			n[metrics.PluginDenied]++
		default:
			n[metrics.PluginOn]++
		}
	}
	return n
}
