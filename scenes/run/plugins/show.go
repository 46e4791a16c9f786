package plugins

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
	"tavernsim/tools/plugin"
)

// Of finds a plugin that a project lists, and that is sound.
func Of(p *project.Project, name string) (*project.Plugin, error) {
	x := p.Plugins()[name]
	switch {
	case x == nil:
		return nil, protocol.Errorf(protocol.KindNotFound, "project.json lists no plugin %q; it lists %s", name, strings.Join(protocol.SortedKeys(p.Plugins()), ", "))
	case x.Broken():
		return nil, faultsOf(x)
	}
	return x, nil
}

// faultsOf is the error of a broken plugin.
func faultsOf(plugins ...*project.Plugin) error {
	all := &project.Error{}
	for _, x := range plugins {
		all.Faults = append(all.Faults, x.Faults...)
	}
	slices.SortFunc(all.Faults, func(a, b project.Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	all.Total = len(all.Faults)
	all.Faults = all.Faults[:min(len(all.Faults), source.MaxShown)]
	return all
}

// Broken is the error of the plugins of a project that are broken; nil = none is.
func Broken(p *project.Project) error {
	var list []*project.Plugin
	for _, name := range p.BrokenPlugins() {
		list = append(list, p.Plugins()[name])
	}
	if len(list) == 0 {
		return nil
	}
	return faultsOf(list...)
}

// Line is a plugin in the JSON of the list.
type Line struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	State       string   `json:"state"` // on, off, broken
	Grant       string   `json:"grant"` // none = it asks for nothing, new, granted, changed
	Tools       []string `json:"tools"`
	Needs       []string `json:"needs"`
	Faults      int      `json:"faults"`
	Description string   `json:"description"`
}

// List lists the plugins of the folder of a project, and of a folder of more.
func List(p *project.Project, at needs.Place, dir, more string, store *grants.Store) ([]Line, error) {
	all, err := Folders(dir, more)
	if err != nil {
		return nil, err
	}
	for name, x := range p.Plugins() {
		if all[name] == nil || !x.Broken() {
			all[name] = cmp.Or(x.Manifest, &plugin.Manifest{})
		}
	}
	asked, lines := Asked(p, at), []Line{}
	for _, name := range protocol.SortedKeys(all) {
		m := all[name]
		l := Line{Name: name, Version: m.Version, State: "off", Grant: "none", Tools: []string{}, Needs: []string{}, Description: m.Description}
		if x := p.Plugins()[name]; x != nil {
			l.State, l.Tools, l.Faults = "on", append(l.Tools, x.Tools...), len(x.Faults)
			if x.Broken() {
				l.State = "broken"
			}
		}
		if a, ok := asked[name]; ok {
			l.Grant, l.Needs = stateOf(store, &a), a.Needs
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// stateOf is that of a grant.
func stateOf(store *grants.Store, a *grants.Asked) string {
	switch {
	case store == nil || store.Of(a) == nil:
		return "new"
	case len(grants.Difference(store.Of(a), a)) > 0:
		return "changed"
	}
	return "granted"
}

// Asked is what the plugins of a project ask for, by name.
func Asked(p *project.Project, at needs.Place) map[string]grants.Asked {
	list := map[string]grants.Asked{}
	for _, a := range needs.Of(p, at) {
		if name, ok := strings.CutPrefix(a.Tool, needs.OfPlugin("")); ok {
			list[name] = a
		}
	}
	return list
}

// OptionLine is an option in the JSON of the command.
type OptionLine struct {
	Key      string   `json:"key"`
	Type     string   `json:"type"`
	Value    any      `json:"value"`  // null = it has none, or it is a secret
	Origin   string   `json:"origin"` // "" = it has none
	Hides    []string `json:"hides"`
	Secret   bool     `json:"secret"`
	Variable string   `json:"variable"` // of the environment
}

// Options are those of a plugin, in the order of its manifest.
func Options(x *project.Plugin, config plugin.Config) []OptionLine {
	lines := []OptionLine{}
	for i := range x.Manifest.ConfigOptions {
		o := &x.Manifest.ConfigOptions[i]
		l := OptionLine{Key: o.Key, Type: o.Type, Secret: o.Secret, Hides: []string{}, Variable: plugin.Variable(x.Manifest.Name, o.Name())}
		if v, ok := config[o.Name()]; ok {
			l.Origin, l.Hides = v.From, append(l.Hides, v.Hides...)
			if !o.Secret {
				l.Value = v.Value
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// Text is a line for people.
func (l *OptionLine) Text(origin bool) string {
	value := "(not set)"
	switch {
	case l.Origin != "" && l.Secret:
		value = "(a secret)"
	case l.Origin != "":
		value = fmt.Sprint(l.Value)
	}
	text := l.Key + " = " + value
	if origin && l.Origin != "" {
		text += "  (" + l.Origin
		if len(l.Hides) > 0 {
			text += "; in the place of " + strings.Join(l.Hides, ", ")
		}
		text += ")"
	}
	if origin && l.Origin == "" {
		text += "  (" + l.Variable + " would give it one)"
	}
	return text
}
