package tooling

import (
	"cmp"
	"path"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools"
	"tavernsim/tools/rpc"
)

// service is what carries out a tool of the type service: a program of the project, or a
// function that the program registered; nil = there is none.
func (s *Set) service(t *project.Tool) (tools.Executor, error) {
	if t.Service == "" {
		return s.opt.Services[t.Definition.Implementation.Name], nil // nil is no executor
	}
	if s.opt.Sandbox == nil && s.mode() == Live {
		return nil, protocol.Errorf(protocol.KindNotFound, "the service %s of the tool %s is a program, and this program has no sandbox for it (runner.Options.Sandbox); run with --tools mock", t.Service, t.Definition.ID)
	}
	return s.services().Of(t.Service), nil
}

// services is the executor of all services of the project, made once. It starts none.
func (s *Set) services() *rpc.Executor {
	if s.rpc == nil {
		s.rpc = s.newServices()
	}
	return s.rpc
}

func (s *Set) newServices() *rpc.Executor {
	var list []rpc.Service
	for _, name := range protocol.SortedKeys(s.opt.Project.Services()) {
		x := s.opt.Project.Services()[name]
		list = append(list, rpc.Service{Name: name, Words: x.Script.Words(), Files: x.Script.Files(), Servers: x.Script.Servers(), Config: s.told(x.Plugin), Concurrency: x.AtOnce})
	}
	return rpc.New(list, rpc.Options{Sandbox: s.opt.Sandbox, Mask: s.maskSaid, Failed: s.serviceFailed, Resolve: s.resolve, Group: &s.children})
}

// resolve finds the service that another one calls: of its own plugin, or of one among the
// plugin's dependencies as PLUGIN/NAME. Services of the project may call all. What asks
// for something needs its grant.
func (s *Set) resolve(from, name string) (string, error) {
	caller, to := s.opt.Project.Services()[from].Plugin, name
	if all := s.opt.Project.Services(); caller != "" && all[path.Join(caller, name)] != nil {
		to = path.Join(caller, name)
	}
	x := s.opt.Project.Services()[to]
	if x == nil {
		return "", protocol.Errorf(protocol.KindNotFound, "there is no service %s; one of another plugin is called PLUGIN/NAME", protocol.Short(name, 200))
	}
	if caller != "" && x.Plugin != caller {
		if _, needs := s.opt.Project.Plugins()[caller].Manifest.Dependencies[x.Plugin]; !needs || x.Plugin == "" {
			return "", protocol.Errorf(protocol.KindDenied, "the plugin %s may not call the service %s: it calls its own, and those of plugins in its dependencies", caller, to)
		}
	}
	// Services of the first edition may go on; the grants of the newest one count.
	return to, cmp.Or(s.now().own.RefusedService(to), s.now().own.Refused(needs.OfPlugin(caller)))
}

// told are the values of the options of a plugin that its services are told: no secrets.
func (s *Set) told(name string) map[string]any {
	values := map[string]any{}
	all, err := Config(s.opt.Project, s.opt.SceneConfig, s.opt.Given)
	if err != nil || all[name] == nil {
		return values // it is the project's own; New has said what is wrong
	}
	m := s.opt.Project.Plugins()[name].Manifest
	for option, v := range all[name] {
		if o := m.Option(option); o != nil && !o.Secret {
			values[option] = v.Value
		}
	}
	return values
}

// maskSaid takes secrets out of what a service wrote for people.
func (s *Set) maskSaid(text string) string { return s.held().Store().Shown(text) }
