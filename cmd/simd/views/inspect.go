// Package views has the commands that show what a run did: inspect, diff, export,
// files.
package views

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/progress"
	"tavernsim/internal/show"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/inspect"
)

// inspectOptions are the flags of all views; each view takes some of them.
type inspectOptions struct {
	scene string
	json  bool
	quiet bool

	at, since, until, wave, diff string
	limit                        int
	profile, state, name, sort   string
	failed                       bool
	types                        []string
	source, receiver             string
	priority, trace              string
	refused                      bool
	kinds                        []string
	actor                        string
	path, agent, tool            string
	what, tags                   []string
	reasons                      []string
	group, against               string
	redeliver, again             bool
	depth, width                 int
	all                          bool
	follow                       bool
}

// view is one way to look at a run.
type view struct {
	name  string
	args  string // behind the name
	least int    // arguments it needs
	most  int
	flags string // that it takes beside those of all views
	short string
	run   func(*inspecting, []string) error
}

// Names are the names of the views of `simd inspect`.
func Names() (names []string) {
	for _, v := range views() {
		names = append(names, v.name)
	}
	return names
}

func views() []view {
	return []view{
		{"summary", "", 0, 0, "all", "the run, its progress, failures, where to look next", (*inspecting).summary},
		{"agents", "", 0, 0, "profile state name failed sort limit all", "every agent: turns, failures, calls, whether it sleeps", (*inspecting).agents},
		{"agent", "ID", 1, 1, "at all", "one agent: private state, goals, inbox, history, last deliberations", (*inspecting).oneAgent},
		{"budgets", "", 0, 0, "limit", "what models may take: limits, used, held by requests that are out, left, refusals", (*inspecting).budgets},
		{"world", "[PATH]", 0, 2, "at diff all", "the world at a moment, or the difference between two moments", (*inspecting).world},
		{"events", "", 0, 0, "type source receiver priority trace refused since until limit follow", "each event with its publisher and receivers", (*inspecting).events},
		{"facts", "", 0, 0, "kind actor since until wave limit follow", "the journal itself, decoded", (*inspecting).facts},
		{"deliberation", "AGENT/TURN|SEQ", 1, 1, "against", "one turn: what it perceived, answered and did, and the effects", (*inspecting).deliberation},
		{"audit", "", 0, 0, "path agent tool what tag since until limit", "each change of a value or file: agent, old and new value, reason, call; calls and tasks", (*inspecting).audit},
		{"critical-path", "", 0, 0, "", "which calls of models the run waited for, by agent and profile, and what a schedule could gain", (*inspecting).criticalPath},
		{"orders", "", 0, 0, "limit", "what somebody outside ordered; with --json a file for simd run --orders", (*inspecting).orders},
		{"script", "", 0, 0, "", "the script of the scene: state, variables, collections, history, outcome", (*inspecting).script},
		{"space", "", 0, 0, "at all", "where agents are, with a picture of the map", (*inspecting).space},
		{"trips", "", 0, 0, "agent since until limit", "who left for other scenes and came from them, and what became of it", (*inspecting).trips},
		{"artifacts", "", 0, 0, "agent since until limit", "files that calls left, and outputs that are not shown whole", (*inspecting).artifacts},
		{"artifact", "ID", 1, 1, "", "the bytes of one of them", (*inspecting).artifact},
		{"dead-letters", "", 0, 0, "reason type agent since until limit group redeliver again", "refused messages; sends them again", (*inspecting).deadLetters},
		{"trace", "EVENT", 1, 1, "depth width all", "the causal tree of an event", (*inspecting).traceEvent},
	}
}

// NewInspect is `simd inspect`.
func NewInspect(e *cli.Env) *cobra.Command {
	var o inspectOptions
	c := &cobra.Command{
		Use:     "inspect DIR [VIEW] [flags]",
		Short:   "Show what happened in a run, and why",
		Long:    inspectHelp(),
		Example: inspectExamples,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(e, cmd.Flags(), args) },
	}
	o.register(c.Flags())
	return c
}

const inspectExamples = `  simd inspect runs/latest
  simd inspect runs/latest agents --sort failures --limit 10
  simd inspect runs/latest agent mira --at 90s
  simd inspect runs/latest budgets
  simd inspect runs/latest world market.salt --at wave:40
  simd inspect runs/latest world --diff 0s end
  simd inspect runs/latest events --type 'market.*' --since 1h --json
  simd inspect runs/latest events --follow
  simd inspect runs/latest deliberation mira/12
  simd inspect runs/latest deliberation mira/12 --against runs/yesterday
  simd inspect runs/latest audit --path market.salt.price
  simd inspect runs/latest critical-path
  simd inspect runs/latest orders --json >orders.jsonl
  simd inspect runs/latest script
  simd inspect runs/latest --scene town trips
  simd inspect runs/latest artifacts
  simd inspect runs/latest artifact artifact:sha256-1f2e3d >page.txt
  simd inspect runs/latest dead-letters --group reason
  simd inspect runs/latest trace evt_17`

func inspectHelp() string {
	var b strings.Builder
	b.WriteString("Read a run directory and show what happened in it. The command asks no model,\nand writes only with dead-letters --redeliver. Views:\n\n")
	for _, v := range views() {
		fmt.Fprintf(&b, "  %-28s %s\n", strings.TrimSpace(v.name+" "+v.args), v.short)
	}
	b.WriteString(`
A moment is a scene time (2026-01-01T08:00:00Z), an offset from the start (90s,
1h), wave:N, seq:N or end; for the world also version:N. The range of --since and
--until includes both ends. Lists show 50 rows; --limit 0 shows all, and --json prints
all, one object per line. With --follow a list begins with the next row, or at
--since, and goes on until the scene has ended, Ctrl-C, or --limit rows.

Exit codes: 0 shown, 2 wrong command line, 4 no such run, agent, event, view or
moment, 6 --redeliver into a run that another process uses or that has ended, 8 the
output is incomplete: the journal is damaged or has lost its end, 130 --follow was
ended by Ctrl-C.`)
	return b.String()
}

func (o *inspectOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.scene, "scene", "", "`ID` of the scene, if the run has several")
	f.BoolVar(&o.json, "json", false, "print JSON: one object, or one per line for lists")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	f.StringVar(&o.at, "at", "", "`MOMENT` to look at; default: the end")
	f.StringVar(&o.diff, "diff", "", "two moments `A B` to compare, or A..B")
	f.StringVar(&o.since, "since", "", "from this `MOMENT` on")
	f.StringVar(&o.until, "until", "", "up to this `MOMENT`")
	f.StringVar(&o.wave, "wave", "", "waves `A..B`, or one")
	f.IntVar(&o.limit, "limit", -1, "at most `N` rows; 0: all. Default 50, with --json all")
	f.StringVar(&o.profile, "profile", "", "agents of this profile `ID`")
	f.StringVar(&o.state, "state", "", "agents that are idle, asleep, resting, blocked, given_up or away")
	f.StringVar(&o.name, "name", "", "agents whose id contains this `TEXT`")
	f.BoolVar(&o.failed, "failed", false, "agents with failures")
	f.StringVar(&o.sort, "sort", "", "order: "+strings.Join(inspect.AgentSorts(), ", "))
	f.StringSliceVar(&o.types, "type", nil, "event `TYPE`, or prefix.*; may be repeated")
	f.StringVar(&o.source, "source", "", "published by this agent `ID`")
	f.StringVar(&o.receiver, "receiver", "", "heard by this agent `ID`, or directed to it")
	f.StringVar(&o.receiver, "target", "", "the same as --receiver")
	f.StringVar(&o.priority, "priority", "", "low, normal, high or critical")
	f.StringVar(&o.trace, "trace", "", "of this trace `ID`")
	f.BoolVar(&o.refused, "refused", false, "only refused events")
	f.StringSliceVar(&o.kinds, "kind", nil, "`KIND` of fact, or prefix.*; may be repeated")
	f.StringVar(&o.actor, "actor", "", "decided by this `ACTOR`: an agent, $scene, or a service as $world")
	f.StringVar(&o.path, "path", "", "at or below this `PATH`, with * and **")
	f.StringVar(&o.agent, "agent", "", "only of this agent `ID`: its changes, trips, artifacts, and letters from it and to it")
	f.StringVar(&o.tool, "tool", "", "calls of this `TOOL`, or prefix*")
	f.StringSliceVar(&o.what, "what", nil, strings.Join(audit.Whats(), ", "))
	f.StringSliceVar(&o.tags, "tag", nil, "state commands with this `TAG`; may be repeated: with any of them")
	f.StringSliceVar(&o.reasons, "reason", nil, "refused for this `REASON`")
	f.StringVar(&o.group, "group", "", "count by reason, type or source")
	f.BoolVar(&o.redeliver, "redeliver", false, "send them again when the run is resumed")
	f.BoolVar(&o.again, "again", false, "include those that were already sent again")
	f.IntVar(&o.depth, "depth", 0, "events below one another; default 8")
	f.IntVar(&o.width, "width", 0, "reactions per event; default 8")
	f.BoolVar(&o.all, "all", false, "the whole tree; all agents of a map; else every fact of a run that goes on")
	f.StringVar(&o.against, "against", "", "run directory or cassette `FILE`: where its nearest recorded question differs first")
	f.BoolVar(&o.follow, "follow", false, "go on with new rows, until the scene has ended")
	f.VisitAll(func(flag *pflag.Flag) {
		if taken := viewsWith(flag.Name); len(taken) > 0 {
			flag.Usage += " (" + strings.Join(taken, ", ") + ")"
		}
	})
	cli.Least(f, 0, "limit", "depth", "width")
}

// viewsWith are the views that take a flag; none = all of them do.
func viewsWith(flag string) (names []string) {
	for _, v := range views() {
		if slices.Contains(strings.Fields(v.flags), ownName(flag)) {
			names = append(names, v.name)
		}
	}
	return names
}

// ownName is the name of a flag in the table.
func ownName(flag string) string {
	if flag == "target" {
		return "receiver"
	}
	return flag
}

// run finds the view and checks that the command line fits it.
func (o *inspectOptions) run(e *cli.Env, flags *pflag.FlagSet, args []string) error {
	name, rest := "summary", args[1:]
	if len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	v, err := findView(name)
	if err != nil {
		return err
	}
	if err := v.check(flags, rest); err != nil {
		return cli.Usage(err)
	}
	x := &inspecting{Env: e, o: o, flags: flags, to: show.Scene{Out: e.Out, Err: e.Err, JSON: o.json, Dir: args[0], Limit: o.limit}}
	if o.follow {
		return cli.Given(x.follow(v, rest))
	}
	if name == "dead-letters" && o.redeliver {
		return cli.Given(x.redeliver())
	}
	return cli.Given(x.look(v, rest))
}

func findView(name string) (*view, error) {
	all := views()
	if i := slices.IndexFunc(all, func(v view) bool { return v.name == name }); i >= 0 {
		return &all[i], nil
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "no view %q; %s", name, cmp.Or(source.Suggest(name, Names()), "there are "+strings.Join(Names(), ", ")))
}

// check refuses flags and arguments of other views: what has no effect is a
// mistake.
func (v *view) check(flags *pflag.FlagSet, rest []string) (err error) {
	if len(rest) < v.least || len(rest) > v.most {
		return fmt.Errorf("usage: simd inspect DIR %s", strings.TrimSpace(v.name+" "+v.args))
	}
	own := append(strings.Fields(v.flags), "scene", "json", "quiet", "help")
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(own, ownName(f.Name)) {
			err = fmt.Errorf("--%s does not go with %s; it takes %s", f.Name, v.name, flagNames(own))
		}
	})
	return err
}

func flagNames(names []string) string {
	var list []string
	for _, n := range names {
		if n != "help" {
			list = append(list, "--"+n)
		}
	}
	return strings.Join(list, ", ")
}

// inspecting is one look at a run.
type inspecting struct {
	*cli.Env
	to    show.Scene // what is seen goes there
	o     *inspectOptions
	flags *pflag.FlagSet
	run   *inspect.Run
	scene *inspect.Scene
	from  uint64 // first fact to show, of a run that is followed
	lost  bool   // a scene's journal lost its end
}

// look opens the run for the view and closes it again.
func (x *inspecting) look(v *view, args []string) (err error) {
	if x.run, err = inspect.Open(x.to.Dir); err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, x.run.Close()); err == nil && x.lost {
			err = &cli.Exit{Code: cli.ExitDivergence}
		}
	}()
	if v.name == "summary" && x.o.scene == "" {
		return x.summaries()
	}
	if err := x.enter(x.o.scene); err != nil {
		return err
	}
	read, clear := progress.Reading(x.Err, x.o.quiet)
	defer clear()
	x.scene.Progress = read
	return v.run(x, args)
}

func (x *inspecting) enter(id string) (err error) {
	if x.scene, err = x.run.Scene(id); err != nil {
		return err
	}
	x.lost = warnLost(x.Err, x.to.Dir, x.scene) || x.lost
	x.to.Begun, err = x.scene.Begun()
	return err
}

// warnLost tells of a journal that lost its end: what is shown is not all there
// was.
func warnLost(w io.Writer, dir string, s *inspect.Scene) bool {
	err := s.Lost()
	if err != nil {
		cli.Warn(w, fmt.Sprintf("%v; simd doctor %s says what can be saved", err, dir))
	}
	return err != nil
}

// summaries shows every scene of the run, in JSON as one object: that of its only scene, or all.
func (x *inspecting) summaries() error {
	all := struct {
		Scenes []*inspect.Summary `json:"scenes"`
	}{}
	together := x.o.json && len(x.run.Manifest.Scenes) > 1
	for i, id := range x.run.Manifest.Scenes {
		if err := x.enter(id); err != nil {
			return err
		}
		if i > 0 && !together {
			fmt.Fprintln(x.Out)
		}
		read, clear := progress.Reading(x.Err, x.o.quiet)
		x.scene.Progress = read
		v, err := x.summarized()
		if err == nil && !together {
			err = x.to.Summary(v, x.scene.RunBy())
		}
		clear()
		if err != nil {
			return err
		}
		all.Scenes = append(all.Scenes, v)
	}
	if together {
		return show.JSON(x.Out, &all)
	}
	return nil
}

func (x *inspecting) span() inspect.Span {
	return inspect.Span{Since: x.o.since, Until: x.o.until, Waves: x.o.wave, From: x.from}
}
