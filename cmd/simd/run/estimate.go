package run

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/scenes/run/estimate"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// estimateFor bounds the wall time for which a scene is played.
const estimateFor = 20 * time.Second

// sayEstimate prints what a run would cost.
func (o *runOptions) sayEstimate(ctx context.Context, e *cli.Env, dir string, opt runner.Options) error {
	p, err := cli.LoadProject(dir, o.plugins, opt.For > 0 || opt.Ticks > 0 || opt.Until != "")
	if err != nil {
		return cli.Quietly(err, o.quiet)
	}
	for _, w := range p.Warnings {
		if !o.quiet {
			cli.Warn(e.Err, fmt.Sprint(w))
		}
	}
	opt.ProjectDir = dir
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := estimate.Run(ctx, p, opt, estimateFor)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted}
	case o.json:
		return show.JSON(e.Out, r)
	}
	return writeEstimate(e.Out, r)
}

func writeEstimate(w io.Writer, r *estimate.Report) error {
	var b strings.Builder
	for i := range r.Scenes {
		s := &r.Scenes[i]
		fmt.Fprintf(&b, "%s  %s for %s of scene time; %s played for %s with scripts\n", s.Scene, terminal.Plural(s.Agents, "agent"), terminal.Span(s.Seconds), terminal.Thousands(s.Played), terminal.Span(s.PlayedSeconds))
		if len(s.Models) == 0 {
			fmt.Fprintln(&b, "  no model at an endpoint would be asked: it costs nothing")
		}
		for k := range s.Models {
			m := &s.Models[k]
			fmt.Fprintf(&b, "  %s: %s at %s, %s\n", m.Model, m.Asked, m.Endpoint, m.Price)
			fmt.Fprintf(&b, "    expected  %s calls  tokens in=%s out=%s%s\n", terminal.Thousands(m.Calls), terminal.Short(float64(m.Input)), terminal.Short(float64(m.Output)), inDollars(m, m.Cost, fmt.Sprintf(" (%s to %s)", price.Dollars(m.Low), price.Dollars(m.High))))
			fmt.Fprintf(&b, "    at most   %s calls  tokens in=%s out=%s%s\n", terminal.Thousands(m.Calls), terminal.Short(float64(m.MaxInput)), terminal.Short(float64(m.MaxOutput)), inDollars(m, m.Worst, ""))
		}
	}
	fmt.Fprintf(&b, "total: %s expected, %s at most\n", price.Dollars(r.Cost), price.Dollars(r.Worst))
	if len(r.Unknown) > 0 {
		fmt.Fprintf(&b, "  without %s, for which no price is known: add prices or free to the endpoint in providers.yaml\n", strings.Join(r.Unknown, ", "))
	}
	for i := range r.Budgets {
		writeBudget(&b, &r.Budgets[i])
	}
	for _, a := range r.Assumed {
		fmt.Fprintf(&b, "  assumed: %s\n", a)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBudget says whether a budget would suffice.
func writeBudget(w io.Writer, x *estimate.Budget) {
	say := func(s rundir.Spent) string {
		return fmt.Sprintf("%s tokens, %s calls, %s", terminal.Short(float64(s.Tokens)), terminal.Thousands(s.Calls), price.Dollars(s.Nano))
	}
	verdict := map[string]string{estimate.Suffices: "suffices", estimate.Perhaps: "suffices for what is expected, and not for the most", estimate.TooSmall: "does not suffice"}[x.Suffices]
	fmt.Fprintf(w, "budget of %s (%s) %s: %s expected, %s at most\n", strings.Replace(x.Ledger, ":", " ", 1), x.Budget, verdict, say(x.Expected), say(x.Worst))
}

func inDollars(m *estimate.Model, nano int64, spread string) string {
	if !m.Priced {
		return ""
	}
	return "  " + price.Dollars(nano) + spread
}
