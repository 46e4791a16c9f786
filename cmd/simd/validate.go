package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/plugins"
)

func newValidate(e *cli.Env) *cobra.Command {
	var asJSON bool
	var more string
	c := &cobra.Command{
		Use:   "validate PROJECT",
		Short: "Check a project folder and list every fault",
		Long: `Check every definition of a project: syntax, fields, references, workflows,
expressions, schemas, initial states. Every fault is listed with file, line and
a suggestion.

Exit codes: 0 sound, 2 usage, 3 faults, 4 not found, 130 interrupted.`,
		Example: "  simd validate my-project\n  simd validate my-project --json",
		Args:    cobra.ExactArgs(1),
		RunE:    cli.Interruptible(func(_ context.Context, args []string) error { return validate(e, args[0], more, asJSON) }),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {project, faults, warnings} as JSON")
	cli.PluginsFlag(c.Flags(), &more)
	return c
}

func validate(e *cli.Env, dir, more string, asJSON bool) error {
	p, err := cli.LoadProject(dir, more, false)
	if err == nil {
		err = plugins.Broken(p)
	}
	v := cli.Validation{Project: dir, Sound: err == nil, Faults: []cli.Fault{}, Warnings: []cli.Fault{}}
	var faults *project.Error
	switch {
	case errors.As(err, &faults):
		v.Faults, v.Total, v.Warnings = cli.FaultsOf(faults.Faults), faults.Total, cli.FaultsOf(faults.Warnings)
	case err != nil:
		return err
	default:
		v.Warnings = cli.FaultsOf(p.Warnings)
	}
	if asJSON {
		if err := show.JSON(e.Out, v); err != nil {
			return err
		}
	} else if v.Sound {
		for _, w := range p.Warnings {
			cli.Warn(e.Err, fmt.Sprint(w))
		}
		fmt.Fprintf(e.Out, "%s is sound: %s, %s, %s, %s\n", dir, terminal.Plural(len(p.SceneIDs()), "scene"),
			terminal.Plural(len(p.ProfileIDs()), "profile"), terminal.Plural(len(p.WorkflowIDs()), "workflow"), terminal.Plural(len(p.KnowledgeBaseIDs()), "knowledge base"))
	}
	if v.Sound {
		return nil
	}
	if asJSON {
		return &cli.Exit{Code: cli.ExitInvalid}
	}
	return err
}
