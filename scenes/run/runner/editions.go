package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/shelf"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/editions"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/own"
)

// edition lets the scenes of the run go on with the tools that plugins have now, if they have others. Each
// scene decides for itself, between two waves; the error names those that do not.
func (r *Runner) edition(now *granted.Reread, opt *Options) (changed []string, err error) {
	facts, plugins, err := editions.Each(r.projects(), now.Project)
	if len(facts) == 0 {
		return nil, err
	}
	e, failed := r.Manifest.AddEdition(r.Dir, now.Project, plugins)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	known := false // to a scene, whose facts may name it
	for _, s := range r.Scenes {
		f := facts[s.ID]
		if f == nil {
			continue
		}
		f.Edition = e.Number
		told, bad := r.reload(s, now, f, opt)
		if known = known || told; bad != nil {
			err = errors.Join(err, editions.OfScene(s.ID, bad))
			continue
		}
		changed = append(changed, fmt.Sprintf("the scene %s goes on with %s (edition %d): %s", s.ID, strings.Join(f.Plugins, ", "), f.Edition, cmp.Or(strings.Join(f.Tools, ", "), "no tool is defined otherwise")))
	}
	if !known {
		err = errors.Join(err, r.Manifest.DropEdition(r.Dir))
	}
	return changed, err
}

// projects are those of the scenes under way, by scene id.
func (r *Runner) projects() map[string]*project.Project {
	has := map[string]*project.Project{}
	for _, s := range r.Scenes {
		if !s.Run.Stopped() {
			has[s.ID] = s.project.Load()
		}
	}
	return has
}

// reloading bounds how long a scene is waited for.
const reloading = 30 * time.Second

// reload tells a scene of an edition. told = it may be one of its facts, now or later.
func (r *Runner) reload(s *Scene, now *granted.Reread, f *agenda.PluginsChanged, opt *Options) (told bool, err error) {
	switch {
	case s.tools == nil:
		return false, protocol.Errorf(protocol.KindConflict, "it began without tools")
	case s.reloads.Load():
		return false, protocol.Errorf(protocol.KindConflict, "it has not decided about the reload before this one; try again")
	}
	next, err := s.tools.Next(now.Project, rundir.EditionDir(r.Dir, f.Edition), now.Files)
	if err != nil {
		return false, err
	}
	made := s.Run.Made()
	if err := r.Manifest.Compile(f.Edition, f.Project, now.Project, made, opt.Middleware, opt.External); err != nil {
		return false, err
	}
	type decision struct {
		told bool
		err  error
	}
	decided, late := make(chan decision), make(chan struct{})
	s.reloads.Store(true)
	if !r.host.later(r, func() { // as long as the scene runs: it may decide late
		got, err := s.Run.Reload(context.Background(), fmt.Sprintf("plugins/%d/%d", f.Edition, time.Now().UnixMilli()), f)
		switch {
		case err == nil && got.Refused != "":
			shelf.Of(made).Drop(f.Edition)
			err = errors.New(got.Refused)
		case err == nil:
			s.tools.Go(next)
			s.project.Store(now.Project)
		}
		s.reloads.Store(false)
		select {
		case decided <- decision{got.Refused == "", err}:
		case <-late:
			if err == nil {
				err = r.granted.Took(s.tools)
			}
			if err != nil {
				r.log.Warn("the edition that the scene was late to decide about", "scene", s.ID, "err", err)
			}
		}
	}) {
		return false, protocol.Errorf(protocol.KindConflict, "it has stopped")
	}
	select {
	case d := <-decided:
		return d.told, d.err
	case <-time.After(r.patience):
		close(late)
		return true, protocol.Errorf(protocol.KindTransient, "it has not decided within %s; it does between two waves, and goes on with what it decides", r.patience)
	}
}

// resumed gives a scene that goes on the tools of the edition that it has, which it returns.
func (r *Runner) resumed(hands *tooling.Set, journal *persistence.Journal, f own.Files) (*project.Project, error) {
	if len(r.Manifest.Editions) == 0 || hands == nil {
		return r.Project, nil
	}
	last, err := history.Edition(journal, machines.NewCodec())
	if err != nil || last == nil {
		return r.Project, err
	}
	i := slices.IndexFunc(r.Manifest.Editions, func(e rundir.Edition) bool { return e.Number == last.Edition })
	if i < 0 {
		return nil, protocol.Errorf(protocol.KindCorrupt, "the manifest has no edition %d of the plugins", last.Edition)
	}
	p, err := r.Manifest.Edition(r.Dir, &r.Manifest.Editions[i])
	if err != nil {
		return nil, err
	}
	next, err := hands.Next(p, rundir.EditionDir(r.Dir, last.Edition), f)
	if err == nil {
		hands.Go(next)
	}
	return p, err
}
