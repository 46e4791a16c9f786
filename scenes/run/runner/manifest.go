package runner

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"time"

	"tavernsim/engine/agenda"
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
		Budget: opt.Budget, Agents: opt.Agents, For: protocol.Duration(opt.For), Ticks: opt.Ticks, Until: opt.Until, Interactive: opt.Interactive, Model: opt.Model, OnMiss: opt.OnMiss, Endpoints: opt.endpoints(), AtEndpoints: opt.atEndpoints(), Prices: opt.prices(), Durability: durability,
		BatchFacts: opt.BatchFacts, Files: rundir.Files(p),
		SnapFacts: opt.Snapshots.Facts, SnapEvery: protocol.Duration(opt.Snapshots.Every), SnapBytes: opt.Snapshots.Bytes, Keep: opt.Keep, Middleware: len(opt.Middleware) > 0, External: setup.ToolNames(opt.External),
	}
	if opt.Tools != tooling.Live && opt.Estimate == nil { // the run that is estimated carries its tools out
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
// these: the run directory has the budget and the orders, and [Runner.Controlled] says what people
// wanted last.
func (opt Options) Again() Options {
	opt.Finish, opt.Budget, opt.Orders = true, nil, nil
	return opt
}

// optionsOf are those the run was started with; what the caller may choose anew
// comes from now.
func optionsOf(m *rundir.Manifest, now Options) Options {
	opt := now
	opt.Dir, opt.Seed, opt.Seeds, opt.Clock, opt.Args = "", nil, nil, "", nil // the manifest has them
	opt.Answers, opt.ToolAnswers, opt.Estimate = "", "", nil                  // the run directory has what it began with
	opt.Scenes, opt.Agents, opt.For, opt.Ticks, opt.Until = m.Scenes, m.Agents, m.For.Std(), m.Ticks, m.Until
	opt.Model, opt.OnMiss, opt.Tools, opt.Interactive = m.Model, m.OnMiss, tooling.Mode(m.Tools), m.Interactive
	opt.Snapshots = machines.SnapshotPolicy{Facts: m.SnapFacts, Every: m.SnapEvery.Std(), Bytes: m.SnapBytes}.Or(now.Snapshots)
	opt.Durability, opt.BatchFacts, opt.Keep = cmp.Or(now.Durability, m.Durability), cmp.Or(now.BatchFacts, m.BatchFacts), cmp.Or(now.Keep, m.Keep)
	if len(m.Endpoints) == 0 {
		opt.Endpoints = nil // a script answered, and goes on to
	}
	return opt
}
