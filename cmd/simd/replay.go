package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tavernsim/scenes/runner"
)

func newReplay(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay DIR",
		Short: "Fold a run's journal again, without asking any model",
		Long: `Read the journal of a run from its first fact, check every wave's digest, and
fold the facts into the state that they led to. No model and no tool is asked,
nothing is written.

Exit codes: 0 the digests hold, 4 not found, 6 another process has the run,
8 the journal and its digests differ.`,
		Example: "  simd replay runs/latest\n  simd replay runs/latest --json",
		Args:    one("a run directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sum, err := runner.Replay(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(e.out, sum)
			}
			for _, s := range sum.Scenes {
				fmt.Fprintf(e.out, "%s  %s facts in %s waves  %s\n  digest %s\n  state  %s\n", s.Scene, thousands(int64(s.Facts)), thousands(int64(s.Waves)), s.VirtualTime, s.Digest, s.StateHash)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
