package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/follow"
	"tavernsim/scenes/view/inspect"
)

// following is what a list knows between two looks at a run that grows.
type following struct {
	ctx   context.Context // ends with a signal
	from  uint64          // first fact to show
	shown int
	table *terminal.Table // of the first look: one headline, one width of columns
}

var errEnough = errors.New("enough rows")

// follow shows what becomes durable, until the scene has ended.
func (x *inspecting) follow(v *view, args []string) error {
	if x.o.until != "" || x.o.wave != "" {
		return usageError{errors.New("--follow has no end of its own: it does not go with --until and --wave")}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	x.live, x.paint = &following{ctx: ctx}, terminal.NewPaint(x.out)
	left := x.o.limit
	err := follow.Run(ctx, follow.Options{Dir: x.dir, Scene: x.o.scene, All: x.o.since != "", Alone: x.tellAlone}, func(s *inspect.Scene, from uint64) (err error) {
		x.scene, x.live.from, x.o.limit = s, from, left-x.live.shown
		if !x.lost {
			x.lost = warnLost(x.err, x.dir, s)
		}
		if x.begun, err = s.Begun(); err == nil {
			err = v.run(x, args)
		}
		if err == nil && left > 0 && x.live.shown >= left {
			err = errEnough
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
		return &exit{code: exitInterrupted}
	case err != nil && !errors.Is(err, errEnough):
		return err
	case x.lost:
		return &exit{code: exitDivergence}
	}
	return nil
}

func (x *inspecting) tellAlone() {
	if !x.o.quiet {
		fmt.Fprintf(x.err, "no process runs it; waiting for simd run --resume %s, or Ctrl-C\n", x.dir)
	}
}
