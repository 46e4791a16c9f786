package run

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/progress"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

type forkOptions struct {
	rundir.ForkOptions
	seed        uint64
	json, quiet bool
}

// NewFork is `simd fork`.
func NewFork(e *cli.Env) *cobra.Command {
	var o forkOptions
	c := &cobra.Command{
		Use:   "fork DIR OUT",
		Short: "Start a new run from an earlier place, with another seed, model or world",
		Long: `Make a new run directory that continues from a place in a run. The original run
does not change. Without a change the fork repeats the original run exactly, with
two exceptions: answers that the original paid for cost the fork nothing, so a budget
may refuse less; and tool calls that are under way there as tasks end as cancelled.
With --seed or --set its first fact records the changes. A fork of a fork keeps the
seed, the model and the end of DIR, also from a place before that where DIR began.
Continue with simd run --resume OUT.

--set changes one of these; repeat it for more:
  world.PATH=JSON                   a value in the world
  model=FILE                        the script of the scripted model
  simulation.stop.after=DURATION    the end; also .ticks=N and .until=EXPR

A place in a run is a time of its scene (2026-01-01T08:00:00Z), an offset from
its start (90s), wave:N, seq:N (the last wave that has ended there) or end.

Exit codes: 0 made, 2 usage, also an impossible place or change, 3 faults in the
file of model=FILE, 4 not found, 6 OUT is not empty, or the run has ended there, 8 the journal is damaged (simd doctor
shows where), 130 interrupted (nothing is left of OUT).`,
		Example: `  simd fork runs/latest runs/what-if --at 90s --seed 7
  simd fork runs/latest runs/famine --at wave:120 --set world.grain=0
  simd run --resume runs/famine`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.At == "" && len(args) == 2 {
				return cli.Usagef("--at says where to fork, for example --at 90s")
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, e, args[0], args[1]) },
	}
	f := c.Flags()
	f.StringVar(&o.At, "at", "", "the `PLACE` to continue from")
	f.StringArrayVar(&o.Set, "set", nil, "change `KEY=VALUE` from there on; repeat it for more")
	f.Uint64Var(&o.seed, "seed", 0, "seed of all random choices from there on")
	f.StringVar(&o.Scene, "scene", "", "fork this scene `ID` only")
	f.BoolVar(&o.json, "json", false, "print the manifest of the fork as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	return c
}

func (o *forkOptions) run(cmd *cobra.Command, e *cli.Env, dir, out string) error {
	opt := o.ForkOptions
	if cmd.Flags().Changed("seed") {
		opt.Seed = &o.seed
	}
	opt.Version, opt.Args = cli.Version().Version, e.Args
	say, done := progress.Work(e.Err, o.quiet)
	opt.Progress, opt.Model = say, runner.ReadModel
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	m, err := rundir.Fork(ctx, dir, out, opt)
	done()
	if protocol.KindOf(err) == protocol.KindCancelled {
		return &cli.Exit{Code: cli.ExitInterrupted, Err: protocol.Errorf(protocol.KindCancelled, "fork: interrupted; nothing is left of %s", out)}
	}
	if err != nil {
		return cli.Given(err)
	}
	if o.json {
		return show.JSON(e.Out, m)
	}
	page := &strings.Builder{}
	for _, id := range protocol.SortedKeys(m.Fork.Scenes) {
		cut := m.Fork.Scenes[id]
		fmt.Fprintf(page, "%s  from %s, wave %d, fact %d, %s\n  digest %s\n", terminal.Plain(id), terminal.Plain(m.Fork.Parent), cut.Wave, cut.Seq, cut.Time, cut.Digest)
	}
	for _, c := range m.Fork.Changes {
		fmt.Fprintf(page, "  set %s\n", c)
	}
	fmt.Fprintf(page, "resume with: simd run --resume %s\n", out)
	return terminal.Print(e.Out, page.String())
}
