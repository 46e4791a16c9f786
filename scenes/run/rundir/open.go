package rundir

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus/delivery"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/run/rundir/parts"
)

// Opened is an open run directory whose scenes do not run: as it was at the moment of
// Open, or locked for writing.
type Opened struct {
	Dir      string
	Manifest *Manifest
	Project  *project.Project
	Store    *persistence.Store

	// Middleware of the run's host, for decisions that are made again.
	Middleware delivery.Chain
	External   []agent.External // its tools
}

// Open opens a run directory for reading. It takes no lock, so another process may run
// the scenes at the same time. You must call Close.
func Open(dir string) (*Opened, error) {
	return open(dir, func(*Manifest) persistence.Options { return persistence.Options{ReadOnly: true} })
}

// OpenForWriting opens a run directory that no process runs, to append to its journals
// at the durability of its start. You must call Close.
func OpenForWriting(dir string) (*Opened, error) {
	return open(dir, func(m *Manifest) persistence.Options { return persistence.Options{Durability: m.Durability} })
}

func open(dir string, options func(*Manifest) persistence.Options) (*Opened, error) {
	m, p, err := Read(dir)
	if err != nil {
		return nil, err
	}
	store, err := OpenStore(dir, options(m))
	if err != nil {
		return nil, err
	}
	return &Opened{Dir: dir, Manifest: m, Project: p, Store: store}, nil
}

// OpenStore opens the journals of a run directory, with the same size of tables and
// the same rule for traces for every caller. You must call Close.
func OpenStore(dir string, opt persistence.Options) (*persistence.Store, error) {
	opt.Traces = history.Traces()
	if !opt.ReadOnly {
		opt.MemTableSize = memTableSize
		if err := parts.NoLinks(dir); err != nil {
			return nil, err
		}
	}
	return persistence.Open(filepath.Join(dir, JournalDir), opt)
}

// memTableSize is a quarter of the store's default: facts come compressed, and
// memory that agents could use is worth more here.
const memTableSize = 16 << 20

// Load reads a project folder. The options need no name or node kinds, and of tools
// only the names of external ones.
func Load(dir string, opt project.Options) (*project.Project, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "project %s: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, protocol.Errorf(protocol.KindInvalid, "project %s: it is a file; name the folder that holds project.json", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "project %s: %w", dir, err)
	}
	defer root.Close()
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	opt.Name = cmp.Or(opt.Name, filepath.Base(abs))
	return LoadFS(root.FS(), opt)
}

// LoadFS reads a project from a file system.
func LoadFS(fsys fs.FS, opt project.Options) (*project.Project, error) {
	opt.Tools, opt.Kinds = append(agent.ProfileTools(), opt.Tools...), setup.NodeKinds()
	return project.Load(fsys, opt)
}

// loading says how the files of a run are read.
func (m *Manifest) loading() project.Options {
	return project.Options{Name: m.Project, Stops: true, Tools: m.External, Broken: m.Broken, Begun: true}
}

// Read reads the manifest and the inputs of a run, and compares the inputs with the
// manifest.
func Read(dir string) (*Manifest, *project.Project, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, nil, err
	}
	p, err := Load(filepath.Join(dir, parts.Inputs), m.loading())
	if err != nil {
		return nil, nil, err
	}
	if p.Hash() != m.ProjectHash {
		return nil, nil, protocol.Errorf(protocol.KindConflict, "run %s: its inputs were changed after the start (%s, the manifest says %s)", dir, short(p.Hash()), short(m.ProjectHash))
	}
	return m, p, nil
}

// RunsBeside reports whether another process runs the scenes of a run directory. It
// takes no lock; false if dir is no run directory.
func RunsBeside(dir string) bool {
	return persistence.IsWrittenBeside(filepath.Join(dir, JournalDir))
}

// Close closes the directory and releases its lock.
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

// Scene opens the journal of a scene and compiles the scene.
func (o *Opened) Scene(id string) (*setup.Scene, *persistence.Journal, error) {
	made, err := o.Made(id)
	if err != nil {
		return nil, nil, err
	}
	journal, err := o.Journal(id)
	return made, journal, err
}

// Journal opens the journal of a scene.
func (o *Opened) Journal(id string) (*persistence.Journal, error) {
	journal, err := o.Store.Journal(id)
	return journal, lost(o.Dir, id, err)
}

// Made compiles a scene of the run.
func (o *Opened) Made(id string) (*setup.Scene, error) {
	made, err := o.Manifest.Made(o.Project, id, o.Middleware, o.External)
	if err != nil {
		return nil, err
	}
	return made, o.Manifest.AddEditions(o.Dir, made, o.Middleware, o.External)
}

// Numbered reports whether ids of events are numbers: see docs/decisions/0158.
func (m *Manifest) Numbered() bool { return m.Version < 2 }

// Made compiles a scene with the settings of the manifest.
func (m *Manifest) Made(p *project.Project, id string, middleware delivery.Chain, external []agent.External) (*setup.Scene, error) {
	def, err := p.Scene(id)
	if err != nil {
		return nil, err
	}
	return setup.New(p, def, setup.Options{
		Run: cmp.Or(m.Began, m.Run), Seed: m.Seeds[id], Clock: m.Clocks[id], Agents: m.Agents, ProjectHash: m.ProjectHash, For: m.For.Std(), Ticks: m.Ticks, Until: m.Until, Middleware: middleware, External: external,
		Budget: m.Budget.Share(len(m.Scenes)), Raised: m.Raised, Model: m.Model, Interactive: m.Interactive, Endpoints: budget.Shares(m.AtEndpoints, cmp.Or(m.Sharers, len(m.Scenes))),
		Numbered: m.Numbered(), Before3: m.Version < 3, Tools: m.Tools,
	})
}

func short(hash string) string { return hash[:min(12, len(hash))] }
