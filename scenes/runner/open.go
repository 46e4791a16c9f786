package runner

import (
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/engine/bus/verdict"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/project"
	"tavernsim/scenes/setup"
	"tavernsim/scenes/traces"
)

// Opened is a run directory that is looked at, not run. The directory is locked
// meanwhile.
type Opened struct {
	Dir      string
	Manifest *Manifest
	Project  *project.Project
	Store    *persistence.Store

	// Middleware of the run's host, for who decides something again.
	Middleware verdict.Chain
}

// OpenRun opens a run directory for reading. You owe Close.
func OpenRun(dir string) (*Opened, error) {
	return openRun(dir, func(*Manifest) persistence.Options { return persistence.Options{ReadOnly: true} })
}

// OpenRunForWriting opens one that nobody runs, to add to its journals at the
// durability that it was started with. You owe Close.
func OpenRunForWriting(dir string) (*Opened, error) {
	return openRun(dir, func(m *Manifest) persistence.Options { return persistence.Options{Durability: m.Durability} })
}

func openRun(dir string, options func(*Manifest) persistence.Options) (*Opened, error) {
	m, p, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	opt := options(m)
	opt.Traces = traces.Rule()
	store, err := persistence.Open(filepath.Join(dir, JournalDir), opt)
	if err != nil {
		return nil, err
	}
	return &Opened{Dir: dir, Manifest: m, Project: p, Store: store}, nil
}

// readRun reads what a run is made of and holds the inputs to the manifest.
func readRun(dir string) (*Manifest, *project.Project, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, nil, err
	}
	p, err := Load(filepath.Join(dir, inputsDir), true)
	if err != nil {
		return nil, nil, err
	}
	if p.Hash() != m.ProjectHash {
		return nil, nil, protocol.Errorf(protocol.KindConflict, "run %s: its inputs were changed after the start (%s, the manifest says %s)", dir, short(p.Hash()), short(m.ProjectHash))
	}
	return m, p, nil
}

// Close gives the directory back.
func (o *Opened) Close() error { return o.Store.Close() }

// Scenes are the ids of the run's scenes, or the one that is named.
func (o *Opened) Scenes(only string) ([]string, error) {
	if only == "" {
		return o.Manifest.Scenes, nil
	}
	if !slices.Contains(o.Manifest.Scenes, only) {
		return nil, protocol.Errorf(protocol.KindNotFound, "run %s has no scene %q; it has %s", o.Dir, only, strings.Join(o.Manifest.Scenes, ", "))
	}
	return []string{only}, nil
}

// Scene opens the journal of a scene, and makes what it is of.
func (o *Opened) Scene(id string) (*setup.Scene, *persistence.Journal, error) {
	made, err := o.Made(id)
	if err != nil {
		return nil, nil, err
	}
	journal, err := o.Store.Journal(id)
	return made, journal, err
}

// Made is what a scene of the run is made of.
func (o *Opened) Made(id string) (*setup.Scene, error) {
	return o.Manifest.made(o.Project, id, o.Middleware)
}

// made makes a scene as the manifest says.
func (m *Manifest) made(p *project.Project, id string, middleware verdict.Chain) (*setup.Scene, error) {
	def, err := p.Scene(id)
	if err != nil {
		return nil, err
	}
	return setup.New(p, def, setup.Options{
		Seed: m.Seeds[id], Clock: m.Clocks[id], Agents: m.Agents, ProjectHash: m.ProjectHash, Until: m.Until, Middleware: middleware,
	})
}
