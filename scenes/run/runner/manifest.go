package runner

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/llm/endpoint"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
)

func newManifest(p *project.Project, defs []*project.Scene, opt Options) (*rundir.Manifest, error) {
	durability, err := persistence.ParseDurability(string(opt.Durability))
	if err != nil {
		return nil, err
	}
	m := &rundir.Manifest{
		Version: rundir.ManifestVersion, Created: time.Now().UTC().Truncate(time.Millisecond), Program: opt.Version, Go: runtime.Version(), Args: opt.Args,
		Project: p.ID(), ProjectHash: p.Hash(), Seeds: map[string]uint64{}, Clocks: map[string]agenda.ClockKind{},
		Budget: opt.Budget, Agents: opt.Agents, For: protocol.Duration(opt.For), Ticks: opt.Ticks, Until: opt.Until, Interactive: opt.Interactive, Model: opt.Model, OnMiss: opt.OnMiss, Endpoints: opt.endpoints(), AtEndpoints: opt.atEndpoints(), Durability: durability,
		BatchFacts: opt.BatchFacts, Files: rundir.Files(p),
		SnapFacts: opt.Snapshots.Facts, SnapEvery: protocol.Duration(opt.Snapshots.Every), SnapBytes: opt.Snapshots.Bytes, Keep: opt.Keep, Middleware: len(opt.Middleware) > 0, External: setup.ToolNames(opt.External),
	}
	if opt.Tools != tooling.Live {
		m.Tools = string(opt.Tools)
	}
	m.Folder, m.Mark, m.Broken = opt.place.Folder, opt.Grants.Mark(opt.place.Folder, m.ProjectHash), p.BrokenPlugins()
	m.Given, _ = opt.given.Split(tooling.Manifests(p))
	if g := opt.grantedTo(p, "", nil).Of(opt.Grants); g != nil {
		m.Grants = []rundir.Grants{*g}
	}
	for _, d := range defs {
		id, sim := d.Definition.ID, d.Definition.Simulation
		m.Scenes = append(m.Scenes, id)
		m.Clocks[id] = sim.Clock
		if opt.Clock != "" {
			m.Clocks[id] = opt.Clock
		}
		flag := opt.Seed
		if own, ok := opt.Seeds[id]; ok {
			flag = &own
		}
		seed, err := seedOf(flag, sim.Seed)
		if err != nil {
			return nil, err
		}
		m.Seeds[id] = seed
	}
	m.Run = rundir.Name(m.Created, m.Scenes)
	return m, nil
}

// seedOf is the flag's seed, the scene's, or a drawn one.
func seedOf(flag, scene *uint64) (uint64, error) {
	if flag != nil {
		return *flag, nil
	}
	if scene != nil {
		return *scene, nil
	}
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]) >> 11, nil // what JSON readers hold exactly
}

// fits refuses to go on with a run by other rules than it began with.
func fits(m *rundir.Manifest, opt Options) error {
	given := len(opt.Middleware) > 0
	switch {
	case m.Middleware && !given:
		return protocol.Errorf(protocol.KindConflict, "run %s: it began with middleware of the program that embeds it, and this program has none; resume it in that program (runner.Options.Middleware)", m.Run)
	case given && !m.Middleware:
		return protocol.Errorf(protocol.KindConflict, "run %s: it began without middleware, so it cannot be resumed with some; start another", m.Run)
	}
	if err := setup.SameTools(m.External, opt.External); err != nil {
		return protocol.Errorf(protocol.KindConflict, "run %s: %w", m.Run, err)
	}
	return nil
}

// Again are the options with which a process goes on with the run that it began, or resumed, with
// these: the run directory has the budget and the orders.
func (opt Options) Again() Options {
	opt.Finish, opt.Budget, opt.Orders = true, nil, nil
	return opt
}

// optionsOf are those the run was started with; what the caller may choose anew
// comes from now.
func optionsOf(m *rundir.Manifest, now Options) Options {
	opt := Options{
		Scenes: m.Scenes, Agents: m.Agents, For: m.For.Std(), Ticks: m.Ticks, Until: m.Until, Durability: m.Durability,
		BatchFacts: m.BatchFacts, Snapshots: machines.SnapshotPolicy{Facts: m.SnapFacts, Every: m.SnapEvery.Std(), Bytes: m.SnapBytes}.Or(now.Snapshots), Keep: cmp.Or(now.Keep, m.Keep),
		Workers: now.Workers, Metrics: now.Metrics, Log: now.Log, Version: now.Version, Crashes: now.Crashes, Restarted: now.Restarted, Finish: now.Finish, FS: now.FS, Recovering: now.Recovering,
		Budget: now.Budget, Middleware: now.Middleware, External: now.External, Executors: now.Executors, Model: m.Model, OnMiss: m.OnMiss, Store: now.Store, Tools: tooling.Mode(m.Tools), Services: now.Services, Sandbox: now.Sandbox, Secrets: now.Secrets, Grants: now.Grants, Config: now.Config, Reread: now.Reread, ProjectDir: now.ProjectDir, Leave: now.Leave, Wait: now.Wait, Orders: now.Orders, Control: now.Control, Interactive: m.Interactive,
	}
	if len(m.Endpoints) > 0 { // else a script answered, and goes on to
		if opt.Endpoints = now.Endpoints; opt.Endpoints == nil {
			opt.Endpoints = map[string]*endpoint.Endpoint{}
		}
	}
	if now.Durability != "" {
		opt.Durability = now.Durability
	}
	if now.BatchFacts != 0 {
		opt.BatchFacts = now.BatchFacts
	}
	return opt
}
