package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/bench/town"
	"tavernsim/internal/bench/town/played"
)

func newBenchSchedule(e *cli.Env) *cobra.Command {
	o := town.Options{Play: played.Play}
	c := &cobra.Command{
		Use:   "schedule",
		Short: "How long a town takes under each schedule, in virtual time",
		Long: `Make towns of agents that walk, meet, talk and plan anew, and compute how long
their model calls would take under each schedule: one after the other, with a
barrier after every step, by the published rule of AI Metropolis, tracked,
speculative, and by an oracle that knows whom every turn really perceives.

Nothing waits: the time is virtual, and equal seeds give equal figures on every
machine. tracked and speculative are the policies of the engine.

--engine lets the engine itself play each town, too: a scene of its agents with a
journal, which asks a server beside it whose answers take as long as the trace says,
divided by --compress. Its time stands beside the virtual one of the same schedule, and
all schedules must have one digest. This takes real time, and figures need a quiet
machine.

Exit codes: 0 computed, 1 failure, 2 usage, 3 the trace has faults.`,
		Example: `  simd bench schedule
  simd bench schedule --agents 25,100 --hour busy --seeds 10
  simd bench schedule --trace town.jsonl --slots 8
  simd bench schedule --agents 100 --hour quiet --engine barrier,tracked`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"agents", "hour", "seeds"} {
				if o.Trace != "" && cmd.Flags().Changed(name) {
					return cli.Usagef("--%s is about towns that are made; it does not go with --trace", name)
				}
			}
			if err := o.Check(); err != nil {
				return cli.Usage(err)
			}
			switch none := len(o.Engine) == 0; {
			case none && cmd.Flags().Changed("engine"):
				return cli.Usagef("--engine: want %s", strings.Join(town.Playable(), ", "))
			case none && cmd.Flags().Changed("compress"):
				return cli.Usagef("--compress is about the calls of --engine; it does not go without")
			}
			return o.Show(cmd.Context(), e.Out, e.Err)
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.Agents, "agents", []int{25, 100, 500, 1000}, "numbers of agents")
	f.StringSliceVar(&o.Hours, "hour", []string{"busy", "quiet"}, "how much goes on: busy, quiet")
	f.IntVar(&o.Seeds, "seeds", 5, "towns of each kind; their seeds are 1, 2, …")
	f.IntVar(&o.Slots, "slots", 64, "model calls at once")
	f.StringVar(&o.Trace, "trace", "", "a town that was recorded, from this `FILE`")
	f.StringSliceVar(&o.Engine, "engine", nil, "schedules under which the engine plays each town, too: barrier, tracked, speculative")
	f.IntVar(&o.Compress, "compress", 100, "by which the calls of --engine are shorter, at most 1000")
	f.BoolVar(&o.JSON, "json", false, "one JSON object per town")
	cli.Least(f, 1, "agents", "seeds", "slots", "compress")
	return c
}
