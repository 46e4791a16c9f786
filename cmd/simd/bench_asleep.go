package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/order"
	"tavernsim/internal/bench"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/persistence"
)

func newBenchAsleep(e *cli.Env) *cobra.Command {
	var o bench.AsleepOptions
	var durability string
	var asJSON bool
	c := &cobra.Command{
		Use:   "asleep",
		Short: "Agents that sleep, and one event that wakes one",
		Long: `Let every agent take one turn and fall asleep, and measure what the process then
keeps in memory. Then send events, each to one agent chosen by chance, and measure how
long a sleeper takes to have its state again. More deliberations than events, or fewer,
are an error.

Exit codes: 0 measured, 1 failure, 2 usage.`,
		Example: `  simd bench asleep
  simd bench asleep --agents 1000000 --events 5000 --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) (err error) {
			if o.Durability, err = persistence.ParseDurability(durability); err != nil {
				return cli.Usage(err)
			}
			if o.Events > order.MaxOrders {
				return cli.Usagef("--events %d: want at most %d", o.Events, order.MaxOrders)
			}
			a, err := bench.RunAsleep(o)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(e.Out, &a)
			}
			_, err = io.WriteString(e.Out, terminal.FillOn(e.Out, bench.AsleepText(&a), strings.Repeat(" ", 22)))
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.Agents, "agents", 100_000, "number of agents")
	f.IntVar(&o.Events, "events", 1000, "number of events, each for one agent")
	f.StringVar(&durability, "durability", "process", "memory, process or power")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	cli.Least(f, 1, "agents", "events")
	return c
}
