package operator

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"tavernsim/engine/permit"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/recorded"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/artifact"
	"tavernsim/tools/audit"
	"tavernsim/tools/mount"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/plugin"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/shell/folders"
)

// Tools are those of a project, for calls outside of a run.
type Tools struct {
	Folder  string // of the project
	Project *project.Project
	By      string // who calls: cli, mcp
	Mode    tooling.Mode
	Again   string // directory of the run that has the answers of the mode replay
	// Policy judges the calls, by Profile; nil allows them.
	Policy  *permit.Judge
	Profile string
	Grants  string // file; "" = where it is looked for without a name
	Secrets string // file; "" = there are none
	Config  plugin.Sources
	Files   bool   // the caller has files of an agent, in the folder Agent
	Agent   string // "" = an empty one, deleted by Close
	// Refers may be called with references to files of the project, which are copied then.
	Refers    bool
	Artifacts string // folder; "" = none are kept
	Audit     string // file; "" = where it lies without a name, audit.Off = none is kept
	Warn      func(text string)
	Watch     *tooling.Watch // counts the calls; nil = nobody does
}

// Set are tools that are ready.
type Set struct {
	*tooling.Set
	dir    string // of the project
	opt    tooling.Options
	grants regrant
	own    *folders.Private // temporary
	log    *audit.Log
	by     audit.Entry // what is the same in all entries
}

// Refers reports whether a text may have references to files of the project or of its plugins.
func Refers(text string) bool {
	return strings.Contains(text, mount.Scheme+mount.Project) || strings.Contains(text, mount.Scheme+mount.OfPlugin)
}

// Open makes the tools ready.
func (t *Tools) Open() (*Set, error) {
	s := &Set{dir: t.Folder, opt: tooling.Options{
		Project: t.Project, Mode: t.Mode, Run: t.By + " " + rand.Text(), Sandbox: sandbox.New(sandbox.Options{}), Policy: t.Policy, Profile: t.Profile, Watch: t.Watch, Warn: t.Warn,
	}}
	s.opt.Audit = s.around
	err := t.open(s)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (t *Tools) open(s *Set) (err error) {
	own := Of(t.Folder)
	if s.opt.Place.Folder, err = ownfile.Folder(t.Folder); err != nil {
		return err
	}
	s.grants.of, s.grants.given = own, t.Grants
	s.grants.look()
	if s.opt.Grants, err = own.Grants(t.Grants); err != nil {
		return err
	}
	s.grants.store = s.opt.Grants
	if s.opt.Secrets, err = own.Secrets(t.Secrets); err != nil {
		return err
	}
	sources, err := own.Config(t.Config)
	if err != nil {
		return err
	}
	if s.opt.Given, err = sources.Read(tooling.Manifests(t.Project)); err != nil {
		return err
	}
	if err = t.mounts(s); err != nil {
		return err
	}
	if t.Artifacts != "" {
		s.opt.Artifacts = artifact.New(t.Artifacts, artifact.DefaultLimits())
	}
	if t.Mode == tooling.Replay {
		a, err := recorded.Read(context.Background(), t.Again)
		if err != nil {
			return err
		}
		s.opt.Recorded, s.opt.RecordedArtifacts = a.Given(), artifacts.Of(t.Again)
	}
	if err := t.audit(s); err != nil {
		return err
	}
	if s.Set, err = tooling.ForTries(s.opt); err == nil && t.Mode == tooling.Live {
		err = s.Set.Clean()
	}
	return err
}

// mounts makes the folders that references lead into.
func (t *Tools) mounts(s *Set) (err error) {
	uid, _ := sandbox.HostIDs()
	folders.RemoveLeft(os.Geteuid(), uid)
	if s.own, err = folders.NewPrivate(folders.ForCall); err != nil {
		return err
	}
	if t.Files {
		s.opt.Mounts.Agent = filepath.Join(s.own.Path, "agent")
	}
	if t.Agent != "" {
		if s.opt.Mounts.Agent, err = filepath.Abs(t.Agent); err != nil {
			return err
		}
	}
	if !t.Refers {
		return nil
	}
	s.opt.Mounts.Project = filepath.Join(s.own.Path, "project")
	return t.Project.CopyTo(s.opt.Mounts.Project)
}

// Close ends what runs, and deletes what was copied.
func (s *Set) Close() {
	if s.Set != nil {
		_ = s.Set.Close() // it has nothing to say
	}
	_ = s.own.Remove()
}
