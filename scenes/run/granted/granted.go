// Package granted holds the grants and secrets of one run from the operator's files. The
// manifest of the run lists them, and a reload reads the files again.
//
// [Run.Begin] records the state at the start of the run, and [Run.Reload] reads the files again.
//
// # Promises
//
//  1. Files with a fault change nothing in any scene of the run.
//  2. The definitions that decide a run stay as they began: a reload names differences, and does not
//     take them.
//  3. The manifest says which grants tools had, and since when, in the order in which they took effect.
//
// # Not here
//
// Denials of calls (scenes/tooling); the places of the files (scenes/run/operator).
package granted

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools/grants"
	"tavernsim/tools/plugin"
	"tavernsim/tools/secrets"
)

// Reread are the files of the operator, and the project, as they are now.
type Reread struct {
	own.Files
	// Project is what the folder of the project has; nil = it cannot be read, and Fault says why.
	Project *project.Project
	Fault   error
}

// Run is one run. Its fields do not change once it has begun.
type Run struct {
	Project *project.Project // with which the run began
	// Has are the projects of the scenes under way, by scene id: that with which the run began, or an edition; nil =
	// there are no scenes yet.
	Has    func() map[string]*project.Project
	Place  needs.Place // whose grants count
	Folder string      // of the project, as commands name it
	Live   bool        // tools are carried out; else nothing must be granted
	Config plugin.Sources
	Again  func() (*Reread, error) // reads the files again; nil = nobody can
	// Edition lets the scenes that have another project go on with the tools of other files of plugins, and
	// lists what is new; an error says why it does not.
	Edition func(now *Reread) (changed []string, err error)
	Log     *slog.Logger

	dir      string
	manifest *rundir.Manifest

	mu      sync.Mutex // guards the following fields, and the grants of the manifest
	now     own.Files
	said    plugin.Given // about options of plugins, when the process began
	plugins atomic.Pointer[map[string]int]
}

// has are the projects of the scenes under way, and before there are scenes that with which the run began.
func (r *Run) has() []*project.Project {
	if r.Has == nil {
		return []*project.Project{r.Project}
	}
	return slices.Collect(maps.Values(r.Has()))
}

// project is the one whose tools count: that of all scenes. While they have several, it is that with which the run
// began, as no edition asks for more.
func (r *Run) project() *project.Project {
	has := r.has()
	if len(has) == 0 || slices.ContainsFunc(has, func(p *project.Project) bool { return p.Hash() != has[0].Hash() }) {
		return r.Project
	}
	return has[0]
}

// Of is what the tools of a project have; nil = none asks for anything, or none is carried out.
func (r *Run) Of(g *grants.Store) *rundir.Grants {
	p := r.project()
	if !r.Live || len(needs.Of(p, r.Place)) == 0 {
		return nil
	}
	return &rundir.Grants{At: time.Now().UTC().Truncate(time.Millisecond), Tools: needs.Granted(p, r.Place, g)}
}

// Begin takes the files with which a process goes on with a run. It says which tools are
// denied, and what to type.
func (r *Run) Begin(dir string, m *rundir.Manifest, f own.Files) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dir, r.manifest = dir, m
	if r.said, err = r.Config.Read(tooling.Manifests(r.Project)); err != nil {
		return err
	}
	if r.Live {
		for _, err := range needs.Refused(r.Project, r.Place, f.Grants) {
			r.Log.Warn("calls are denied: " + f.Grants.Remedy(err.Error(), r.Folder))
		}
	}
	changed, err := r.take(f)
	for _, line := range changed {
		r.Log.Warn("the run goes on with other grants: " + line)
	}
	return err
}

// Files are those that count.
func (r *Run) Files() own.Files {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// Plugins counts those of the run by what became of them.
func (r *Run) Plugins() map[string]int {
	if n := r.plugins.Load(); n != nil {
		return *n
	}
	return nil
}

// take notes in the manifest what differs from the newest grants there, and lists it.
func (r *Run) take(f own.Files) (changed []string, err error) {
	r.now = f
	n := needs.States(r.project(), r.Place, f.Grants, r.Live)
	r.plugins.Store(&n)
	is := r.Of(f.Grants)
	if is == nil {
		return nil, nil
	}
	was := map[string][]string{}
	if n := len(r.manifest.Grants); n > 0 {
		was = r.manifest.Grants[n-1].Tools
	}
	if reflect.DeepEqual(was, is.Tools) {
		return nil, nil
	}
	changed = needs.Changes(was, is.Tools)
	return changed, r.manifest.AddGrants(r.dir, *is)
}

// Reload reads the files again. Grants and secrets count in every scene for calls that begin
// from then on, and changed says how they differ, a line each. The error names what the run
// does not take anew; without changed it may be that nothing was taken, which it says.
func (r *Run) Reload(sets []*tooling.Set) (changed []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Again == nil {
		return nil, protocol.Errorf(protocol.KindConflict, "reload: this program reads no file of an operator again (runner.Options.Reread)")
	}
	now, err := r.Again()
	if err != nil {
		return nil, protocol.Errorf(protocol.KindOf(err), "reload: nothing has changed: %w", err)
	}
	var takes []func() error
	for _, s := range sets {
		take, err := s.Renewed(now.Files)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindConflict, "reload: nothing has changed: %w", err)
		}
		takes = append(takes, take)
	}
	for _, take := range takes {
		if err := take(); err != nil {
			return nil, protocol.Errorf(protocol.KindOf(err), "reload: %w", err)
		}
	}
	list := secrets.Changes(r.now.Secrets, now.Secrets)
	if changed, err = r.take(now.Files); err == nil {
		var more []string
		more, err = r.stays(now)
		list = append(list, more...)
	}
	changed = append(changed, list...)
	for _, line := range changed {
		r.Log.Warn("read again: " + line)
	}
	return changed, err
}

// Took notes that a scene has gone on with an edition after Reload had given up waiting for it: the files that count now
// count for its tools, too.
func (r *Run) Took(s *tooling.Set) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	take, err := s.Renewed(r.now)
	if err == nil {
		err = take()
	}
	if err == nil {
		_, err = r.take(r.now)
	}
	return err
}

// stays names what differs and is not taken anew: what a run is decided by. Tools of plugins are
// taken, if the scenes can go on with them.
func (r *Run) stays(now *Reread) (changed []string, err error) {
	if now.Fault != nil {
		return nil, protocol.Errorf(protocol.KindConflict, "the folder of the project cannot be read, and the run keeps the files that it began with: %w", now.Fault)
	}
	var list []string
	for _, p := range r.has() {
		list = append(list, differences(p, now.Project)...)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if said, err := r.Config.Read(tooling.Manifests(r.Project)); err != nil || !reflect.DeepEqual(said, r.said) {
		list = append(list, valuesOfOptions)
	}
	switch {
	case len(list) == 0:
		return nil, nil
	case r.Edition != nil && list[len(list)-1] != valuesOfOptions:
		if changed, err = r.Edition(now); err == nil {
			_, err = r.take(r.now) // what asks for something may be another one
			return changed, err
		}
	}
	why := ""
	if err != nil {
		why = " (" + err.Error() + ")"
	}
	return changed, protocol.Errorf(protocol.KindConflict, "the run keeps what it began with, and does not read again: %s. Interrupt it, and start another one with them%s", protocol.Short(strings.Join(list, ", "), 2<<10), why)
}

const valuesOfOptions = "values of options of plugins"

// differences lists how the files of a project differ, in no order.
func differences(was, is *project.Project) (list []string) {
	before := map[string]string{}
	for _, f := range was.Files() {
		before[f.Path] = f.SHA256
	}
	for _, f := range is.Files() {
		switch hash, there := before[f.Path]; {
		case !there:
			list = append(list, f.Path+" (new)")
		case hash != f.SHA256:
			list = append(list, f.Path)
		}
		delete(before, f.Path)
	}
	for path := range before {
		list = append(list, path+" (gone)")
	}
	return list
}
