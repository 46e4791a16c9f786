package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/bench"
	"tavernsim/internal/show"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

type benchOptions struct {
	agents        []int
	ticks         int64
	durability    string
	workers       int
	count         int
	over          string
	latency       time.Duration
	atOnce        int
	json, gobench bool
}

func newBench(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the engine on this machine",
	}
	c.AddCommand(newBenchDeliberation(e), newBenchAsleep(e), newBenchSchedule(e), newBenchWorkload(e))
	return c
}

func newBenchDeliberation(e *cli.Env) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "deliberation",
		Short: "Agents with a real workflow, a scripted model and a real journal",
		Long: `Run agents that perceive, render a prompt, ask the scripted model, change their
private state and the world and publish events, with every fact in the journal,
and measure the cost of one deliberation and, in the same run, the cost of its
parts alone: bare actor sends, a msgpack round trip, bare database batches of the
same bytes.

--over asks a model at a server in place of the scripted one, with every request and
answer logged before it leaves and arrives, and measures a bare client of the same server.
With --latency up to 10,000 requests wait at once, each on its own connection;
that needs some 10,200 open files. The wall time that is compared with the
server's is that of the whole run, with its start, its end and the connections
that the first wave opens: with few --ticks they count for more.

Absolute times depend on the machine and its other users; compare the ratio.

Exit codes: 0 measured, 1 failure, 2 usage.`,
		Example: `  simd bench deliberation
  simd bench deliberation --agents 1000,100000 --ticks 10 --durability power
  simd bench deliberation --over http
  simd bench deliberation --over http --latency 2s
  simd bench deliberation --count 10 --gobench > new.txt # for benchstat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.latency > 0 && !cmd.Flags().Changed("at-once") {
				o.atOnce = 10_000
			}
			return o.run(cmd.Context(), e)
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.agents, "agents", []int{10_000}, "numbers of agents")
	f.Int64Var(&o.ticks, "ticks", 10, "deliberations of each agent")
	f.StringVar(&o.durability, "durability", "process", "memory, process or power")
	f.IntVar(&o.workers, "workers", 0, "workers that drive the actors (default GOMAXPROCS)")
	f.IntVar(&o.count, "count", 1, "number of runs")
	f.BoolVar(&o.json, "json", false, "one JSON object per run")
	f.BoolVar(&o.gobench, "gobench", false, "the form of go test -bench, for benchstat")
	f.StringVar(&o.over, "over", "", "ask a model over HTTP: http starts a server beside this process (simd mock-llm), a `URL` up to the version names another")
	f.DurationVar(&o.latency, "latency", 0, "how long the server of --over http takes for an answer")
	f.IntVar(&o.atOnce, "at-once", 256, "most requests of --over in flight; with --latency 10000")
	cli.Least(f, 1, "agents", "ticks", "count", "at-once")
	cli.Least(f, 0, "workers", "latency")
	return c
}

func (o *benchOptions) run(ctx context.Context, e *cli.Env) error {
	level, err := persistence.ParseDurability(o.durability)
	if err != nil {
		return cli.Usage(err)
	}
	if o.json && o.gobench {
		return cli.Usagef("bench prints one of --json and --gobench")
	}
	if o.gobench {
		fmt.Fprintf(e.Out, "Unit deliberations/s better=higher\nUnit B/agent better=lower\nUnit journal-B/op better=lower\n")
	}
	over, stop, err := o.server(ctx, e)
	if err != nil {
		return err
	}
	defer stop()
	for range o.count {
		for _, n := range o.agents {
			d, err := bench.RunDeliberation(bench.DeliberationOptions{Agents: n, Ticks: o.ticks, Durability: level, Workers: o.workers, Over: over})
			if err != nil {
				return err
			}
			l, err := bench.MeasureLimits(d)
			if err != nil {
				return err
			}
			if err := o.show(e.Out, d, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *benchOptions) show(w io.Writer, d bench.Deliberation, l bench.Limits) error {
	switch {
	case o.json:
		return show.JSON(w, map[string]any{"deliberation": d, "limits": l})
	case o.gobench:
		_, err := fmt.Fprintf(w, "BenchmarkDeliberation/agents=%d/durability=%s %d %.0f ns/op %.0f deliberations/s %.0f cpu-ns/op %.0f journal-B/op %.1f allocs/op %.0f B/op %.0f B/agent %.0f p99-ns %.2f x-floor\n",
			d.Agents, d.Durability, d.Deliberations, d.NsPer, d.PerSecond, d.CPUNsPer, d.BytesPer, d.AllocsPer, d.AllocBytesPer, d.MemoryPerAgent, d.P99*1e9, l.Ratio)
		return err
	}
	_, err := io.WriteString(w, bench.Text(d, l))
	return err
}

// server gives the place of the model, and starts its server if that is wanted.
func (o *benchOptions) server(ctx context.Context, e *cli.Env) (over *bench.OverHTTP, stop func(), err error) {
	stop = func() {}
	over = &bench.OverHTTP{URL: strings.TrimRight(o.over, "/"), Latency: o.latency, AtOnce: o.atOnce}
	switch {
	case o.over == "" && o.latency > 0:
		return nil, stop, cli.Usagef("--latency is of the server that --over http starts; it does not go without")
	case o.over == "":
		return nil, stop, nil
	case o.over != "http":
		return over, stop, nil
	}
	script, err := os.CreateTemp("", "simd-bench-*.yaml")
	if err != nil {
		return nil, stop, err
	}
	_, err = script.WriteString(bench.MockScript)
	if err = errors.Join(err, script.Close()); err != nil {
		return nil, stop, err
	}
	ctx, cancel := context.WithCancel(ctx)
	exe, err := os.Executable()
	if err != nil {
		cancel()
		return nil, stop, err
	}
	latency := "none"
	if o.latency > 0 {
		latency = "fixed=" + o.latency.String()
	}
	child := exec.CommandContext(ctx, exe, "mock-llm", "--json", "--script", script.Name(), "--latency", latency)
	child.Stderr = e.Err
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	stop = func() {
		cancel()
		_ = child.Wait() // it was killed
		_ = os.Remove(script.Name())
	}
	if err != nil {
		stop()
		return nil, func() {}, err
	}
	var listens struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&listens); err != nil || listens.URL == "" {
		stop()
		return nil, func() {}, protocol.Errorf(protocol.KindTransient, "the server of --over http did not begin: %v", err)
	}
	over.URL = listens.URL + "/v1"
	return over, stop, nil
}
