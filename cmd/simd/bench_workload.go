package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/bench"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/persistence"
)

func newBenchWorkload(e *cli.Env) *cobra.Command {
	var o bench.WorkloadOptions
	var durability string
	var asJSON bool
	c := &cobra.Command{
		Use:   "workload third|movers|phold",
		Short: "Tasks of which others publish figures",
		Long: `Run one of three tasks, with every fact in the journal:

  third   players name a number between 0 and 100, three times; whoever is nearest
          to two thirds of the mean wins. A model answers after a second of the scene
  movers  agents walk on a grid for a minute, 62.5 steps a second
  phold   a job for each process; whoever has done one hands it to another,
          chosen by chance, for a minute

Exit codes: 0 measured, 1 failure, 2 usage.`,
		Example: `  simd bench workload movers
  simd bench workload third --agents 1000000 --json`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: bench.Workloads(),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if o.Durability, err = persistence.ParseDurability(durability); err != nil {
				return cli.Usage(err)
			}
			if o.Name = args[0]; !slices.Contains(bench.Workloads(), o.Name) {
				return cli.Usagef("there is no workload %q; want one of %s", o.Name, strings.Join(bench.Workloads(), ", "))
			}
			w, err := bench.RunWorkload(o)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(e.Out, &w)
			}
			_, err = io.WriteString(e.Out, terminal.FillOn(e.Out, bench.WorkloadText(&w), "    "))
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.Agents, "agents", 1000, "number of agents")
	f.StringVar(&durability, "durability", "process", "memory, process or power")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	cli.Least(f, 1, "agents")
	return c
}
