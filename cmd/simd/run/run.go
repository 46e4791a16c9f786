// Package run has the commands that make runs, and those about run directories:
// run, replay, fork, cassette, doctor, runs.
package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/internal/metrics"
	"tavernsim/internal/progress"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/restarts"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/overrides"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools/plugin"
)

// NewRun is `simd run`.
func NewRun(e *cli.Env) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run PROJECT",
		Short: "Run a scene to its end",
		Long: `Run a scene of a project folder until one of its stop conditions holds.

The run directory contains everything: the inputs, the journal, the summary. Ctrl-C
stops after the current moment, or before it if that waits for endpoints that are
away or for their rates, and prints how to resume; a second one stops at once and loses nothing that
was stored. Ctrl-Z pauses the scene after its state
is durable, and fg continues it.

If the disk is full or fails, the run waits, tries again and continues by itself;
nothing that was stored is lost (--disk-wait).

A model file whose kind is no script asks an endpoint of your file of endpoints
(--providers). Without such a file a script answers, and a warning says so.

--estimate plays 1 % of the agents with scripts in the place of models and prints how
often models would be asked in the whole run, the tokens and the dollars. It asks
nobody and leaves no run directory.

Exit codes: 0 the scene ended, 1 failure, or every deliberation failed, 2 usage, 3
the project has faults, 4 not found, 6 locked or not empty, 7 a budget is exhausted
and ended the run or paused it (resumable with a larger one), 8 --repeat found a
difference, 130 interrupted (resumable).`,
		Example: `  simd run scenes/examples/herbalist
  simd run scenes/examples/market --agents 100000 --ticks 20 --metrics :9464
  simd run my-project --scene tavern --scene market --for 8h
  simd run --resume runs/latest
  simd run my-project --seed 7 --repeat 2 --json
  simd run my-project --model thinker --providers providers.yaml
  simd run my-project --model replay:runs/latest
  simd run my-project --model thinker --estimate
  simd run my-project --providers providers.yaml --budget dollars=0.5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (o.resume != "") {
				return cli.Usagef("run wants a project folder, or --resume with a run directory")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return o.run(cmd, e, args[0])
			}
			return o.run(cmd, e, "")
		},
	}
	o.register(c)
	return c
}

func (o *runOptions) run(cmd *cobra.Command, e *cli.Env, dir string) error {
	opt, err := o.options(cmd, e)
	if err != nil {
		return err
	}
	opt.Metrics = metrics.New(metrics.Version(cli.Version().Version))
	stop, err := cli.ServeMetrics(e, opt.Metrics, o.metrics, o.pprof)
	if err != nil {
		return err
	}
	defer stop()
	to, closeAll, err := cli.OpenEndpoints(o.providers)
	if err != nil {
		return err
	}
	defer closeAll()
	defer reloadEndpoints(e.Err, o.providers, to)()
	opt.Endpoints = to
	own, err := o.openOwn(dir, &opt)
	if err != nil {
		return err
	}
	opt.Reread = func() (*granted.Reread, error) { return o.reread(own, dir, to) }
	if o.orders != "" {
		if opt.Orders, err = orders.Read(o.orders); err != nil {
			return err
		}
	}
	opt.Leave.Timeout, opt.Wait = o.silence, o.ask == askWait
	if o.estimate {
		return o.sayEstimate(cmd.Context(), e, dir, opt)
	}
	closeStore, err := o.openStore(e, &opt)
	if err != nil {
		return err
	}
	defer closeStore()
	if o.repeat > 1 {
		return o.runRepeat(cmd.Context(), e, dir, opt)
	}
	sum, err := o.runOnce(cmd.Context(), e, dir, opt)
	if sum != nil {
		if err := o.show(e, sum); err != nil {
			return err
		}
		o.sayMissed(e, sum, opt.Answers)
	}
	if err != nil {
		return err
	}
	over := sayExceeded(e.Err, sum)
	if exhausted(sum) {
		return budgetExit(e, sum)
	}
	if sum.Resumable {
		fmt.Fprintf(e.Err, "not at its end; resume with: simd run --resume %s\n", sum.RunDir)
		return &cli.Exit{Code: cli.ExitInterrupted}
	}
	if over {
		return &cli.Exit{Code: cli.ExitBudget}
	}
	return nothingSucceeded(sum)
}

// sayExceeded warns of budgets of which more counts than there is, and reports whether there are some.
func sayExceeded(w io.Writer, sum *rundir.Summary) (some bool) {
	for _, s := range sum.All() {
		for i := range s.Budgets {
			if b := &s.Budgets[i]; b.Exceeded() {
				some = true
				why := "A server answered with more tokens than max_tokens allows, or the run went on with a smaller budget"
				if b.Ledger == budget.OfTools {
					why = "A call that must not be repeated was cut off, and counts beside the one in its place"
				}
				cli.Warn(w, fmt.Sprintf("scene %s: the budget %s is exceeded: %s of %s used. %s; nothing else leaves",
					s.Scene, b.Ledger, budget.Amount(b.Used), budget.Amount(b.Limit), why))
			}
		}
	}
	return some
}

// openOwn opens the files by which the operator grants and answers.
func (o *runOptions) openOwn(dir string, opt *runner.Options) (own operator.Files, err error) {
	own = operator.Of(dir)
	if o.resume != "" {
		if own, err = operator.OfRun(o.resume); err != nil {
			return own, err
		}
	}
	if opt.Secrets, err = own.Secrets(o.secrets); err != nil {
		return own, err
	}
	if opt.Grants, err = own.Grants(o.grants); err != nil {
		return own, err
	}
	if opt.Config, err = own.Config(o.config); err != nil {
		return own, err
	}
	opt.Leave.Answers, err = own.Answers(o.approvals)
	return own, err
}

// exhausted reports whether a budget ended a scene, or paused it.
func exhausted(sum *rundir.Summary) bool {
	return slices.ContainsFunc(sum.All(), func(s *rundir.SceneSummary) bool { return s.StoppedBy == agenda.StoppedByBudget })
}

func budgetExit(e *cli.Env, sum *rundir.Summary) error {
	if sum.Resumable {
		fmt.Fprintf(e.Err, "a budget is exhausted; resume with a larger one: simd run --resume %s --budget BUDGET\n", sum.RunDir)
	} else {
		fmt.Fprintln(e.Err, "a budget is exhausted, and ended the run")
	}
	return &cli.Exit{Code: cli.ExitBudget}
}

// nothingSucceeded: a run whose deliberations all failed has ended, and failed.
func nothingSucceeded(sum *rundir.Summary) error {
	var all, failed int64
	for _, s := range sum.All() {
		all, failed = all+s.Deliberations, failed+s.Failed
	}
	if all == 0 || failed < all {
		return nil
	}
	return protocol.Errorf(protocol.KindUnknown, "every deliberation failed (%d): simd inspect %s", all, sum.RunDir)
}

func (o *runOptions) start(dir string, opt runner.Options, e *cli.Env) (*runner.Runner, error) {
	opt.ProjectDir = dir
	if o.resume != "" {
		return runner.Resume(o.resume, opt)
	}
	p, err := cli.LoadProject(dir, o.plugins, opt.For > 0 || opt.Ticks > 0 || opt.Until != "")
	if err != nil {
		return nil, cli.Quietly(err, o.quiet)
	}
	warn := func(text any) {
		if !o.quiet {
			cli.Warn(e.Err, fmt.Sprint(text))
		}
	}
	for _, w := range p.Warnings {
		warn(w)
	}
	if o.ask == "" && o.approvals == "" && p.Policy().Asks() && !answersItself(p, opt.Tools) {
		warn("the tool_policy of the project asks about calls, and nobody answers in this run: they are denied. Let simd approve answer with --ask wait, or a file with --approvals; --ask never says that it is meant so")
	}
	if _, err = runner.Check(p, opt); err == nil {
		err = cli.CheckSet(o.config, p)
	}
	if err != nil {
		return nil, cli.Given(err)
	}
	return runner.Start(p, opt)
}

// answersItself reports whether a run answers what the policy asks without a person: by what was said in another
// run, or by a service of a plugin, which is started with live tools only.
func answersItself(p *project.Project, mode tooling.Mode) bool {
	live := cmp.Or(mode, tooling.Live) == tooling.Live
	return mode == tooling.Replay || live && overrides.Of(p)[plugin.OfApprover] != nil
}

// runOnce runs to the end, over failures that can be outlived.
func (o *runOptions) runOnce(ctx context.Context, e *cli.Env, dir string, opt runner.Options) (*rundir.Summary, error) {
	first := *o
	hangups := make(chan os.Signal, 1)                          // of all lives, and of the time between them
	if !terminal.Is(e.Err) && !signal.Ignored(syscall.SIGHUP) { // else the terminal was closed, or nohup said that this means nothing
		signal.Notify(hangups, syscall.SIGHUP)
	}
	defer func() {
		signal.Stop(hangups)
		unheard(e.Err, hangups)
	}()
	plan := restarts.Plan{
		DiskWait: time.Duration(o.diskWait), Metrics: opt.Metrics,
		Tell: func(text string) { fmt.Fprintln(e.Err, text) },
		Guard: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		},
		Attempt: func(resume string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error) {
			life, now := first, opt
			if resume != "" {
				life.resume, now = resume, opt.Again()
			}
			now.Crashes, now.Restarted = crashes, true
			sum, err := life.runLife(ctx, e, dir, &now, hangups)
			opt.Grants, opt.Secrets, opt.Control = now.Grants, now.Secrets, now.Control
			return sum, err
		},
	}
	return plan.Run(ctx)
}

// runLife runs until it ends, or fails; the files of the operator are then those that count, and the
// commands those that make what people want.
func (o *runOptions) runLife(parent context.Context, e *cli.Env, dir string, opt *runner.Options, hangups chan os.Signal) (*rundir.Summary, error) {
	c, ready := make(chan os.Signal, 4), make(chan running, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGTSTP)
	defer signal.Stop(c)
	ctx, stop := context.WithCancel(parent)
	defer stop()
	signals := watchSignals(ctx, e.Err, c, hangups, ready, stopAtOnce)
	say, restored := progress.Work(e.Err, o.quiet)
	opt.Recovering, opt.Log = say, cli.Warnings(e.Err, o.quiet)
	r, err := o.start(dir, *opt, e)
	restored()
	if err != nil {
		return nil, err
	}
	ready <- r
	defer context.AfterFunc(parent, r.Interrupt)()
	progress := progress.Run(ctx, e.Err, r, o.quiet)
	sum, err := r.Wait()
	stop()
	<-progress
	<-signals
	own := r.Own()
	opt.Grants, opt.Secrets, opt.Control = own.Grants, own.Secrets, r.Controlled()
	return sum, err
}

func (o *runOptions) runRepeat(ctx context.Context, e *cli.Env, dir string, opt runner.Options) error {
	var first *rundir.Summary
	var sums []*rundir.Summary
	if _, err := rundir.ReadManifest(opt.Dir); opt.Dir != "" && err == nil {
		return protocol.Errorf(protocol.KindConflict, "run directory %s is not empty; name another with --out", opt.Dir)
	}
	for i := range o.repeat {
		each := opt
		if opt.Dir != "" {
			each.Dir = filepath.Join(opt.Dir, fmt.Sprintf("repeat-%d", i+1))
		}
		if first != nil {
			each.Seeds = seedsOf(first)
		}
		sum, err := o.runOnce(ctx, e, dir, each)
		if err != nil {
			return err
		}
		if sum.Resumable && exhausted(sum) {
			return budgetExit(e, sum)
		}
		if sum.Resumable {
			fmt.Fprintln(e.Err, "interrupted; nothing was compared")
			return &cli.Exit{Code: cli.ExitInterrupted}
		}
		if first == nil {
			first = sum
		}
		sums = append(sums, sum)
	}
	if err := o.compare(e, sums, opt.Metrics); err != nil {
		return err
	}
	over := sayExceeded(e.Err, first)
	if exhausted(first) {
		return budgetExit(e, first)
	}
	if over {
		return &cli.Exit{Code: cli.ExitBudget}
	}
	return nothingSucceeded(first) // the others have its history
}

func (o *runOptions) compare(e *cli.Env, sums []*rundir.Summary, counts *metrics.Set) error {
	if o.json {
		if err := show.JSON(e.Out, sums); err != nil {
			return err
		}
	} else if o.summary != "none" {
		if err := o.show(e, sums[0]); err != nil {
			return err
		}
	}
	for i, s := range sums[1:] {
		if a, b := sums[0].Digests(), s.Digests(); a != b {
			counts.Diverged()
			return &cli.Exit{Code: cli.ExitDivergence, Err: protocol.Errorf(protocol.KindConflict, "run 1 and run %d differ: %s in %s, %s in %s", i+2, a, sums[0].RunDir, b, s.RunDir)}
		}
	}
	if o.json {
		return nil
	}
	return terminal.Print(e.Out, terminal.FillOn(e.Out, fmt.Sprintf("%d runs, the same digest: %s", len(sums), sums[0].Digests()), "  ")+"\n")
}

func (o *runOptions) show(e *cli.Env, sum *rundir.Summary) error {
	if o.json {
		return show.JSON(e.Out, sum)
	}
	if o.summary == "none" {
		return nil
	}
	return show.Run(e.Out, sum, o.summary == "compact")
}

// sayMissed shows of the first question without a recorded answer where it differs from
// the nearest one. Where that cannot be found out the summary has said what is known.
func (o *runOptions) sayMissed(e *cli.Env, sum *rundir.Summary, from string) {
	for _, s := range sum.All() {
		a := s.Model.Answers
		if a == nil || a.Missed == 0 || from == "" || o.quiet || o.json {
			continue
		}
		run, err := inspect.Open(sum.RunDir)
		if err != nil {
			return
		}
		if scene, err := run.Scene(s.Scene); err == nil {
			d, err := scene.Deliberation(a.First)
			if err == nil && compare.Questions(s.Scene, d, from) == nil && len(d.Models) > 0 {
				_ = show.Missed(e.Err, a.First, from, d.Models[len(d.Models)-1].Against)
			}
		}
		_ = run.Close()
	}
}

// seedsOf are the seeds of the scenes of a run.
func seedsOf(s *rundir.Summary) map[string]uint64 {
	seeds := map[string]uint64{}
	for _, sc := range s.All() {
		seeds[sc.Scene] = sc.Seed
	}
	return seeds
}
