package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/inspect"
)

// A look at a run copies and replays the logs of its database. The pauses between
// looks are so long that looking takes at most a fiftieth of a core.
const (
	followPause = 500 * time.Millisecond
	followShare = 50
)

// following is what a list knows between two looks at a run that grows.
type following struct {
	ctx   context.Context // ends with a signal
	from  uint64          // first fact that was not looked at; 0 = not known yet
	shown int
	table *table
	alone bool // it was said that no process runs the scene
}

// same is the table of the first look: one headline, one width of columns.
func (f *following) same(t *table) *table {
	if f.table == nil {
		f.table = t
	}
	return f.table
}

// follow shows what becomes durable, until the scene has ended.
func (x *inspecting) follow(v *view, args []string) error {
	if x.o.until != "" || x.o.wave != "" {
		return usageError{errors.New("--follow has no end of its own: it does not go with --until and --wave")}
	}
	if x.o.limit == 0 {
		x.o.limit = -1 // all
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	x.live, x.paint = &following{ctx: ctx}, newPaint(x.out)
	for {
		pause, over, err := x.lookAgain(v, args)
		switch {
		case err != nil:
			return err
		case over && x.lost:
			return &exit{code: exitDivergence}
		case over:
			return nil
		}
		select {
		case <-ctx.Done():
			return &exit{code: exitInterrupted}
		case <-time.After(pause):
		}
	}
}

// lookAgain opens the run and shows what it had not shown.
func (x *inspecting) lookAgain(v *view, args []string) (pause time.Duration, over bool, err error) {
	begun, f := time.Now(), x.live
	if x.run, err = inspect.Open(x.dir); err == nil {
		defer func() { err = errors.Join(err, x.run.Close()) }()
		err = x.enter(x.o.scene)
	}
	if err != nil {
		return followPause, false, x.notYet(err)
	}
	pause = max(followPause, followShare*time.Since(begun))
	journal := x.scene.Journal()
	end := journal.Durable().Last
	if f.from == 0 && x.o.since == "" {
		f.from = end + 1
	}
	ended, err := history.End(journal)
	if f.from = max(f.from, 1); err == nil && f.from <= end {
		err = v.run(x, args)
		f.from = end + 1
	}
	x.tellAlone(ended)
	if x.o.limit > 0 {
		x.o.limit -= f.shown
		f.shown = 0
	}
	return pause, ended != "" || x.o.limit == 0, err
}

// notYet is no error for a run that is there and has kept nothing, or that changed
// too often while it was opened.
func (x *inspecting) notYet(err error) error {
	kind := protocol.KindOf(err)
	m, missing := rundir.ReadManifest(x.dir)
	switch {
	case missing != nil, kind != protocol.KindNotFound && kind != protocol.KindTransient:
		return err
	case x.o.scene != "" && !slices.Contains(m.Scenes, x.o.scene):
		return err
	}
	if kind == protocol.KindNotFound {
		x.live.from = max(x.live.from, 1) // what comes is new
	}
	return nil
}

// tellAlone says once that nothing new comes unless somebody resumes the run.
func (x *inspecting) tellAlone(ended string) {
	alone := ended == "" && x.scene.RunBy() == ""
	if alone && !x.live.alone && !x.o.quiet {
		fmt.Fprintf(x.err, "no process runs it; waiting for simd run --resume %s, or Ctrl-C\n", filepath.Clean(x.dir))
	}
	x.live.alone = alone
}
