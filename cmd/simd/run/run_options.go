package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/control"
	"tavernsim/internal/flagvalue"
	"tavernsim/llm/replay"
	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/restarts"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/plugin"
	"tavernsim/tools/sandbox"
)

type runOptions struct {
	scenes     []string
	length     time.Duration
	ticks      int64
	schedule   string
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
	orders     string
	paused     bool
	people     bool
	pace       flagvalue.Pace
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

func (o *runOptions) register(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.scenes, "scene", nil, "scene `ID`; repeat it to run several side by side (default: the project's default scene)")
	f.DurationVar(&o.length, "for", 0, "scene time to run, for example 90m")
	f.StringVar(&o.until, "until", "", "stop when this `EXPR` over world and scene holds, for example 'world.day >= 3'")
	f.Int64Var(&o.ticks, "ticks", 0, "ticks of virtual time to run")
	f.Uint64Var(&o.seed, "seed", 0, "seed of all random choices (default: the scene's, else drawn and printed)")
	f.StringVar(&o.clock, "clock", "", "virtual or realtime (default: the scene's)")
	f.IntVar(&o.agents, "agents", 0, "total number of agents of all entries with a count")
	f.StringVar(&o.schedule, "schedule", "barrier", "barrier, tracked (turns whose questions to models are proved to be the same run ahead of their wave) or speculative (also those whose questions are likely the same; some calls are wasted); the history is the same")
	f.StringVar(&o.model, "model", "", "model for requests without a name: `NAME` of a file in models/; scripted = scripts answer for every model; replay:PATH = --answers PATH --on-miss fail, with the model of that run or cassette")
	cli.SecretsFlag(f, &o.secrets)
	cli.GrantsFlag(f, &o.grants)
	cli.PluginsFlag(f, &o.plugins)
	cli.ConfigFlags(f, &o.config)
	f.StringVar(&o.ask, "ask", "", "never = calls that the project's tool_policy asks about are denied, wait = simd approve answers (default never)")
	f.StringVar(&o.approvals, "approvals", "", "`FILE` with rules that answer when the tool_policy asks")
	f.DurationVar(&o.silence, "ask-timeout", tooling.DefaultSilence, "how long an answer is waited for; silence is a no")
	f.StringVar(&o.providers, "providers", "", "`FILE` with endpoints and keys (default: $SIMD_PROVIDERS, then simd/providers.yaml of your configuration folder)")
	f.StringVar(&o.answers, "answers", "", "recorded answers to take before an endpoint is asked: a run directory or a cassette `FILE`")
	f.StringVar(&o.onMiss, "on-miss", "", "ask an endpoint, or fail, if --answers has no answer to a question; default ask")
	f.StringVar(&o.store, "store", "", "folder `DIR` that keeps answers of endpoints to questions at temperature 0, for other runs; one process at a time uses it")
	f.StringVar(&o.budget, "budget", "", "most that models may take, `BUDGET` = parts with commas between them: tokens=N dollars=X calls=N window=run|day on_exhausted=end|pause|refuse|degrade:MODEL (default end); scenes have equal shares; with --resume it takes the place of the run's and the scenes'")
	f.StringVar(&o.orders, "orders", "", "`FILE` with orders from outside, each for its wave or time (simd inspect DIR orders --json prints those of a run)")
	f.BoolVar(&o.people, "interactive", false, "agents can ask people (PanelInteractionTool); simd interact shows the questions and answers them")
	f.BoolVar(&o.paused, "paused", false, "pause after the first wave; simd control goes on")
	f.Var(&o.pace, "pace", "at most `N` seconds of scene time in a second, on the virtual clock (default: as fast as it goes)")
	f.StringVar(&o.tools, "tools", "", "live = the tools of the project are carried out, mock = tools/mock.yaml answers for them, replay:DIR = the answers that calls got in the run DIR are given again, off = every call fails (default live)")
	f.StringVar(&o.out, "out", "", "run directory `DIR` (default: runs/TIME-SCENE)")
	f.StringVar(&o.resume, "resume", "", "resume the run in `DIR`")
	f.StringVar(&o.durability, "durability", "", "memory, process (survives a kill) or power (synced); default process")
	f.IntVar(&o.batch, "batch", 0, "facts per stored block, at most 1048576 (default 4096)")
	f.Int64Var(&o.snapshots.Facts, "snapshot-facts", 0, "facts between two snapshots (default 2000000; below 0 = only the other flags decide)")
	f.DurationVar(&o.snapshots.Every, "snapshot-every", 0, "scene time between two snapshots")
	f.Var(&o.snapBytes, "snapshot-bytes", "`SIZE` of the facts between two snapshots, before compression: 64MiB")
	f.StringVar(&o.keep, "keep", "", "history to keep, `KEEP` = waves:N, a scene time as 48h, or all; older facts are dropped after a snapshot (default all)")
	o.diskWait = flagvalue.Wait(restarts.Forever)
	f.Var(&o.diskWait, "disk-wait", "how long to wait if the journal cannot be written: a `TIME` (10m; 0 = end at once) or forever")
	cli.MetricsFlag(f, &o.metrics)
	f.BoolVar(&o.pprof, "pprof", false, "serve Go profiles at /debug/pprof/ of --metrics, on loopback only")
	f.IntVar(&o.repeat, "repeat", 1, "run `N` times and fail if the digests differ")
	f.StringVar(&o.summary, "summary", "full", "full, compact or none")
	f.BoolVar(&o.json, "json", false, "print the summary as one JSON object (short for -o json)")
	f.StringVarP(&o.output, "output", "o", "", "json or text")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no warnings")
	f.BoolVar(&o.estimate, "estimate", false, "say what the run would cost, and run nothing: see simd help run")
	cli.Least(f, 1, "for", "ticks", "agents", "batch", "repeat", "ask-timeout")
	cli.Least(f, 0, "snapshot-every")
}

func (o *runOptions) options(cmd *cobra.Command, e *cli.Env) (runner.Options, error) {
	opt := runner.Options{
		Scenes: o.scenes, Dir: o.out, Clock: agenda.ClockKind(o.clock), Agents: o.agents, Model: o.model, Answers: o.answers, OnMiss: o.onMiss, Sandbox: sandbox.New(sandbox.Options{}), Schedule: scenes.Schedule(o.schedule), For: o.length, Ticks: o.ticks, Until: o.until,
		Interactive: o.people, BatchFacts: o.batch, Snapshots: o.snapshots, Keep: o.keep, Version: cli.Version().Version, Args: e.Args,
	}
	opt.Snapshots.Bytes = int64(o.snapBytes)
	opt.Control = o.control()
	for i := range opt.Control {
		if err := opt.Control[i].Check(); err != nil {
			return opt, cli.Usagef("--%w", err)
		}
	}
	if err := opt.Snapshots.Validate(); err != nil {
		return opt, cli.Usage(err)
	}
	if _, err := persistence.ParseKeep(o.keep); err != nil {
		return opt, cli.Usagef("--keep: %w", err)
	}
	switch opt.Clock {
	case "", agenda.Virtual, agenda.Realtime:
	default:
		return opt, cli.Usagef("--clock %q: want virtual or realtime", o.clock)
	}
	if err := opt.Schedule.Check(); err != nil {
		return opt, cli.Usagef("--%w", err)
	}
	for _, bad := range []struct {
		is   bool
		text string
	}{
		{o.schedule == "", "--schedule: want barrier, tracked or speculative"},
		{o.resume != "" && o.repeat > 1, "--repeat starts new runs; it does not go with --resume"},
		{o.estimate && (o.resume != "" || o.out != "" || o.repeat > 1 || o.answers != "" || o.store != "" || strings.HasPrefix(o.model, "replay:") || strings.HasPrefix(o.tools, "replay:")), "--estimate runs nothing: --resume, --out, --repeat, --answers, --store, --model replay:PATH and --tools replay:DIR do not go with it"},
		{o.ask != "" && o.ask != askNever && o.ask != askWait, fmt.Sprintf("--ask %q: want never or wait", o.ask)},
		{o.ask == askNever && o.approvals != "", "--ask never asks nobody; --approvals does not go with it"},
		{o.silence > maxSilence, fmt.Sprintf("--ask-timeout %s: at most %s", o.silence, maxSilence)},
		{o.onMiss != "" && o.onMiss != runner.MissAsk && o.onMiss != runner.MissFail, fmt.Sprintf("--on-miss %q: want ask or fail", o.onMiss)},
		{o.batch > format.MaxFacts, fmt.Sprintf("--batch %d: want 1 to %d", o.batch, format.MaxFacts)},
		{o.onMiss != "" && o.answers == "", "--on-miss is for questions that --answers does not have; name a run directory or a cassette there, too"},
		{o.resume != "" && (o.length > 0 || o.ticks > 0 || o.until != ""), "--resume goes on to the end that the run was given; --for, --ticks and --until do not go with it"},
	} {
		if bad.is {
			return opt, cli.Usagef("%s", bad.text)
		}
	}
	if other := o.notResumed(cmd.Flags()); other != "" {
		return opt, cli.Usagef("--resume does not go with --%s: a run goes on in its folder, with what its manifest has; it goes with --%s", other, strings.Join(Resumable(), ", --"))
	}
	var err error
	if opt.Tools, opt.ToolAnswers, err = tooling.ParseMode(o.tools); err != nil {
		return opt, cli.Usagef("--%w", err)
	}
	if err := o.checkMetrics(); err != nil {
		return opt, err
	}
	if cmd.Flags().Changed("budget") {
		b, err := budget.Parse(o.budget)
		if err != nil {
			return opt, cli.Usagef("--budget %q: %w", o.budget, err)
		}
		opt.Budget = b
	}
	if cmd.Flags().Changed("seed") {
		opt.Seed = &o.seed
	}
	if path, ok := strings.CutPrefix(o.model, "replay:"); ok {
		if path == "" {
			return opt, cli.Usagef("--model replay: name a run directory or a cassette behind it")
		}
		if o.answers != "" {
			return opt, cli.Usagef("--model replay:PATH names the answers; --answers does not go with it")
		}
		opt.Answers, opt.OnMiss = path, runner.MissFail
		var err error
		if opt.Model, err = defaultModel(path); err != nil {
			return opt, err
		}
	}
	if o.durability != "" {
		d, err := persistence.ParseDurability(o.durability)
		if err != nil {
			return opt, cli.Usage(err)
		}
		opt.Durability = d
	}
	switch o.output {
	case "json":
		o.json = true
	case "", "text":
	default:
		return opt, cli.Usagef("-o %q: want json or text", o.output)
	}
	switch o.summary {
	case "full", "compact", "none":
	default:
		return opt, cli.Usagef("--summary %q: want full, compact or none", o.summary)
	}
	return opt, nil
}

// Resumable are the flags that go with --resume. A run keeps the others in its manifest.
func Resumable() []string {
	return strings.Fields("providers secrets grants plugin-config ask approvals ask-timeout schedule store budget orders paused pace metrics pprof " +
		"durability batch snapshot-facts snapshot-every snapshot-bytes keep disk-wait json output quiet summary")
}

// notResumed is a given flag that does not go with --resume, if that is given; "" = there is none.
func (o *runOptions) notResumed(f *pflag.FlagSet) (name string) {
	if o.resume == "" {
		return ""
	}
	f.Visit(func(x *pflag.Flag) {
		if x.Name != "resume" && x.Name != "repeat" && !slices.Contains(Resumable(), x.Name) {
			name = x.Name
		}
	})
	return name
}

// defaultModel is the model that answered requests without a name in the run whose answers are at a path; "" = that
// of its scene.
func defaultModel(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		m, err := rundir.ReadManifest(path)
		if err != nil {
			return "", err
		}
		return m.Model, nil
	}
	f, err := ownfile.Open(path)
	if err != nil {
		return "", protocol.Errorf(protocol.KindNotFound, "answers: %w", err)
	}
	defer f.Close()
	var first replay.Entry
	err = replay.Lines(path, f, func(e *replay.Entry) error { first = *e; return io.EOF }) // the run reads the others
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if first.Default == nil {
		return "", protocol.Errorf(protocol.KindInvalid, "%s does not say which model asked; say it: --model NAME --answers %s --on-miss fail", path, path)
	}
	return *first.Default, nil
}

// control are the commands with which the scenes begin.
func (o *runOptions) control() (list []control.Command) {
	if o.pace != 0 {
		list = append(list, control.Command{Do: control.Pace, Pace: float64(o.pace)})
	}
	if o.paused {
		list = append(list, control.Command{Do: control.Pause})
	}
	return list
}
