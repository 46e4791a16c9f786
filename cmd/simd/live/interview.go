package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/scenes/run/interview"
	"tavernsim/scenes/view/inspect"
)

type interviewOptions struct {
	interview.Question
	scene, model, providers string
	wait                    time.Duration
	json                    bool
}

// NewInterview is `simd interview`.
func NewInterview(e *cli.Env) *cobra.Command {
	var o interviewOptions
	c := &cobra.Command{
		Use:   "interview DIR AGENT QUESTION",
		Short: "Ask an agent something, without a trace in its run",
		Long: `Ask an agent of a run a question, as it is now or was at the end of --wave; the run may
be under way. A copy of the agent hears the event interview.question and deliberates
once, with its model. What it says is printed and kept in interviews.jsonl of the run
directory, with tokens and cost. What it would do is listed and not done: the run, its
journal and its digest stay as they are.

Exit codes: 0 it has deliberated, 1 its deliberation failed, or there was no answer within
--wait, 2 usage, also a faulty question, 4 no such run, agent or wave.`,
		Example: `  simd interview runs/latest mira "What do you want most?"
  simd interview runs/latest mira "Whom do you trust?" --wave 40 --json`,
		Args: cobra.ExactArgs(3),
		RunE: cli.UntilSignal(func(ctx context.Context, args []string) error { return o.run(ctx, e, args) }),
	}
	f := c.Flags()
	f.Uint64Var(&o.Wave, "wave", 0, "ask the agent as it was at the end of this wave; 0 = the newest")
	f.StringVar(&o.By, "by", "person", "who asks")
	f.StringVar(&o.scene, "scene", "", "`ID` of the scene, if the run has several")
	f.StringVar(&o.model, "model", "", "name of the model that answers (default: that of the run); scripted = scripts answer")
	f.StringVar(&o.providers, "providers", "", "`FILE` of endpoints (default: as for simd run)")
	f.DurationVar(&o.wait, "wait", 2*time.Minute, "how long to wait for the answer")
	f.BoolVar(&o.json, "json", false, "print the interview as JSON")
	cli.Least(f, 1, "wait")
	return c
}

func (o *interviewOptions) run(ctx context.Context, e *cli.Env, args []string) (err error) {
	o.Agent, o.Text = args[1], args[2]
	to, stop, err := cli.OpenEndpoints(o.providers)
	if err != nil {
		return err
	}
	defer stop()
	run, err := inspect.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	scene, err := run.Scene(o.scene)
	if err != nil {
		return err
	}
	models, err := interview.Models(run, scene.ID, o.model, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, models.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	a, err := interview.Run(ctx, scene, models.Provider(), o.Question)
	if a != nil { // also what could not be kept was paid
		err = errors.Join(err, o.show(e, a))
	}
	if err != nil {
		return cli.Given(err)
	}
	if a.Error != "" {
		return fmt.Errorf("the deliberation of %s failed: %s", a.Agent, a.Error)
	}
	return nil
}

func (o *interviewOptions) show(e *cli.Env, a *interview.Answer) error {
	if o.json {
		return show.JSON(e.Out, a)
	}
	fmt.Fprintf(e.Out, "%s, after wave %s:\n", terminal.Plain(a.Agent), terminal.Thousands(a.Wave))
	if a.Answer == "" {
		fmt.Fprintln(e.Out, "  (says nothing)")
	} else {
		fmt.Fprintf(e.Out, "  %s\n", terminal.Plain(a.Answer))
	}
	for _, c := range a.Calls {
		text := terminal.Plain(c.Tool) + "  " + c.Status
		if c.Params != nil {
			text += "  " + terminal.Plain(asText(c.Params))
		}
		fmt.Fprintf(e.Out, "  would call %s\n", text)
	}
	var in, out int64
	for _, m := range a.Models {
		in, out = in+m.Input, out+m.Output
	}
	cost := price.Dollars(a.Cost)
	if a.Unpriced {
		cost += " and what nobody knows the price of"
	}
	fmt.Fprintf(e.Out, "  %d answers of models  tokens in=%s out=%s  %s\n", len(a.Models), terminal.Short(float64(in)), terminal.Short(float64(out)), cost)
	return nil
}
