// Package recorded reads the results of tool calls of a run, and stores them in the
// directory of another run, which replays them.
package recorded

import (
	"context"
	"errors"
	"path/filepath"

	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools/artifact"
	"tavernsim/tools/toolreplay"
)

// Answers are those of one run.
type Answers struct {
	*toolreplay.Answers
	dir string // of that run; "" = they are kept in this one
}

// Read reads what came of the calls of tools in all scenes of a run, as it is now. The run is
// decided again for that.
func Read(ctx context.Context, dir string) (*Answers, error) {
	run, err := rundir.Open(dir)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	a := &Answers{&toolreplay.Answers{From: "run " + run.Manifest.Run}, dir}
	for _, id := range run.Manifest.Scenes {
		made, journal, err := run.Scene(id)
		if err != nil {
			return nil, err
		}
		err = verify.ToolAnswers(ctx, made, journal, verify.Options{NoMiddleware: run.Manifest.Middleware}, a.Answers)
		if err = errors.Join(err, journal.Close()); err != nil {
			return nil, protocol.Errorf(protocol.KindOf(err), "answers of tools in %s: %w", dir, err)
		}
	}
	if a.Len() == 0 {
		return nil, protocol.Errorf(protocol.KindNotFound, "%s has no answers of tools: none of its agents called one that leaves the process", a.From)
	}
	return a, nil
}

// Given are those to give again; nil = none.
func (a *Answers) Given() *toolreplay.Answers {
	if a == nil {
		return nil
	}
	return a.Answers
}

// Keep keeps the answers in the directory of a new run, which goes on without the one that
// they are from.
func (a *Answers) Keep(dir string) error {
	if a == nil {
		return nil
	}
	if err := a.Save(folder(dir), artifacts.Of(a.dir)); err != nil {
		return protocol.Errorf(protocol.KindTransient, "answers of tools: %w", err)
	}
	return nil
}

// Kept are those that a run directory keeps.
func Kept(dir string) (*Answers, error) {
	a, err := toolreplay.Open(folder(dir))
	return &Answers{Answers: a}, err
}

// Artifacts are the files of answers that a run directory keeps.
func Artifacts(dir string) *artifact.Store { return toolreplay.Artifacts(folder(dir)) }

func folder(dir string) string { return filepath.Join(dir, rundir.ToolAnswers) }
