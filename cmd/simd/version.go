package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
)

func newVersion(e *cli.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Long:  "Print the version of the program.\n\nExit codes: 0 printed, 2 usage.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return show.JSON(e.Out, cli.Version())
			}
			_, err := fmt.Fprintln(e.Out, versionLine())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}

// versionLine is what `simd version` and `simd --version` print.
func versionLine() string {
	v := cli.Version()
	return fmt.Sprintf("simd %s %s %s %s", v.Version, v.Revision, v.Go, v.Platform)
}
