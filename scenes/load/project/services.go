package project

import (
	"path"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// Service is a program that stays and answers calls of tools.
type Service struct {
	Name   string         // of a plugin's: PLUGIN/NAME
	File   string         // that declares it
	Plugin string         // "" = it is the project's own
	Script *manifest.Tool // its command, with its files
	AtOnce int            // requests that it works on at once; 0 = one
}

// Services are the programs of the project that stay, by name.
func (p *Project) Services() map[string]*Service { return p.services }

// loadServices reads those of the project itself, and takes those of plugins over.
func (l *loader) loadServices() {
	for _, file := range l.tree.definitions(servicesDir) {
		if strings.Count(l.tree.place(file), "/") == 1 {
			l.loadService(file)
		}
	}
	for _, name := range protocol.SortedKeys(l.project.plugins) {
		p := l.project.plugins[name]
		if p.Broken() {
			continue
		}
		for _, own := range protocol.SortedKeys(p.Manifest.Services) {
			if s := p.Manifest.Services[own]; s != nil {
				full := path.Join(name, own)
				l.project.services[full] = &Service{Name: full, File: p.File, Plugin: name, Script: s.Script(), AtOnce: s.Concurrency}
			}
		}
	}
}

func (l *loader) loadService(file string) {
	doc := l.tree.parse(file)
	if doc == nil {
		return
	}
	d := &manifest.Resident{}
	l.decoder.Decode(doc, d)
	for _, f := range d.Check() {
		l.fault(doc, f.Steps, f.Suggestion, "%s", f.Message)
	}
	l.scriptFiles(doc, d.Script())
	if l.claim("service", d.ID, doc, at("id")) {
		l.project.services[d.ID] = &Service{Name: d.ID, File: file, Script: d.Script(), AtOnce: d.Concurrency}
	}
}

// serviceOf finds the program of a tool of the type service: one of its plugin, else one of
// the project. nil = a function of the program that embeds simd.
func (l *loader) serviceOf(doc *source.Document, d *manifest.Tool) *Service {
	name := d.Implementation.Name
	s := l.project.services[path.Join(pluginOf(doc.File), name)]
	if s == nil {
		s = l.project.services[name]
	}
	if s == nil {
		if meant := source.Suggest(path.Join(pluginOf(doc.File), name), protocol.SortedKeys(l.project.services)); meant != "" {
			l.warn(doc, at("implementation", "name"), meant, "there is no service %q here; only a program that embeds simd can have it", protocol.Short(name, 80))
		}
	}
	if s != nil && len(d.Needs) > 0 {
		l.fault(doc, at("needs"), "remove it", "the service %s runs in the sandbox: it has no secrets, and what servers it needs is written with the service", s.Name)
	}
	return s
}
