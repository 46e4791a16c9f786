package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/statecmd/script"
	"tavernsim/internal/show"
	"tavernsim/protocol"
)

type stateOptions struct {
	state  string
	prefix string
	script string
	now    string
}

func newState(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Apply state commands (tavern_commands 2.0) to a JSON document",
	}
	c.AddCommand(newStateApply(e))
	return c
}

func newStateApply(e *cli.Env) *cobra.Command {
	var o stateOptions
	c := &cobra.Command{
		Use:   "apply [COMMANDS|-]",
		Short: "Apply commands and print the state, the results and the audit as JSON",
		Long: `Apply state commands to a document and print the result of each. A rejected
command is a result too.

With --script, one engine runs all steps of a script, so that idempotency,
versions and expiry span them.

Exit codes: 0 the input could be read, 2 usage, 3 it is not what was expected, 4 no
such file.`,
		Example: `  simd state apply --state save.json commands.json
  echo '{"set":[{"key":"hp","value":3}]}' | simd state apply --state save.json -
  simd state apply --script steps.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.apply(e, args) },
	}
	f := c.Flags()
	f.StringVar(&o.state, "state", "", "`FILE` with the document (default: an empty one)")
	f.StringVar(&o.prefix, "prefix", "", "prefix of every key (default character.saveData.)")
	f.StringVar(&o.script, "script", "", "`FILE` with a script of steps; - for standard input")
	f.StringVar(&o.now, "now", "", "`TIME` of the clock, RFC 3339 (default: now)")
	return c
}

func (o *stateOptions) apply(e *cli.Env, args []string) error {
	now := protocol.TimeOf(time.Now())
	if o.now != "" {
		t, err := time.Parse(time.RFC3339Nano, o.now)
		if err != nil {
			return cli.Usagef("--now %q: want a time, for example 2026-01-01T08:00:00Z", o.now)
		}
		now = protocol.TimeOf(t)
	}
	if o.script != "" {
		if len(args) > 0 || o.state != "" || o.prefix != "" {
			return cli.Usage(protocol.Errorf(protocol.KindInvalid, "--script contains state, prefix and commands; only --now may be combined with it"))
		}
		text, err := cli.ReadInput(e, []string{o.script})
		if err != nil {
			return err
		}
		out, err := script.Run(text, now)
		if err != nil {
			return err
		}
		return show.JSON(e.Out, out)
	}
	state := []byte("{}")
	if o.state != "" {
		var err error
		if state, err = os.ReadFile(o.state); err != nil {
			return protocol.Errorf(protocol.KindNotFound, "state: %w", err)
		}
	}
	commands, err := cli.ReadInput(e, args)
	if err != nil {
		return err
	}
	out, err := script.Apply(state, o.prefix, commands, now)
	if err != nil {
		return err
	}
	return show.JSON(e.Out, out)
}
