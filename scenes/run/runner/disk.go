package runner

import (
	"errors"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/room"
	"tavernsim/scenes/run/rundir"
)

// stopStarting stops the running scenes because another one could not begin. If the
// disk has failed and some scene runs, the run has begun: then Wait returns the error,
// as if the disk had failed a moment later.
func (r *Runner) stopStarting(left []*project.Scene, err error) error {
	r.interruptAll()
	if !r.ofDisk(err) {
		return errors.Join(err, r.close(nil))
	}
	failed := &scenes.DiskFailure{Scene: left[0].Definition.ID, Cause: err}
	if len(r.Scenes) == 0 {
		_ = r.close(nil) // it says the same once more
		return protocol.Errorf(protocol.KindOf(err), "%w: no scene was started; when the disk can be written: simd run --resume %s", failed, r.Dir)
	}
	for _, def := range left {
		r.idle = append(r.idle, &Scene{ID: def.Definition.ID, Seed: r.Manifest.Seeds[def.Definition.ID], outcome: scenes.Outcome{Outcome: machines.Outcome{Reason: agenda.StoppedByInterrupt, Err: failed}}})
	}
	return nil
}

// ofDisk reports whether a scene could not begin because of the disk: this write,
// or one before it, after which the store takes nothing more.
func (r *Runner) ofDisk(err error) bool { return r.store.Err() != nil || room.OfDisk(err) }

// notBegun is the summary of a scene that could not begin: how far it came in
// another process is not known in this one.
func (r *Runner) notBegun(sc *Scene) *rundir.SceneSummary {
	return &rundir.SceneSummary{
		Scene: sc.ID, Seed: sc.Seed, Clock: string(r.Manifest.Clocks[sc.ID]), StoppedBy: sc.outcome.Reason, Error: sc.outcome.Err.Error(),
		Journal: rundir.Journal{Durability: string(r.store.Durability())}, ByProfile: []rundir.Count{},
	}
}
