package views

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/scenes/view/follow"
	"tavernsim/scenes/view/inspect"
)

var errEnough = errors.New("enough rows")

// follow shows what becomes durable, until the scene has ended.
func (x *inspecting) follow(v *view, args []string) error {
	if x.o.until != "" || x.o.wave != "" {
		return cli.Usage(errors.New("--follow has no end of its own: it does not go with --until and --wave"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	x.to.Live = &show.Live{Ctx: ctx}
	left := x.o.limit
	err := follow.Run(ctx, follow.Options{Dir: x.to.Dir, Scene: x.o.scene, All: x.o.since != "", Alone: x.tellAlone}, func(s *inspect.Scene, from uint64) (err error) {
		x.scene, x.from, x.to.Limit = s, from, left-x.to.Live.Shown
		if !x.lost {
			x.lost = warnLost(x.Err, x.to.Dir, s)
		}
		if x.to.Begun, err = s.Begun(); err == nil {
			err = v.run(x, args)
		}
		if err == nil && left > 0 && x.to.Live.Shown >= left {
			err = errEnough
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted}
	case err != nil && !errors.Is(err, errEnough):
		return err
	case x.lost:
		return &cli.Exit{Code: cli.ExitDivergence}
	}
	return nil
}

func (x *inspecting) tellAlone() {
	if !x.o.quiet {
		fmt.Fprintf(x.Err, "no process runs it; waiting for simd run --resume %s, or Ctrl-C\n", x.to.Dir)
	}
}
