package runner

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/recorded"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/own"
	"tavernsim/scenes/tooling/progress"
	"tavernsim/tools/approvals"
	"tavernsim/tools/ownfile"
)

// checkTools refuses tools that the run could not carry out, before anything is written.
func (opt *Options) checkTools(p *project.Project) error {
	set, err := tooling.New(tooling.Options{Project: p, Place: opt.place, Mode: opt.Tools, Recorded: opt.recorded.Given(), Services: opt.Services, Sandbox: opt.Sandbox, Secrets: opt.Secrets, Grants: opt.Grants, Given: opt.given})
	if err != nil {
		return err
	}
	return set.Close()
}

// tools makes those of one scene. The run's name and beginning make the keys of its calls
// its own.
func (r *Runner) tools(opt Options, scene string, options map[string]map[string]any, counts *metrics.Scene, realtime bool) (*tooling.Set, error) {
	return tooling.New(tooling.Options{
		Project: r.Project, Place: opt.place, Scene: scene, Mode: opt.Tools, Run: r.name(), Services: opt.Services, Sandbox: opt.Sandbox, Secrets: opt.Secrets, Grants: opt.Grants, Artifacts: artifacts.Of(r.Dir), Watch: &tooling.Watch{Counts: counts.Set},
		Warn: func(text string) { r.log.Warn(text) }, Mounts: Mounts(r.Dir), Recorded: opt.recorded.Given(), RecordedArtifacts: recorded.Artifacts(r.Dir), Given: opt.given, SceneConfig: options, Realtime: realtime,
	})
}

// ToolReports are the calls of tools that are out and have said how far they are.
func (sc *Scene) ToolReports() []progress.Report { return sc.tools.Reports() }

// readRecorded reads the answers that tools give again; nil = they give none.
func (opt *Options) readRecorded() (a *recorded.Answers, err error) {
	if again := opt.Tools == tooling.Replay; again != (opt.ToolAnswers != "") {
		return nil, protocol.Errorf(protocol.KindInvalid, "tools %q, recorded answers %q: %s wants the run whose answers are given again (Options.ToolAnswers), and nothing else does", opt.Tools, opt.ToolAnswers, tooling.Replay)
	} else if again {
		a, err = recorded.Read(context.Background(), opt.ToolAnswers)
	}
	return a, err
}

// pictures reads those of requests to models. A project needs no tool to have some.
func (r *Runner) pictures() outside.Pictures {
	m := Mounts(r.Dir)
	return m.Pictures(artifacts.Of(r.Dir))
}

// name is that of the run, with its beginning.
func (r *Runner) name() string {
	return r.Manifest.Run + " " + r.Manifest.Created.Format(time.RFC3339Nano)
}

// entries are the executors of the tools of a scene, and of questions about calls.
func (r *Runner) entries(hands *tooling.Set, opt Options) []outside.Entry {
	l := opt.Leave
	l.Recorded = opt.recorded.Given()
	if l.Run = r.name(); opt.Wait {
		l.Door = &door{Door: approvals.Door{Dir: rundir.Approvals(r.Dir)}, run: r}
	}
	return hands.Asking(l, r.Project.Policy() != nil)
}

// door tells of each question that is asked.
type door struct {
	approvals.Door
	run *Runner
}

// Ask implements approvals.Approver.
func (d *door) Ask(ctx context.Context, q *approvals.Question) (approvals.Verdict, error) {
	d.run.log.Warn(q.Line(d.run.Dir))
	return d.Door.Ask(ctx, q)
}

// grantedTo is what the operator gives to a run of a project, in the folder of a run that goes
// on; "" = it begins.
func (opt *Options) grantedTo(p *project.Project, dir string, log *slog.Logger) *granted.Run {
	g := &granted.Run{Project: p, Place: opt.place, Folder: opt.ProjectDir, Live: cmp.Or(opt.Tools, tooling.Live) == tooling.Live, Config: opt.Config, Again: opt.Reread, Log: log}
	if g.Folder == "" {
		g.Folder = rundir.Inputs(dir)
	}
	return g
}

// Reload reads the files of the operator again (Options.Reread): see [granted.Run.Reload].
func (r *Runner) Reload() (changed []string, err error) {
	var sets []*tooling.Set
	for _, s := range r.Scenes {
		sets = append(sets, s.tools)
	}
	return r.granted.Reload(sets)
}

// Own are the files of the operator that count, after all reloads.
func (r *Runner) Own() own.Files { return r.granted.Files() }

// placeOf is where the project of a run lies: in the folder that the caller names, or in
// the run directory, as a copy of another folder if the operator's file marked it.
func (opt *Options) placeOf(dir string, m *rundir.Manifest) (at needs.Place, err error) {
	folder := opt.ProjectDir
	if folder == "" && m != nil {
		folder = rundir.Inputs(dir)
		if opt.Grants.Marked(m.Mark, m.Folder, m.ProjectHash) {
			at.Origin = m.Folder
		}
	}
	if folder != "" {
		at.Folder, err = ownfile.Folder(folder)
	}
	return at, err
}

// collect removes the artifacts that no kept fact names. No journal may be open.
func (r *Runner) collect() error {
	files, bytes, err := artifacts.Collect(r.Dir, r.store)
	if files > 0 {
		r.log.Info("artifacts that no kept fact names are removed", "files", files, "bytes", bytes)
	}
	return err
}

// collectAtEnd collects after all scenes have stopped, unless the journal failed.
func (r *Runner) collectAtEnd() error {
	if r.store.Err() != nil {
		return nil
	}
	for _, s := range r.inOrder() {
		if s.journal == nil { // it could not begin
			continue
		}
		if err := s.journal.Close(); err != nil {
			return nil // the store says it, too, when it is closed
		}
	}
	return r.collect()
}

// Mounts are the folders of a run that references lead into.
func Mounts(runDir string) tooling.Mounts {
	return tooling.Mounts{Project: rundir.Inputs(runDir), Files: filepath.Join(runDir, rundir.FilesDir)}
}
