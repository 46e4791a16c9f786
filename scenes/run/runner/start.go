package runner

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/control"
	"tavernsim/engine/travel"
	"tavernsim/internal/metrics"
	"tavernsim/llm/limit"
	"tavernsim/persistence"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/links"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/roads"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/interact"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/seats"
	"tavernsim/scenes/timing"
	"tavernsim/scenes/tooling/own"
)

// open opens the store.
func (h *Host) open(dir string, p *project.Project, m *rundir.Manifest, opt Options) (*Runner, error) {
	r := &Runner{Dir: dir, Manifest: m, Project: p, host: h, log: h.log, started: time.Now(), progress: opt.Recovering, patience: reloading}
	keep, err := persistence.ParseKeep(opt.Keep)
	if err != nil {
		return nil, err
	}
	if err := h.enter(r); err != nil {
		return nil, err
	}
	r.store, err = rundir.OpenStore(dir, persistence.Options{
		Durability: opt.Durability, BatchFacts: opt.BatchFacts, Observer: metrics.Journal{Set: h.metrics, Sync: opt.Durability}, FS: opt.FS, Log: r.log, Keep: keep,
	})
	if err != nil {
		h.ended(r)
		return nil, err
	}
	if err := r.collect(); err != nil {
		h.ended(r)
		return nil, errors.Join(err, r.store.Close())
	}
	if m.Interactive {
		if r.desk, err = interact.NewDesk(dir, r.log); err != nil {
			h.ended(r)
			return nil, errors.Join(err, r.store.Close())
		}
	}
	return r, nil
}

func linked(defs []*project.Scene) (map[string][]travel.Link, error) {
	var all []*agenda.Scene
	for _, def := range defs {
		all = append(all, def.Definition)
	}
	return roads.Of(all)
}

func (r *Runner) start(defs []*project.Scene, opt Options) error {
	all, err := linked(defs)
	if err != nil {
		return r.stopStarting(defs, err)
	}
	r.links = links.New(all)
	for i, def := range defs {
		if err := r.startScene(def, opt); err != nil {
			return r.stopStarting(defs[i:], err)
		}
	}
	r.metrics.Ready()
	return nil
}

func (r *Runner) startScene(def *project.Scene, opt Options) (err error) {
	id := def.Definition.ID
	r.metrics.NotReady("restoring scene " + id)
	journal, err := r.store.Journal(id)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = journal.Close() // of a disk that failed the store speaks, too
		}
	}()
	made, err := r.Manifest.Made(r.Project, id, opt.Middleware, opt.External)
	if err == nil {
		err = r.Manifest.AddEditions(r.Dir, made, opt.Middleware, opt.External)
	}
	if err != nil {
		return err
	}
	reason, err := history.End(journal)
	if err != nil {
		return err
	}
	if reason != "" {
		return r.keepEnded(made, journal, reason)
	}
	set := opt.models[id]
	set.Belongs(r.Manifest.Run)
	for _, note := range set.Notes {
		r.log.Warn(note, "scene", id)
	}
	set.Tell = func(note string) { r.log.Warn(note, "scene", id) }
	counts := r.metrics.Scene(id)
	hands, err := r.tools(opt, id, def.Definition.PluginConfig, counts, made.Clock == agenda.Realtime)
	if err != nil {
		counts.CouldNot(metrics.SceneRunning)
		counts.Forget()
		return err
	}
	has, err := r.resumed(hands, journal, own.Files{Grants: opt.Grants, Secrets: opt.Secrets})
	if err != nil {
		counts.CouldNot(metrics.SceneRunning)
		counts.Forget()
		return errors.Join(err, hands.Close())
	}
	opt.replaced[id].Open(hands.Services)
	for _, w := range hands.Replaced() {
		r.log.Warn(w.String(), "scene", id)
	}
	s := &Scene{tools: hands, ID: id, Seed: r.Manifest.Seeds[id], journal: journal, began: journal.Durable().Number, models: set, latency: timing.NewLatency(), report: def.Definition.Simulation.Report}
	s.project.Store(has)
	s.Run, err = scenes.Start(made, journal, scenes.Options{
		Schedule: opt.Schedule, Raised: opt.raised, Snapshots: opt.Snapshots, Model: set.Provider(), Pictures: r.pictures(), Class: r.class(id), Orders: opt.ordersOf(id), Control: control.For(id, opt.Control), Desk: r.deskOf(id), Executors: append(slices.Clone(opt.Executors), r.entries(hands, opt)...), System: r.host.system, Name: r.host.actorName(r.Dir, id),
		Metrics: counts, Log: r.log, Latency: s.latency, ColdWakes: opt.ColdWakes, Serial: opt.Serial, Crashes: opt.Crashes[id], Links: r.links.Of(id), Folding: r.recovering(id),
		Effects:     func() (outside.Journal, error) { return r.store.Direct(outside.JournalID(id)) },
		PassiveFile: func() (seats.File, error) { return seats.Scratch(r.Dir) },
	})
	if err != nil {
		counts.CouldNot(metrics.SceneRunning)
		counts.Forget()
		return errors.Join(err, hands.Close())
	}
	r.watch(s.Run.Sources())
	r.Scenes = append(r.Scenes, s)
	return nil
}

// deskOf shows the questions of a scene to people.
func (r *Runner) deskOf(id string) scenes.Desk {
	if r.desk == nil {
		return nil
	}
	return r.desk.Of(id)
}

// class is that of a scene's requests to models: somebody watches a scene on the realtime
// clock, and others can wait.
func (r *Runner) class(id string) limit.Class {
	if r.Manifest.Clocks[id] == agenda.Realtime {
		return limit.Interactive
	}
	return limit.Normal
}

// recovering reports the progress of a scene's fold.
func (r *Runner) recovering(id string) func(done, total uint64) {
	say := r.progress.Of(id, "restoring")
	return func(done, total uint64) {
		r.metrics.NotReady(fmt.Sprintf("restoring scene %s: fact %d of %d", id, done, total))
		say(done, total)
	}
}

// keepEnded puts a scene that ended before the others into the summary.
func (r *Runner) keepEnded(made *setup.Scene, journal *persistence.Journal, reason string) error {
	id := made.ID
	state, _, err := history.Fold(made, journal, history.Options{Log: r.log, Folding: r.recovering(id)})
	if err != nil {
		return err
	}
	state.View = state.Shown()
	r.metrics.Replayed(int(state.Tally.Facts))
	r.metrics.Ended(id)
	r.links.Ended(id, &state.Travel, made.Member)
	r.idle = append(r.idle, &Scene{
		ID: id, Seed: r.Manifest.Seeds[id], journal: journal, latency: timing.NewLatency(), report: made.Simulation().Report,
		outcome: scenes.Outcome{Outcome: machines.Outcome{Reason: reason, Final: true}, Wave: journal.Durable(), State: state.StageState},
	})
	return nil
}
