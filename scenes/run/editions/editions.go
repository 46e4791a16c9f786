// Package editions compares a project with the current contents of its files, and says whether a run can
// continue with the tools that they define now.
//
// # Promises
//
//  1. In an edition only tools of plugins, and their implementations, differ from the earlier project.
//     Any other difference is a reason to refuse it.
//  2. It has no needs that the earlier project did not have.
//
// # Not here
//
// The times at which scenes take an edition (scenes/machines), the copy in the run directory (scenes/run/rundir),
// the executors of the tools (scenes/tooling).
package editions

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/plugin"
)

// folders of plugins whose files decide more than what tools are.
func folders() []string {
	return []string{"nodes", "workflows", "agent_profiles", "knowledgebases", "models", "panels"}
}

// Compare says how the plugins of a project changed, or why a run cannot go on with that.
func Compare(was, is *project.Project) (*agenda.PluginsChanged, error) {
	changed, err := plugins(was, is)
	if err != nil {
		return nil, err
	}
	f := &agenda.PluginsChanged{Project: is.Hash()}
	for _, name := range protocol.SortedKeys(changed) {
		before, after := was.Plugins()[name], is.Plugins()[name]
		if err := same(name, before, after); err != nil {
			return nil, err
		}
		f.Plugins = append(f.Plugins, name+" "+after.Manifest.Version)
	}
	if err := narrower(was, is); err != nil {
		return nil, err
	}
	f.Tools, err = tools(was, is, changed)
	return f, err
}

// Each compares the projects of several scenes, by scene id, with what their files have become: facts are those of
// the scenes that can go on with that and have not done so, all are the plugins that changed in one of them, and the
// error names the scenes that cannot.
func Each(was map[string]*project.Project, is *project.Project) (facts map[string]*agenda.PluginsChanged, all []string, err error) {
	facts = map[string]*agenda.PluginsChanged{}
	for _, scene := range protocol.SortedKeys(was) {
		f, refused := Compare(was[scene], is)
		switch {
		case refused != nil:
			err = errors.Join(err, OfScene(scene, refused))
		case len(f.Plugins) > 0:
			facts[scene], all = f, union(all, f.Plugins)
		}
	}
	return facts, all, err
}

// OfScene says which scene keeps the plugins that it has.
func OfScene(scene string, why error) error {
	return protocol.Errorf(protocol.KindConflict, "scene %s: %w", scene, why)
}

// plugins are the names of those of which files differ.
func plugins(was, is *project.Project) (changed map[string]bool, err error) {
	changed = map[string]bool{}
	for _, file := range differ(was, is) {
		parts := strings.SplitN(file, "/", 3)
		if len(parts) < 3 || parts[0] != "plugins" {
			return nil, refuse("%s is a file of the project, and it changed", file)
		}
		if folder, _, _ := strings.Cut(parts[2], "/"); slices.Contains(folders(), folder) {
			return nil, refuse("%s changed, which decides more than what tools are", file)
		}
		changed[parts[1]] = true
	}
	return changed, nil
}

func refuse(format string, args ...any) error {
	return protocol.Errorf(protocol.KindConflict, format+"; a run under way takes tools of plugins alone", args...)
}

// differ lists the files that are new, gone or others, sorted.
func differ(was, is *project.Project) (list []string) {
	before := map[string]string{}
	for _, f := range was.Files() {
		before[f.Path] = f.SHA256
	}
	for _, f := range is.Files() {
		if before[f.Path] != f.SHA256 {
			list = append(list, f.Path)
		}
		delete(before, f.Path)
	}
	list = append(list, protocol.SortedKeys(before)...)
	slices.Sort(list)
	return list
}

// same refuses a plugin of which more than tools and programs changed.
func same(name string, was, is *project.Plugin) error {
	switch {
	case was == nil || is == nil:
		return refuse("the plugin %s is new or gone", name)
	case is.Broken():
		return refuse("the plugin %s is broken: %s", name, faults(is))
	case was.Broken():
		return refuse("the plugin %s was broken when the run began", name)
	case len(was.Manifest.Hooks)+len(is.Manifest.Hooks) > 0:
		return refuse("the plugin %s has hooks", name)
	case len(was.Manifest.Overrides)+len(is.Manifest.Overrides) > 0:
		return refuse("the plugin %s replaces a part of the program", name)
	case !reflect.DeepEqual(rest(was.Manifest), rest(is.Manifest)):
		return refuse("more of the manifest of the plugin %s changed than version, description and services", name)
	}
	return nil
}

func faults(p *project.Plugin) string {
	var texts []string
	for _, f := range p.Faults {
		texts = append(texts, f.String())
	}
	return protocol.Short(strings.Join(texts, "; "), 1<<10)
}

// rest is a manifest without what may change.
func rest(m *plugin.Manifest) plugin.Manifest {
	r := *m
	r.Version, r.DisplayName, r.Description, r.Requires, r.Services, r.Frontend, r.CustomMetadata = "", "", "", plugin.Requires{}, nil, nil, nil
	return r
}

// narrower refuses what asks an operator for more than before.
func narrower(was, is *project.Project) error {
	had := map[string][]string{}
	for _, a := range needs.Of(was, needs.Place{}) {
		had[a.Tool] = a.Needs
	}
	for _, a := range needs.Of(is, needs.Place{}) {
		for _, need := range a.Needs {
			if !slices.Contains(had[a.Tool], need) {
				return refuse("%s asks for more than before: %s", a.Tool, need)
			}
		}
	}
	return nil
}

// tools are the ids of those that differ, sorted: by their definitions, or by the files that
// carry them out.
func tools(was, is *project.Project, changed map[string]bool) (ids []string, err error) {
	for _, id := range union(was.ToolIDs(), is.ToolIDs()) {
		before, _ := was.Tool(id)
		after, _ := is.Tool(id)
		if before == nil || after == nil {
			ids = append(ids, id)
			continue
		}
		if before.Definition.Cost != after.Definition.Cost {
			return nil, refuse("a call of %s costs something else, which budgets would not know", id)
		}
		if !changed[after.Plugin] {
			continue
		}
		if after.Service != "" || !reflect.DeepEqual(before.Definition, after.Definition) || !reflect.DeepEqual(before.Definition.Files(), after.Definition.Files()) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if t, _ := is.Tool(id); t != nil && t.Definition.Cost > 0 {
			if before, _ := was.Tool(id); before == nil {
				return nil, refuse("the tool %s is new and costs something, which budgets would not know", id)
			}
		}
	}
	return ids, nil
}

func union(a, b []string) []string {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}
