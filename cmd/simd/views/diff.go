package views

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/progress"
	"tavernsim/internal/show"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/inspect"
)

type diffOptions struct {
	scene string
	json  bool
	quiet bool
}

// NewDiff is `simd diff`.
func NewDiff(e *cli.Env) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff DIR DIR",
		Short: "Find where two runs diverge, and what differs at their ends",
		Long: `Compare two runs of a scene: their inputs, the first fact that differs, with both
sides, then the world and every agent at the end. The command compares the digests
of waves by bisection; before it reports two runs as equal, it checks all their
facts against the digests. If the runs have dropped facts (simd run --keep), it
compares the part that both still have and says where it begins.

Exit codes: 0 equal, 2 usage, 4 not found, 8 different, or a journal is
damaged, 130 interrupted.`,
		Example: `  simd diff runs/a runs/b
  simd diff runs/a runs/b --json`,
		Args: cobra.ExactArgs(2),
		RunE: cli.Interruptible(func(ctx context.Context, args []string) error {
			return cli.Given(o.run(ctx, e, args[0], args[1]))
		}),
	}
	f := c.Flags()
	f.StringVar(&o.scene, "scene", "", "`ID` of the scene, if the runs have several")
	f.BoolVar(&o.json, "json", false, "print the comparison as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	return c
}

func (o *diffOptions) run(ctx context.Context, e *cli.Env, a, b string) error {
	c, err := o.compare(ctx, e, a, b)
	if err != nil {
		return err
	}
	if o.json {
		err = show.JSON(e.Out, c)
	} else {
		err = show.Comparison(e.Out, c)
	}
	if err == nil && !c.Equal {
		err = &cli.Exit{Code: cli.ExitDivergence}
	}
	return err
}

func (o *diffOptions) compare(ctx context.Context, e *cli.Env, a, b string) (c *compare.Comparison, err error) {
	x, err := o.open(e, a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.run.Close()) }()
	y := x
	if !sameDir(a, b) {
		if y, err = o.open(e, b); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, y.run.Close()) }()
	}
	read, clear := progress.Reading(e.Err, o.quiet)
	defer clear()
	x.scene.Progress, y.scene.Progress = read, read
	if c, err = compare.Scenes(x.scene, y.scene); err == nil && c.Equal {
		err = errors.Join(x.scene.Check(ctx), y.scene.Check(ctx)) // so far their digests are
	}
	return c, err
}

func sameDir(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// opened is one of the two runs.
type opened struct {
	run   *inspect.Run
	scene *inspect.Scene
}

func (o *diffOptions) open(e *cli.Env, dir string) (opened, error) {
	r, err := inspect.Open(dir)
	if err != nil {
		return opened{}, err
	}
	s, err := r.Scene(o.scene)
	if err != nil {
		return opened{}, errors.Join(err, r.Close())
	}
	warnLost(e.Err, dir, s)
	return opened{r, s}, nil
}
