package rundir

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/load/shelf"
	"tavernsim/scenes/run/rundir/parts"
)

// Edition is what a reload of plugins made of the project of a run: a copy of its own, beside that
// with which the run began.
type Edition struct {
	Number      uint64    `json:"number"` // from 2
	At          time.Time `json:"at"`
	ProjectHash string    `json:"project_hash"`
	Named       string    `json:"named,omitempty"` // the hash in its fact; "" = ProjectHash: no fork changed the model since
	Plugins     []string  `json:"plugins"`         // that changed, with their versions
}

// MaxEditions bounds those of a run.
const MaxEditions = 100

// EditionDir is the copy of an edition of the project in a run directory.
func EditionDir(dir string, number uint64) string {
	if number <= 1 {
		return Inputs(dir)
	}
	return filepath.Join(dir, parts.Editions, strconv.FormatUint(number, 10))
}

// name is the hash by which facts know an edition.
func (e *Edition) name() string { return cmp.Or(e.Named, e.ProjectHash) }

// AddEdition keeps another edition of the project in a run's directory.
func (m *Manifest) AddEdition(dir string, p *project.Project, plugins []string) (*Edition, error) {
	if len(m.Editions) >= MaxEditions {
		return nil, protocol.Errorf(protocol.KindLimit, "plugins of this run were read again %d times, which is the limit", len(m.Editions))
	}
	e := Edition{Number: 2, At: time.Now().UTC().Truncate(time.Millisecond), ProjectHash: p.Hash(), Plugins: plugins}
	if n := len(m.Editions); n > 0 {
		e.Number = m.Editions[n-1].Number + 1
	}
	to := EditionDir(dir, e.Number)
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.RemoveAll(to)); err != nil { // what a kill left
		return nil, err
	}
	if err := p.CopyTo(to); err != nil {
		return nil, err
	}
	m.Editions = append(m.Editions, e)
	return &e, writeManifest(dir, m)
}

// DropEdition removes the newest edition, which no scene took.
func (m *Manifest) DropEdition(dir string) error {
	last := m.Editions[len(m.Editions)-1]
	m.Editions = m.Editions[:len(m.Editions)-1]
	return errors.Join(writeManifest(dir, m), os.RemoveAll(EditionDir(dir, last.Number)))
}

// Edition reads an edition of the project of a run.
func (m *Manifest) Edition(dir string, e *Edition) (*project.Project, error) {
	p, err := Load(EditionDir(dir, e.Number), m.loading())
	if err == nil && p.Hash() != e.ProjectHash {
		err = protocol.Errorf(protocol.KindConflict, "run %s: the files of edition %d of its plugins were changed (%s, the manifest says %s)", dir, e.Number, short(p.Hash()), short(e.ProjectHash))
	}
	return p, err
}

// AddEditions compiles the editions of a scene of the run.
func (m *Manifest) AddEditions(dir string, made *setup.Scene, middleware delivery.Chain, external []agent.External) error {
	shelf.Of(made) // before others read
	for i := range m.Editions {
		p, err := m.Edition(dir, &m.Editions[i])
		if err != nil {
			return err
		}
		if err := m.Compile(m.Editions[i].Number, m.Editions[i].name(), p, made, middleware, external); err != nil {
			return err
		}
	}
	return nil
}

// carryEditions copies those of a run to another one's directory.
func carryEditions(from, to string, m *Manifest) error {
	if len(m.Editions) == 0 {
		return nil
	}
	return os.CopyFS(filepath.Join(to, parts.Editions), os.DirFS(filepath.Join(from, parts.Editions)))
}

// Compile compiles an edition of a scene, which facts know by its number and a hash.
func (m *Manifest) Compile(number uint64, hash string, p *project.Project, made *setup.Scene, middleware delivery.Chain, external []agent.External) error {
	of, err := m.Made(p, made.ID, middleware, external)
	if err == nil {
		err = made.Fits(of)
	}
	if err == nil {
		of.ProjectHash = hash
		shelf.Of(made).Add(number, of)
	}
	return err
}
