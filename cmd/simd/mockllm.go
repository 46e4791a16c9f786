package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/internal/terminal"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

type mockOptions struct {
	mock.Options
	listen, script, latency, faults, keyFile string
	json                                     bool
}

func newMockLLM(e *cli.Env) *cobra.Command {
	var o mockOptions
	c := &cobra.Command{
		Use:   "mock-llm",
		Short: "Serve a scripted model over HTTP, with the latencies and faults of real servers",
		Long: `Serve a model for tests: chat completions, messages and embeddings, whole or as
streams, answered by a script. The same seed and the same question give the same
answer; a fault is drawn anew each time a question comes again.

The address is printed when the server listens. Ctrl-C ends it with a summary of
what it served.

Faults: ` + strings.Join(mock.FaultNames(), ", ") + `.

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 failure, 2 usage, 3 the script has
faults, 4 no such file.`,
		Example: `  simd mock-llm
  simd mock-llm --listen 127.0.0.1:8089 --script models/scripted.yaml --json
  simd mock-llm --latency median=800ms,sigma=0.4,per_token=20ms --rpm 600
  simd mock-llm --faults rate_limited=0.2,retry_after=1s,timeout=0.05 --seed 7`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "serve at `ADDR`; loopback unless a host is given, port 0 takes a free one")
	f.StringVar(&o.script, "script", "", "`FILE` with the script of the model (default: the built-in one)")
	f.StringVar(&o.latency, "latency", "none", "`LATENCY` as median=800ms,sigma=0.4,per_token=20ms (fixed, min, max too), or none: the script's own")
	f.StringVar(&o.faults, "faults", "", "`FAULTS` as rate_limited=0.2,retry_after=1s,timeout=0.05: probabilities, together at most 1, and times")
	f.IntVar(&o.RPM, "rpm", 0, "requests a minute (default: any number)")
	f.IntVar(&o.TPM, "tpm", 0, "tokens a minute (default: any number)")
	f.IntVar(&o.Cache, "cache", 0, "read from a cache what a question shares with an earlier one, in blocks of `N` tokens (default: nothing)")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of all chance")
	f.StringVar(&o.keyFile, "key-file", "", "`FILE` with the key that requests must show")
	f.BoolVar(&o.json, "json", false, "print address and summary as one JSON object each")
	cli.Least(f, 1, "rpm", "tpm", "cache")
	return c
}

// run serves until it is told to end.
func (o *mockOptions) run(ctx context.Context, e *cli.Env) error {
	server, addr, err := o.server()
	if err != nil {
		return err
	}
	listener, err := cli.Listen(addr)
	if err != nil {
		return err
	}
	if err := cli.ServeHTTP(ctx, server.HTTP(), e.Err, server.Plain(listener), func(addr string) { o.begun(e.Out, addr) }); err != nil {
		return err
	}
	return o.served(e.Out, server.Report(10))
}

// server reads what the flags name.
func (o *mockOptions) server() (server *mock.Server, addr string, err error) {
	if addr, err = scrape.Addr(o.listen); err != nil {
		return nil, "", cli.Usagef("--listen: %w", err)
	}
	if !scrape.Loopback(addr) && o.keyFile == "" {
		return nil, "", cli.Usagef("--listen %s: everybody could ask, and read what was asked; name 127.0.0.1, or add --key-file", addr)
	}
	if o.Latency, err = mock.ParseLatency(o.latency); err != nil {
		return nil, "", cli.Usagef("--%w", err)
	}
	if o.Faults, err = mock.ParseFaults(o.faults); err != nil {
		return nil, "", cli.Usagef("--%w", err)
	}
	if o.keyFile != "" {
		if o.Key, err = cli.ReadKey(o.keyFile); err != nil {
			return nil, "", err
		}
	}
	if o.script != "" {
		text, err := os.ReadFile(o.script)
		if err != nil {
			return nil, "", protocol.Errorf(protocol.KindNotFound, "script: %w", err)
		}
		if o.Model, err = scripted.Load(o.script, text); err != nil {
			return nil, "", err
		}
	}
	o.Punctual = true
	server, err = mock.New(o.Options)
	if err != nil {
		err = cli.Usagef("--%w", err)
	}
	return server, addr, err
}

// begun tells where the server listens.
func (o *mockOptions) begun(w io.Writer, addr string) {
	url := "http://" + addr
	if o.json {
		_ = json.NewEncoder(w).Encode(map[string]any{"url": url, "seed": o.Seed})
		return
	}
	fmt.Fprintf(w, "mock-llm listens at %s, seed %d, script %s; Ctrl-C ends it\n", url, o.Seed, cmp.Or(o.script, "built in"))
}

// served is the summary.
func (o *mockOptions) served(w io.Writer, r mock.Report) error {
	if o.json {
		r.Last = nil
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "served %s\n", terminal.Plural(r.Requests, "request"))
	for _, path := range slices.Sorted(maps.Keys(r.Outcomes)) {
		fmt.Fprintf(w, "  %-17s %s\n", path, countsText(r.Outcomes[path]))
	}
	if len(r.Faults) > 0 {
		fmt.Fprintf(w, "  %-17s %s\n", "faults", countsText(r.Faults))
	}
	_, err := fmt.Fprintf(w, "  %-17s %s in, %s out\n  %-17s %s different, %s asked again\n",
		"tokens", terminal.Thousands(r.Input), terminal.Thousands(r.Output), "questions", terminal.Thousands(r.Questions), terminal.Thousands(r.Repeated))
	return err
}

func countsText(counts map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, name+" "+terminal.Thousands(counts[name]))
	}
	return strings.Join(parts, ", ")
}
