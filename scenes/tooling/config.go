package tooling

import (
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools"
	"tavernsim/tools/plugin"
)

// Config is what the options of the plugins of a project have in a scene, by plugin. scene
// are those that the scene gives; nil = none.
func Config(p *project.Project, scene map[string]map[string]any, given plugin.Given) (map[string]plugin.Config, error) {
	all := map[string]plugin.Config{}
	for _, name := range protocol.SortedKeys(p.Plugins()) {
		x := p.Plugins()[name]
		if x.Broken() {
			continue
		}
		layers := append([]plugin.Layer{{Name: plugin.FromProject, Values: x.Use.Config}, {Name: plugin.FromScene, Values: scene[name]}}, given.Of(name)...)
		config, err := x.Manifest.Resolve(layers...)
		if err != nil {
			return nil, err
		}
		all[name] = config
	}
	return all, nil
}

// Manifests are those of the plugins of a project that are on, by name.
func Manifests(p *project.Project) map[string]*plugin.Manifest {
	all := map[string]*plugin.Manifest{}
	for name, x := range p.Plugins() {
		if !x.Broken() {
			all[name] = x.Manifest
		}
	}
	return all
}

// configure finds the values of options, and lets the set take those that are secret out of
// what tools answer.
func (s *Set) configure() error {
	all, err := Config(s.opt.Project, s.opt.SceneConfig, s.opt.Given)
	if err != nil {
		return err
	}
	secret := map[string]string{}
	s.config = map[string]map[string]string{}
	for name, config := range all {
		s.config[name] = config.Texts()
		for _, option := range s.opt.Project.Plugins()[name].Manifest.Secrets() {
			if text := s.config[name][option]; text != "" {
				secret[plugin.Extensions+name+"."+option] = text
			}
		}
	}
	if before := s.opt.before; before != nil {
		s.own, err = before.own.Follow(s.opt.Project, own.Files{Grants: s.opt.Grants, Secrets: s.opt.Secrets}, secret)
		return err
	}
	s.own, err = own.New(s.opt.Project, s.opt.Place, s.opt.Scene, own.Files{Grants: s.opt.Grants, Secrets: s.opt.Secrets}, secret)
	return err
}

// configured is a tool with the options of its plugin in their places.
func (s *Set) configured(t *project.Tool) *project.Tool {
	var secret []string
	if x := s.opt.Project.Plugins()[t.Plugin]; x != nil && !x.Broken() {
		secret = x.Manifest.Secrets()
	}
	made := t.Definition.Configured(s.config[t.Plugin], secret)
	if made == t.Definition {
		return t
	}
	own := *t
	own.Definition = made
	return &own
}

// variables are the options of the plugin of an MCP server, as its program finds them in
// its environment.
func (s *Set) variables(server string) (env []string) {
	name := s.opt.Project.Servers()[server].Plugin
	for _, option := range protocol.SortedKeys(s.config[name]) {
		env = append(env, tools.ConfigVariable(option)+"="+s.config[name][option])
	}
	return env
}
