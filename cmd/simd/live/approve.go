package live

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools/approvals"
	"tavernsim/tools/secrets"
)

type approveOptions struct {
	reason string
	value  string
	answer string
	json   bool
}

// NewApprove is `simd approve`.
func NewApprove(e *cli.Env) *cobra.Command {
	var o approveOptions
	c := &cobra.Command{
		Use:   "approve DIR [ID yes|no]",
		Short: "Answer a run that asks whether a call may be made",
		Long: `List the calls that a run asks about, or answer one. A run asks because a rule of its
project's tool_policy says so, and only with simd run --ask wait. The answer counts for
that one call; the agent is told the reason. Silence is a no. A question of the kind value
asks for a secret: the agent can use it, and no file, fact, log or model has it. A question of
the kind form comes from the MCP server that carries out a call and wants to know something
before it answers: give it with --answer. Question and answer are kept with the call.

Exit codes: 0 listed or answered, 2 usage, 4 no such run or question, 6 answered already.`,
		Example: `  simd approve runs/latest
  simd approve runs/latest 3f9a1c02 yes
  simd approve runs/latest 3f9a1c02 no --reason "too expensive" --json
  simd approve runs/latest 5c22e8d0 yes --answer '{"guests": 4}'
  pass show npm | simd approve runs/latest 77ab03e1 yes --value-file -`,
		Args: cobra.MatchAll(cobra.RangeArgs(1, 3), func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return cli.Usagef("say yes or no to %s", args[1])
			}
			return nil
		}),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	c.Flags().StringVar(&o.reason, "reason", "", "`TEXT` that the agent is told")
	c.Flags().StringVar(&o.value, "value-file", "", "`FILE` with the secret that is asked for, - = standard input; one line break at its end is left out")
	c.Flags().StringVar(&o.answer, "answer", "", "`JSON` object with the fields that a form asks for")
	c.Flags().BoolVar(&o.json, "json", false, "print the open questions as JSON; of an answer {id, verdict, reason, answer}")
	return c
}

func (o *approveOptions) run(e *cli.Env, args []string) error {
	if _, err := rundir.ReadManifest(args[0]); err != nil {
		return err
	}
	dir := rundir.Approvals(args[0])
	if len(args) == 1 {
		return o.list(e, dir)
	}
	if args[2] != "yes" && args[2] != "no" {
		return cli.Usagef("%q: want yes or no", args[2])
	}
	if len(o.reason) > maxReason {
		return cli.Usagef("--reason: at most %d bytes", maxReason)
	}
	v := approvals.Verdict{Yes: args[2] == "yes", Reason: o.reason}
	if err := v.ReadAnswer(o.answer); err != nil {
		return cli.Usagef("--answer: %w", err)
	}
	if err := o.say(e, dir, args[1], v); err != nil || !o.json {
		return err
	}
	return show.JSON(e.Out, approved{args[1], args[2], v.Reason, v.Answer})
}

// approved is an answer that was given. The value of a secret is not shown.
type approved struct {
	ID      string         `json:"id"`
	Verdict string         `json:"verdict"` // yes or no
	Reason  string         `json:"reason"`
	Answer  map[string]any `json:"answer,omitempty"` // to a form
}

// say answers a question.
func (o *approveOptions) say(e *cli.Env, dir, id string, v approvals.Verdict) error {
	if v.Yes {
		if done, err := o.give(e, dir, id); done || err != nil {
			return err
		}
	}
	err := approvals.Answer(dir, id, v)
	if protocol.KindOf(err) == protocol.KindInvalid {
		return cli.Usage(err)
	}
	return err
}

// give answers a question for a secret; false = it is another one.
func (o *approveOptions) give(e *cli.Env, dir, id string) (done bool, err error) {
	open, _ := approvals.List(dir) // whoever answers is told that this one cannot be read
	i := slices.IndexFunc(open, func(q approvals.Question) bool { return q.ID == id })
	asked := i >= 0 && open[i].Kind == approvals.KindValue
	switch {
	case i >= 0 && !asked && o.value != "":
		return false, cli.Usagef("--value-file: the question %s asks for leave, not for a secret", id)
	case asked && o.value == "":
		return false, cli.Usagef("the question %s asks for a secret; give it with --value-file FILE", id)
	case !asked:
		return false, nil
	}
	in := e.In
	if o.value != "-" {
		f, err := os.Open(o.value)
		if err != nil {
			return false, protocol.Errorf(protocol.KindNotFound, "--value-file: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, approvals.MaxValue+2))
	if err != nil {
		return false, err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	key, _ := open[i].Params["key"].(string)
	if err := secrets.Check(key, value); err != nil {
		return false, cli.Usage(err)
	}
	return true, approvals.AnswerValue(dir, id, value, o.reason)
}

const maxReason = 1024 // bytes

func (o *approveOptions) list(e *cli.Env, dir string) error {
	open, err := approvals.List(dir)
	if o.json {
		return cmp.Or(show.JSON(e.Out, append([]approvals.Question{}, open...)), err)
	}
	for _, q := range open {
		fmt.Fprintf(e.Out, "%s  until %s  %s %s: %s\n", q.ID, q.Until.Local().Format(time.TimeOnly), q.Scene, terminal.Plain(q.Agent), terminal.Plain(q.Tool))
		for _, line := range q.Lines() {
			fmt.Fprintln(e.Out, "    "+terminal.Plain(line))
		}
	}
	return err
}
