package views

import (
	"context"
	"fmt"
	"strings"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/chart"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/deadletters"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/plot"
	"tavernsim/scenes/view/trips"
)

func (x *inspecting) summarized() (*inspect.Summary, error) {
	newest := uint64(0)
	if x.newest() {
		newest = inspect.Newest
	}
	return x.scene.Summary(newest)
}

func (x *inspecting) summary([]string) error {
	v, err := x.summarized()
	if err != nil {
		return err
	}
	return x.to.Summary(v, x.scene.RunBy())
}

// newest: another process runs the scene, and is to notice the view as little as possible.
func (x *inspecting) newest() bool { return !x.o.all && x.scene.RunBy() != "" }

func (x *inspecting) agents([]string) error {
	var all *inspect.AgentList
	priced := len(x.run.Manifest.Endpoints)+x.run.Manifest.Answers > 0 // else nothing cost anything
	err := show.Lines(&x.to, x.to.Agents(priced), func(limit int, yield func(inspect.AgentLine) error) (err error) {
		all, err = x.scene.Agents(inspect.AgentQuery{Profile: x.o.profile, State: x.o.state, Name: x.o.name, Failed: x.o.failed, Sort: x.o.sort, Limit: limit, Newest: x.newest()})
		if err != nil {
			return err
		}
		return each(all.Agents, limit, yield)
	})
	if err == nil && !x.o.json {
		fmt.Fprintf(x.Err, "%s of %s agents\n", terminal.Thousands(all.Found), terminal.Thousands(all.Total))
		if !all.Whole {
			fmt.Fprintln(x.Err, "while the run goes on, inboxes and costs are counted with --all, which reads every fact")
		}
	}
	return err
}

// each hands over what is there already.
func each[T any](lines []T, limit int, yield func(T) error) (err error) {
	for i := 0; err == nil && i < len(lines) && (limit == 0 || i < limit); i++ {
		err = yield(lines[i])
	}
	return err
}

// oneAgent asks a run that another process carries out for the agent as it is. If it does not answer, as one
// that waits for a model or for Ctrl-Z to end, the facts are read.
func (x *inspecting) oneAgent(args []string) error {
	var v *inspect.AgentView
	seen, err := (*glance.Seen)(nil), error(nil)
	if x.newest() && x.o.at == "" {
		seen, err = orders.See(context.Background(), x.to.Dir, x.scene.ID, args[0])
	}
	if seen != nil {
		v, err = x.scene.Shown(args[0], seen)
	} else {
		if err != nil && !x.o.quiet {
			fmt.Fprintf(x.Err, "the run does not show %s (%v); its facts are read\n", args[0], err)
		}
		v, err = x.scene.Agent(args[0], x.o.at)
	}
	if err != nil {
		return err
	}
	return x.to.Agent(v)
}

func (x *inspecting) budgets([]string) error {
	return show.Lines(&x.to, x.to.Budgets(), func(limit int, yield func(inspect.BudgetLine) error) error {
		lines, err := x.scene.Budgets()
		if err != nil {
			return err
		}
		return each(lines, limit, yield)
	})
}

// world shows the document, or what differs between two moments.
func (x *inspecting) world(args []string) error {
	if x.flags.Changed("diff") {
		return x.worldDiff(args)
	}
	if len(args) > 1 {
		return cli.Usagef("world takes one path; two moments are compared with --diff A B")
	}
	v, err := x.scene.World(strings.Join(args, ""), x.o.at, x.newest())
	if err != nil {
		return err
	}
	return x.to.World(v)
}

// moments are the two of --diff: A..B, or A and the last argument.
func (x *inspecting) moments(args []string) (from, to string, rest []string, err error) {
	if a, b, ok := strings.Cut(x.o.diff, ".."); ok {
		return a, b, args, nil
	}
	if len(args) == 0 {
		return "", "", nil, cli.Usagef("--diff wants two moments: --diff 0s end, or --diff 0s..end")
	}
	last := len(args) - 1
	return x.o.diff, args[last], args[:last], nil
}

func (x *inspecting) worldDiff(args []string) error {
	from, to, rest, err := x.moments(args)
	if err != nil {
		return err
	}
	if len(rest) > 1 || x.o.at != "" {
		return cli.Usagef("world --diff takes one path and no --at")
	}
	d, err := x.scene.Diff(strings.Join(rest, ""), from, to)
	if err != nil {
		return err
	}
	return x.to.WorldDiff(d)
}

func (x *inspecting) events([]string) error {
	q := inspect.EventQuery{Span: x.span(), Types: x.o.types, Source: x.o.source, Receiver: x.o.receiver, Priority: x.o.priority, Trace: x.o.trace, Refused: x.o.refused}
	return show.Lines(&x.to, x.to.Events(), func(limit int, yield func(inspect.EventLine) error) error {
		q.Limit = limit
		return x.scene.Events(q, yield)
	})
}

func (x *inspecting) criticalPath([]string) error {
	c, err := x.scene.CriticalPath()
	if err != nil {
		return err
	}
	return x.to.CriticalPath(c)
}

func (x *inspecting) orders([]string) error {
	return show.Lines(&x.to, x.to.Orders(), func(_ int, yield func(inspect.OrderLine) error) error { return x.scene.Orders(yield) })
}

func (x *inspecting) script([]string) error {
	v, err := plot.Of(x.scene)
	if err != nil {
		return err
	}
	return x.to.Script(v)
}

func (x *inspecting) space([]string) error {
	v, err := chart.Of(x.scene, x.o.at, x.o.all)
	if err != nil {
		return err
	}
	return x.to.Space(v)
}

func (x *inspecting) facts([]string) error {
	q := inspect.FactQuery{Span: x.span(), Kinds: x.o.kinds, Actor: x.o.actor}
	return show.Lines(&x.to, x.to.Facts(), func(limit int, yield func(inspect.FactLine) error) error {
		q.Limit = limit
		return x.scene.Facts(q, yield)
	})
}

func (x *inspecting) deliberation(args []string) error {
	x.scene.Askers = func(q *protocol.ModelRequest, hash string) (map[string]string, error) {
		return runner.Askers(x.run.Project, q, hash)
	}
	d, err := x.scene.Deliberation(args[0])
	if err == nil && x.o.against != "" {
		err = compare.Questions(x.scene.ID, d, x.o.against)
	}
	if err != nil {
		return err
	}
	return x.to.Deliberation(d, x.o.against)
}

func (x *inspecting) audit([]string) error {
	q := audit.Query{Span: x.span(), Path: x.o.path, Agent: x.o.agent, Tool: x.o.tool, What: x.o.what, Tags: x.o.tags}
	return show.Lines(&x.to, x.to.Audit(), func(limit int, yield func(inspect.Change) error) error {
		q.Limit = limit
		return audit.List(x.scene, q, yield)
	})
}

func (x *inspecting) trips([]string) error {
	q := trips.Query{Span: x.span(), Agent: x.o.agent}
	return show.Lines(&x.to, x.to.Trips(), func(limit int, yield func(trips.Trip) error) error {
		q.Limit = limit
		return trips.List(x.scene, q, yield)
	})
}

func (x *inspecting) artifacts([]string) error {
	q := artifacts.Query{Span: x.span(), Agent: x.o.agent}
	return show.Lines(&x.to, x.to.Artifacts(), func(limit int, yield func(artifacts.Line) error) error {
		q.Limit = limit
		return artifacts.List(x.run.Dir, x.scene, q, yield)
	})
}

// artifact writes the bytes of one.
func (x *inspecting) artifact(args []string) error {
	data, err := artifacts.Read(x.run.Dir, args[0])
	if err == nil {
		_, err = x.Out.Write(data)
	}
	return err
}

func (x *inspecting) letterQuery() inspect.DeadLetterQuery {
	return inspect.DeadLetterQuery{Span: x.span(), Reasons: x.o.reasons, Types: x.o.types, Agent: x.o.agent}
}

func (x *inspecting) deadLetters([]string) error {
	if x.o.again {
		return cli.Usagef("--again needs --redeliver")
	}
	q := x.letterQuery()
	if x.o.group != "" {
		groups, err := x.scene.GroupDeadLetters(q, x.o.group)
		if err != nil {
			return err
		}
		return x.to.LetterGroups(x.o.group, groups)
	}
	return show.Lines(&x.to, x.to.DeadLetters(), func(limit int, yield func(deadletters.Letter) error) error {
		q.Limit = limit
		return x.scene.DeadLetters(q, yield)
	})
}

// redeliver sends dead letters again.
func (x *inspecting) redeliver() error {
	if x.o.group != "" || x.o.limit >= 0 {
		return cli.Usagef("--redeliver takes --reason, --type, --agent, --since, --until and --again")
	}
	r, err := inspect.Redeliver(x.to.Dir, x.o.scene, x.letterQuery(), x.o.again)
	if err != nil {
		return err
	}
	return x.to.Redelivery(r)
}

func (x *inspecting) traceEvent(args []string) error {
	t, err := x.scene.Trace(args[0], inspect.TraceOptions{Depth: x.o.depth, Width: x.o.width, All: x.o.all})
	if err != nil {
		return err
	}
	return x.to.Trace(t)
}
