package runner

import (
	"context"
	"path/filepath"
	"reflect"
	"time"

	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/recorded"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
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
func (r *Runner) tools(opt Options, options map[string]map[string]any, counts *metrics.Scene, realtime bool) (*tooling.Set, error) {
	return tooling.New(tooling.Options{
		Project: r.Project, Place: opt.place, Mode: opt.Tools, Run: r.name(), Services: opt.Services, Sandbox: opt.Sandbox, Secrets: opt.Secrets, Grants: opt.Grants, Artifacts: artifacts.Of(r.Dir), Watch: &tooling.Watch{Counts: counts},
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

// granted is what the tools of a project have in a run; nil = none asks for anything, or
// none is carried out.
func (opt *Options) granted(p *project.Project) *rundir.Grants {
	if opt.Tools != "" && opt.Tools != tooling.Live || len(needs.Of(p, opt.place)) == 0 {
		return nil
	}
	return &rundir.Grants{At: now(), Tools: needs.Granted(p, opt.place, opt.Grants)}
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// warnOfGrants says which tools of the run are denied, and what to type.
func (r *Runner) warnOfGrants(opt Options) {
	if opt.granted(r.Project) == nil {
		return
	}
	for _, err := range needs.Refused(r.Project, opt.place, opt.Grants) {
		r.log.Warn("calls are denied: " + opt.Grants.Remedy(err.Error(), r.projectDir(opt)))
	}
}

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

// projectDir is the folder whose tools the operator grants.
func (r *Runner) projectDir(opt Options) string {
	if opt.ProjectDir != "" {
		return opt.ProjectDir
	}
	return rundir.Inputs(r.Dir)
}

// regrant notes in the manifest of a run that goes on that its tools have other grants.
func (r *Runner) regrant(opt Options) error {
	is := opt.granted(r.Project)
	if is == nil {
		return nil
	}
	was := map[string][]string{}
	if n := len(r.Manifest.Grants); n > 0 {
		was = r.Manifest.Grants[n-1].Tools
	}
	if reflect.DeepEqual(was, is.Tools) {
		return nil
	}
	for _, line := range needs.Changes(was, is.Tools) {
		r.log.Warn("the run goes on with other grants: " + line)
	}
	return r.Manifest.AddGrants(r.Dir, *is)
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
