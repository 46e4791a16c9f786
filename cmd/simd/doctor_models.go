package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
)

type doctorModelsOptions struct {
	providers string
	json      bool
}

func newDoctorModels(e *env) *cobra.Command {
	var o doctorModelsOptions
	c := &cobra.Command{
		Use:   "models [PROJECT]",
		Short: "Ask every endpoint once, and every model of a project",
		Long: `Ask each endpoint of your file of endpoints for its list of models, and each model
of a project that is no script for one token. The answers cost what one token costs.
Each model is shown with its price.

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

// tried is what became of one question.
type tried struct {
	Endpoint string   `json:"endpoint"`
	Model    string   `json:"model,omitempty"` // of the project; "" = the list was asked for
	Outcome  string   `json:"outcome"`
	Millis   float64  `json:"ms"`
	Models   []string `json:"models,omitempty"` // of the list
	Answered string   `json:"answered,omitempty"`
	Tokens   int64    `json:"tokens,omitempty"` // in and out
	Price    string   `json:"price,omitempty"`  // of the model, in words
	Error    string   `json:"error,omitempty"`
}

func (o *doctorModelsOptions) run(ctx context.Context, e *env, dir string) error {
	to, stop, err := openEndpoints(o.providers)
	if err != nil {
		return err
	}
	defer stop()
	if to == nil {
		return protocol.Errorf(protocol.KindNotFound, "there is no file of endpoints; write one (docs/formats/providers.md) and name it with --providers")
	}
	var all []tried
	for _, name := range protocol.SortedKeys(to) {
		all = append(all, tryList(ctx, to[name]))
	}
	if dir != "" {
		models, err := tryModels(ctx, dir, to)
		if err != nil {
			return err
		}
		all = append(all, models...)
	}
	if o.json {
		if err := writeJSON(e.out, all); err != nil {
			return err
		}
	} else {
		writeTried(e.out, all)
	}
	if bad := slices.IndexFunc(all, func(t tried) bool { return t.Error != "" }); bad >= 0 {
		return protocol.Errorf(protocol.KindTransient, "endpoint %s does not answer", all[bad].Endpoint)
	}
	return nil
}

func tryList(ctx context.Context, to *endpoint.Endpoint) tried {
	began := time.Now()
	names, err := to.List(ctx)
	return tried{Endpoint: to.Name, Models: names}.ended(began, err)
}

// tryModels asks each model of a project that is at an endpoint.
func tryModels(ctx context.Context, dir string, to map[string]*endpoint.Endpoint) (all []tried, err error) {
	p, err := runner.Load(dir, true)
	if err != nil {
		return nil, err
	}
	set, err := runner.Models(p, to)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	for _, m := range set.Asked() {
		began := time.Now()
		a, err := set.Complete(ctx, protocol.ModelRequest{
			Model: m.Name, MaxTokens: 1, Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "Answer with one word: are you there?"}},
		}, nil)
		all = append(all, tried{Endpoint: m.Endpoint, Model: m.Name, Answered: a.Model, Tokens: a.Usage.Input + a.Usage.Output, Price: m.Price}.ended(began, err))
	}
	return all, nil
}

func (t tried) ended(began time.Time, err error) tried {
	t.Outcome, t.Millis = string(llm.OutcomeOf(err)), float64(time.Since(began).Microseconds())/1000
	if err != nil {
		t.Error = err.Error()
	}
	return t
}

func writeTried(w io.Writer, all []tried) {
	for _, t := range all {
		what := "list of models"
		if t.Model != "" {
			what = "model " + t.Model
		}
		if t.Error != "" {
			fmt.Fprintf(w, "FAILED  %s: %s: %s (%s)\n", t.Endpoint, what, t.Error, t.Outcome)
			continue
		}
		found := fmt.Sprintf("%d models", len(t.Models))
		if t.Model != "" {
			found = fmt.Sprintf("%s answered, %d tokens", t.Answered, t.Tokens)
		}
		fmt.Fprintf(w, "ok      %s: %s: %s in %.0f ms%s\n", t.Endpoint, what, found, t.Millis, said(t.Price, "; %s"))
	}
}
