package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

func newSchema(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:       "schema NAME",
		Short:     "Print the JSON Schema of a file format, for editors",
		Long:      "Print the JSON Schema of a file format: " + strings.Join(project.SchemaNames(), ", ") + ".\n\nExit codes: 0 printed, 2 usage, 4 no such format.",
		Example:   "  simd schema agent_profile > agent_profile.schema.json",
		ValidArgs: project.SchemaNames(),
		Args:      cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(project.SchemaNames(), args[0]) {
				return protocol.Errorf(protocol.KindNotFound, "no schema %q; there are %s", args[0], strings.Join(project.SchemaNames(), ", "))
			}
			s, err := project.Schema(args[0])
			if err != nil {
				return err
			}
			return show.JSON(e.Out, s)
		},
	}
}
