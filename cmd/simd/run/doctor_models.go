package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/probe"
	"tavernsim/scenes/run/runner"
)

type doctorModelsOptions struct {
	providers string
	json      bool
}

func newDoctorModels(e *cli.Env) *cobra.Command {
	var o doctorModelsOptions
	c := &cobra.Command{
		Use:   "models [PROJECT]",
		Short: "Ask every endpoint once, and every model of a project",
		Long: `Ask each endpoint of your file of endpoints for its list of models, and for two
vectors if it names a model for embeddings; and each model of a project that is no
script for one token. The answers cost what one token costs. Each model is shown
with its price. A server whose model answered needs no list (404, 405).

Exit codes: 0 all answer, 1 one does not, 2 usage, 3 the file or the project has
faults, 4 there is no file of endpoints.`,
		Example: "  simd doctor models\n  simd doctor models my-project --providers providers.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return o.run(cmd.Context(), e, "")
			}
			return o.run(cmd.Context(), e, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.providers, "providers", "", "`FILE` with endpoints and keys (default: $SIMD_PROVIDERS, then simd/providers.yaml of your configuration folder)")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	return c
}

func (o *doctorModelsOptions) run(ctx context.Context, e *cli.Env, dir string) error {
	to, stop, err := cli.OpenEndpoints(o.providers)
	if err != nil {
		return err
	}
	defer stop()
	if to == nil {
		return protocol.Errorf(protocol.KindNotFound, "there is no file of endpoints; write one (docs/formats/providers.md) and name it with --providers")
	}
	for _, name := range protocol.SortedKeys(to) {
		for _, warning := range to[name].Warnings() {
			cli.Warn(e.Err, "endpoint "+name+": "+warning)
		}
	}
	all := probe.Endpoints(ctx, to)
	if dir != "" {
		p, err := runner.Load(dir, true)
		if err != nil {
			return err
		}
		models, err := probe.Models(ctx, p, to)
		if err != nil {
			return err
		}
		all = append(all, models...)
	}
	probe.Settle(all)
	if o.json {
		if err := show.JSON(e.Out, all); err != nil {
			return err
		}
	} else {
		writeTried(e.Out, all)
	}
	if bad := slices.IndexFunc(all, func(t probe.Tried) bool { return t.Error != "" }); bad >= 0 {
		return protocol.Errorf(protocol.KindTransient, "endpoint %s does not answer", all[bad].Endpoint)
	}
	return nil
}

func writeTried(w io.Writer, all []probe.Tried) {
	say := func(format string, args ...any) {
		fmt.Fprintln(w, terminal.FillOn(w, terminal.Plain(fmt.Sprintf(format, args...)), "          "))
	}
	for _, t := range all {
		what := "list of models"
		if t.Model != "" {
			what = "model " + t.Model
		}
		if t.Error != "" {
			say("FAILED  %s: %s: %s (%s)", t.Endpoint, what, strings.TrimPrefix(t.Error, t.Endpoint+": "), t.Outcome)
			continue
		}
		if t.Note != "" {
			say("note    %s: %s: %s; its model answered", t.Endpoint, what, t.Note)
			continue
		}
		found := terminal.Plural(len(t.Models), "model")
		if t.Model != "" {
			found = fmt.Sprintf("%s answered, %d tokens", t.Answered, t.Tokens)
		}
		if t.Vectors > 0 {
			found = fmt.Sprintf("%s gives vectors of %d dimensions, %d tokens", t.Answered, t.Vectors, t.Tokens)
		}
		found += fmt.Sprintf(" in %.0f ms", t.Millis)
		if t.Price != "" {
			found += "; " + t.Price
		}
		say("ok      %s: %s: %s", t.Endpoint, what, found)
	}
}
