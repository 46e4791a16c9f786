package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/internal/flagvalue"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/plugin"
	"tavernsim/tools/sandbox"
)

type runOptions struct {
	scenes     []string
	length     time.Duration
	ticks      int64
	until      string
	seed       uint64
	clock      string
	agents     int
	model      string
	providers  string
	secrets    string
	grants     string
	plugins    string
	config     plugin.Sources
	ask        string
	approvals  string
	silence    time.Duration
	answers    string
	onMiss     string
	store      string
	tools      string
	budget     string
	out        string
	resume     string
	durability string
	batch      int
	snapshots  machines.SnapshotPolicy
	snapBytes  flagvalue.Size
	keep       string
	diskWait   flagvalue.Wait
	metrics    string
	pprof      bool
	repeat     int
	summary    string
	json       bool
	quiet      bool
	estimate   bool
	output     string
}

// Who answers when a policy asks.
const (
	askNever   = "never"
	askWait    = "wait"
	maxSilence = 12 * time.Hour
)

func newRun(e *env) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run PROJECT",
		Short: "Run a scene to its end",
		Long: `Run a scene of a project folder until one of its stop conditions holds.

The run directory contains everything: the inputs, the journal, the summary. Ctrl-C
stops after the current moment and prints how to resume; a second one stops at
once and loses nothing that was stored. Ctrl-Z pauses the scene after its state
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
  simd run my-project --providers providers.yaml --budget tokens=100000,dollars=0.5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (o.resume != "") {
				return usageError{fmt.Errorf("run wants a project folder, or --resume with a run directory")}
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

func (o *runOptions) register(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.scenes, "scene", nil, "scene `ID`; repeat it to run several side by side (default: the project's default scene)")
	f.DurationVar(&o.length, "for", 0, "scene time to run, for example 90m")
	f.StringVar(&o.until, "until", "", "stop when this `EXPR` over world and scene holds, for example 'world.day >= 3'")
	f.Int64Var(&o.ticks, "ticks", 0, "ticks of virtual time to run")
	f.Uint64Var(&o.seed, "seed", 0, "seed of all random choices (default: the scene's, else drawn and printed)")
	f.StringVar(&o.clock, "clock", "", "virtual or realtime (default: the scene's)")
	f.IntVar(&o.agents, "agents", 0, "total number of agents of all entries with a count")
	f.StringVar(&o.model, "model", "", "model for requests without a name: `NAME` of a file in models/; scripted = scripts answer for every model; replay:PATH = --answers PATH --on-miss fail, with the model of that run")
	secretsFlag(f, &o.secrets)
	grantsFlag(f, &o.grants)
	pluginsFlag(f, &o.plugins)
	configFlags(f, &o.config)
	f.StringVar(&o.ask, "ask", "", "never = calls that the project's tool_policy asks about are denied, wait = simd approve answers (default never)")
	f.StringVar(&o.approvals, "approvals", "", "`FILE` with rules that answer when the tool_policy asks")
	f.DurationVar(&o.silence, "ask-timeout", tooling.DefaultSilence, "how long an answer is waited for; silence is a no")
	f.StringVar(&o.providers, "providers", "", "`FILE` with endpoints and keys (default: $SIMD_PROVIDERS, then simd/providers.yaml of your configuration folder)")
	f.StringVar(&o.answers, "answers", "", "recorded answers to take before an endpoint is asked: a run directory or a cassette `FILE`")
	f.StringVar(&o.onMiss, "on-miss", "", "ask an endpoint, or fail, if --answers has no answer to a question; default ask")
	f.StringVar(&o.store, "store", "", "folder `DIR` that keeps answers of endpoints to questions at temperature 0, for other runs; one process at a time uses it")
	f.StringVar(&o.budget, "budget", "", "most that models may take, `BUDGET` = tokens=N,dollars=X,calls=N,window=run|day,on_exhausted=end|pause|refuse|degrade:MODEL (default end); scenes have equal shares; with --resume it takes the place of the run's and the scenes'")
	f.StringVar(&o.tools, "tools", "", "live = the tools of the project are carried out, mock = tools/mock.yaml answers for them, replay:DIR = the answers that calls got in the run DIR are given again, off = every call fails (default live)")
	f.StringVar(&o.out, "out", "", "run directory `DIR` (default: runs/TIME-SCENE)")
	f.StringVar(&o.resume, "resume", "", "resume the run in `DIR`")
	f.StringVar(&o.durability, "durability", "", "memory, process (survives a kill) or power (synced); default process")
	f.IntVar(&o.batch, "batch", 0, "facts per stored block (default 4096)")
	f.Int64Var(&o.snapshots.Facts, "snapshot-facts", 0, "facts between two snapshots (default 2000000; below 0 = only the other flags decide)")
	f.DurationVar(&o.snapshots.Every, "snapshot-every", 0, "scene time between two snapshots")
	f.Var(&o.snapBytes, "snapshot-bytes", "`SIZE` of the facts between two snapshots, before compression: 64MiB")
	f.StringVar(&o.keep, "keep", "", "history to keep, `KEEP` = waves:N, a scene time as 48h, or all; older facts are dropped after a snapshot (default all)")
	o.diskWait = flagvalue.Wait(runner.Forever)
	f.Var(&o.diskWait, "disk-wait", "how long to wait if the journal cannot be written: a `TIME` (10m; 0 = end at once) or forever")
	f.StringVar(&o.metrics, "metrics", "", "serve Prometheus metrics at `ADDR`, for example :9464 (loopback unless a host is given)")
	f.BoolVar(&o.pprof, "pprof", false, "serve Go profiles at /debug/pprof/ of --metrics, on loopback only")
	f.IntVar(&o.repeat, "repeat", 1, "run `N` times and fail if the digests differ")
	f.StringVar(&o.summary, "summary", "full", "full, compact or none")
	f.BoolVar(&o.json, "json", false, "print the summary as one JSON object (short for -o json)")
	f.StringVarP(&o.output, "output", "o", "", "json or text")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no warnings")
	f.BoolVar(&o.estimate, "estimate", false, "say what the run would cost, and run nothing: see simd help run")
	least(f, 1, "for", "ticks", "agents", "batch", "repeat", "ask-timeout")
	least(f, 0, "snapshot-every")
}

func (o *runOptions) run(cmd *cobra.Command, e *env, dir string) error {
	opt, err := o.options(cmd, e)
	if err != nil {
		return err
	}
	opt.Metrics = metrics.New(metrics.Version(version().Version))
	stop, err := o.serveMetrics(e, opt.Metrics)
	if err != nil {
		return err
	}
	defer stop()
	to, closeAll, err := openEndpoints(o.providers)
	if err != nil {
		return err
	}
	defer closeAll()
	defer reloadEndpoints(e.err, o.providers, to)()
	opt.Endpoints = to
	if err := o.openOwn(dir, &opt); err != nil {
		return err
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
	if exhausted(sum) {
		return budgetExit(e, sum)
	}
	if sum.Resumable {
		fmt.Fprintf(e.err, "not at its end; resume with: simd run --resume %s\n", sum.RunDir)
		return &exit{code: exitInterrupted}
	}
	return nothingSucceeded(sum)
}

// openOwn opens the files by which the operator grants and answers.
func (o *runOptions) openOwn(dir string, opt *runner.Options) (err error) {
	own := operator.Of(dir)
	if o.resume != "" {
		if own, err = operator.OfRun(o.resume); err != nil {
			return err
		}
	}
	if opt.Secrets, err = own.Secrets(o.secrets); err != nil {
		return err
	}
	if opt.Grants, err = own.Grants(o.grants); err != nil {
		return err
	}
	if opt.Config, err = own.Config(o.config); err != nil {
		return err
	}
	opt.Leave.Answers, err = own.Answers(o.approvals)
	return err
}

// exhausted reports whether a budget ended a scene, or paused it.
func exhausted(sum *rundir.Summary) bool {
	return slices.ContainsFunc(sum.All(), func(s *rundir.SceneSummary) bool { return s.StoppedBy == agenda.StoppedByBudget })
}

func budgetExit(e *env, sum *rundir.Summary) error {
	if sum.Resumable {
		fmt.Fprintf(e.err, "a budget is exhausted; resume with a larger one: simd run --resume %s --budget BUDGET\n", sum.RunDir)
	} else {
		fmt.Fprintln(e.err, "a budget is exhausted, and ended the run")
	}
	return &exit{code: exitBudget}
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

func (o *runOptions) options(cmd *cobra.Command, e *env) (runner.Options, error) {
	opt := runner.Options{
		Scenes: o.scenes, Dir: o.out, Clock: agenda.ClockKind(o.clock), Agents: o.agents, Model: o.model, Answers: o.answers, OnMiss: o.onMiss, Sandbox: sandbox.New(sandbox.Options{}), For: o.length, Ticks: o.ticks, Until: o.until,
		BatchFacts: o.batch, Snapshots: o.snapshots, Keep: o.keep, Version: version().Version, Args: e.args,
	}
	opt.Snapshots.Bytes = int64(o.snapBytes)
	if err := opt.Snapshots.Validate(); err != nil {
		return opt, usageError{err}
	}
	if _, err := persistence.ParseKeep(o.keep); err != nil {
		return opt, usageError{fmt.Errorf("--keep: %w", err)}
	}
	switch opt.Clock {
	case "", agenda.Virtual, agenda.Realtime:
	default:
		return opt, usageError{fmt.Errorf("--clock %q: want virtual or realtime", o.clock)}
	}
	changed := cmd.Flags().Changed
	for _, bad := range []struct {
		is   bool
		text string
	}{
		{o.resume != "" && o.repeat > 1, "--repeat starts new runs; it does not go with --resume"},
		{o.resume != "" && (len(o.scenes) > 0 || changed("seed") || o.clock != "" || o.agents > 0 || o.model != "" || o.answers != "" || o.onMiss != "" || o.tools != "" || o.out != "" || o.plugins != "" || len(o.config.Flags) > 0), "--resume accepts only --providers, --secrets, --grants, --plugin-config (for its secrets), --ask, --approvals, --ask-timeout, --store, --budget, --metrics, --pprof, --durability, --batch, --snapshot-facts, --snapshot-every, --snapshot-bytes, --keep, --disk-wait, --json, --quiet and --summary; everything else comes from the run's manifest"},
		{o.estimate && (o.resume != "" || o.out != "" || o.repeat > 1 || o.answers != "" || o.store != "" || strings.HasPrefix(o.model, "replay:") || strings.HasPrefix(o.tools, "replay:")), "--estimate runs nothing: --resume, --out, --repeat, --answers, --store, --model replay:PATH and --tools replay:DIR do not go with it"},
		{o.ask != "" && o.ask != askNever && o.ask != askWait, fmt.Sprintf("--ask %q: want never or wait", o.ask)},
		{o.ask == askNever && o.approvals != "", "--ask never asks nobody; --approvals does not go with it"},
		{o.silence > maxSilence, fmt.Sprintf("--ask-timeout %s: at most %s", o.silence, maxSilence)},
		{o.onMiss != "" && o.onMiss != runner.MissAsk && o.onMiss != runner.MissFail, fmt.Sprintf("--on-miss %q: want ask or fail", o.onMiss)},
		{o.onMiss != "" && o.answers == "", "--on-miss is for questions that --answers does not have; name a run directory or a cassette there, too"},
		{o.resume != "" && (o.length > 0 || o.ticks > 0 || o.until != ""), "--resume goes on to the end that the run was given; --for, --ticks and --until do not go with it"},
	} {
		if bad.is {
			return opt, usageError{fmt.Errorf("%s", bad.text)}
		}
	}
	var err error
	if opt.Tools, opt.ToolAnswers, err = tooling.ParseMode(o.tools); err != nil {
		return opt, usageError{fmt.Errorf("--%w", err)}
	}
	if err := o.checkMetrics(); err != nil {
		return opt, err
	}
	if cmd.Flags().Changed("budget") {
		b, err := budget.Parse(o.budget)
		if err != nil {
			return opt, usageError{fmt.Errorf("--budget %q: %w", o.budget, err)}
		}
		opt.Budget = b
	}
	if cmd.Flags().Changed("seed") {
		opt.Seed = &o.seed
	}
	if path, ok := strings.CutPrefix(o.model, "replay:"); ok {
		if o.answers != "" {
			return opt, usageError{fmt.Errorf("--model replay:PATH names the answers; --answers does not go with it")}
		}
		opt.Answers, opt.OnMiss = path, runner.MissFail
		if m, err := rundir.ReadManifest(path); err == nil { // else it is a cassette
			opt.Model = m.Model
		}
	}
	if o.durability != "" {
		d, err := persistence.ParseDurability(o.durability)
		if err != nil {
			return opt, usageError{err}
		}
		opt.Durability = d
	}
	switch o.output {
	case "json":
		o.json = true
	case "", "text":
	default:
		return opt, usageError{fmt.Errorf("-o %q: want json or text", o.output)}
	}
	switch o.summary {
	case "full", "compact", "none":
	default:
		return opt, usageError{fmt.Errorf("--summary %q: want full, compact or none", o.summary)}
	}
	return opt, nil
}

func (o *runOptions) start(dir string, opt runner.Options, e *env) (*runner.Runner, error) {
	opt.ProjectDir = dir
	if o.resume != "" {
		return runner.Resume(o.resume, opt)
	}
	p, err := loadProject(dir, o.plugins, opt.For > 0 || opt.Ticks > 0 || opt.Until != "")
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings {
		if !o.quiet {
			fmt.Fprintf(e.err, "warning: %s\n", w)
		}
	}
	return runner.Start(p, opt)
}

// runOnce runs to the end, over failures that can be outlived.
func (o *runOptions) runOnce(ctx context.Context, e *env, dir string, opt runner.Options) (*rundir.Summary, error) {
	first := *o
	plan := runner.Restarts{
		DiskWait: time.Duration(o.diskWait), Metrics: opt.Metrics,
		Tell: func(text string) { fmt.Fprintln(e.err, text) },
		Guard: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		},
		Attempt: func(resume string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error) {
			life, opt := first, opt
			opt.Crashes = crashes
			if resume != "" {
				life.resume, opt.Finish, opt.Budget = resume, true, nil // the manifest has it
			}
			return life.runLife(ctx, e, dir, opt)
		},
	}
	return plan.Run(ctx)
}

func (o *runOptions) runLife(parent context.Context, e *env, dir string, opt runner.Options) (*rundir.Summary, error) {
	c, ready := make(chan os.Signal, 4), make(chan *runner.Runner, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGTSTP)
	defer signal.Stop(c)
	ctx, stop := context.WithCancel(parent)
	defer stop()
	signals := watchSignals(ctx, e.err, c, ready)
	say, restored := working(e.err, o.quiet)
	opt.Recovering, opt.Log = say, warnings(e.err, o.quiet)
	r, err := o.start(dir, opt, e)
	restored()
	if err != nil {
		return nil, err
	}
	ready <- r
	defer context.AfterFunc(parent, r.Interrupt)()
	progress := showProgress(ctx, e.err, r, o.quiet)
	sum, err := r.Wait()
	stop()
	<-progress
	<-signals
	return sum, err
}

// watchSignals stops gracefully at the first signal and at once at the second,
// from before the run stands, which comes through ready, until ctx ends.
func watchSignals(ctx context.Context, w io.Writer, c <-chan os.Signal, ready <-chan *runner.Runner) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var r *runner.Runner
		stopping := false
		for {
			select {
			case <-ctx.Done():
				return
			case r = <-ready:
				if stopping {
					r.Interrupt()
				}
			case s := <-c:
				switch {
				case s == syscall.SIGTSTP:
					pauseProcess(ctx, w, r)
				case stopping:
					stopAtOnce(w, r)
				default:
					stopping = true
					fmt.Fprintln(w, "\nstopping after the current moment; press Ctrl-C again to stop at once")
					if r != nil {
						r.Interrupt()
					}
				}
			}
		}
	}()
	return done
}

func stopAtOnce(w io.Writer, r *runner.Runner) {
	if r != nil {
		fmt.Fprintf(w, "\nstopped at once; what was kept is safe: simd run --resume %s\n", r.Dir)
	}
	os.Exit(exitInterrupted)
}

// pauseProcess pauses the scenes, then the process as Ctrl-Z asked; when the
// shell continues it, the scenes go on.
func pauseProcess(ctx context.Context, w io.Writer, r *runner.Runner) {
	fmt.Fprintln(w, "\npausing")
	if r != nil && !r.Pause(ctx) {
		return
	}
	fmt.Fprintln(w, "paused; everything is durable. Continue with fg")
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	if r != nil {
		r.Continue()
	}
}

func (o *runOptions) runRepeat(ctx context.Context, e *env, dir string, opt runner.Options) error {
	var first *rundir.Summary
	var sums []*rundir.Summary
	for i := range o.repeat {
		each := opt
		if opt.Dir != "" {
			each.Dir = filepath.Join(opt.Dir, fmt.Sprintf("repeat-%d", i+1))
		} else if i > 0 {
			each.Dir = filepath.Join(filepath.Dir(first.RunDir), fmt.Sprintf("%s-repeat-%d", filepath.Base(first.RunDir), i+1))
		}
		if first != nil {
			each.Seeds = first.Seeds()
		}
		sum, err := o.runOnce(ctx, e, dir, each)
		if err != nil {
			return err
		}
		if sum.Resumable && exhausted(sum) {
			return budgetExit(e, sum)
		}
		if sum.Resumable {
			fmt.Fprintln(e.err, "interrupted; nothing was compared")
			return &exit{code: exitInterrupted}
		}
		if first == nil {
			first = sum
		}
		sums = append(sums, sum)
	}
	if err := o.compare(e, sums, opt.Metrics); err != nil || !exhausted(first) {
		return err
	}
	return budgetExit(e, first)
}

func (o *runOptions) compare(e *env, sums []*rundir.Summary, counts *metrics.Set) error {
	if o.json {
		if err := writeJSON(e.out, sums); err != nil {
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
			return &exit{code: exitDivergence, err: protocol.Errorf(protocol.KindConflict, "run 1 and run %d differ: %s in %s, %s in %s", i+2, a, sums[0].RunDir, b, s.RunDir)}
		}
	}
	fmt.Fprintf(e.err, "%d runs, the same digest: %s\n", len(sums), sums[0].Digests())
	return nil
}

func (o *runOptions) show(e *env, sum *rundir.Summary) error {
	if o.json {
		return writeJSON(e.out, sum)
	}
	if o.summary == "none" {
		return nil
	}
	return writeSummary(e.out, sum, o.summary == "compact")
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
