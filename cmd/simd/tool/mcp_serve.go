package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/internal/terminal"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/run/served"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/mcp/serve"
	"tavernsim/tools/plugin"
)

type serveOptions struct {
	http, tokenFile, profile, runs, tools string
	grants, secrets, providers, plugins   string
	audit, metrics                        string
	config                                plugin.Sources
	carryOut                              carryOutCommand
}

func newMCPServe(e *cli.Env, carryOut carryOutCommand) *cobra.Command {
	o := serveOptions{carryOut: carryOut}
	c := &cobra.Command{
		Use:   "serve [PROJECT]",
		Short: "Offer a project to MCP clients",
		Long: `Offer the tools of a project, by default of the current folder, its runs and what happened
in them to clients of the Model Context Protocol: over stdin and stdout, or over HTTP
(docs/mcp-server.md).

Clients get the tools of the project (with --profile those of that profile) and
simd_validate, simd_run, simd_run_status, simd_run_stop and simd_inspect. Runs are in
--runs; their summaries are resources. The grants, secrets and endpoints are yours: a
client cannot name others. At its end the server interrupts its runs.

Over HTTP it listens on loopback; other addresses need --token-file.

Exit codes: 0 the client left, or the server was told to end, 2 usage, 3 the project
has faults, 4 not found.`,
		Example: `  simd mcp serve my-project
  simd mcp serve my-project --http :8931 --profile clerk
  simd mcp serve my-project --http 0.0.0.0:8931 --token-file token.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), e, append(args, ".")[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.http, "http", "", "serve over HTTP at `ADDR`, for example :8931 (loopback unless a host is given)")
	f.StringVar(&o.tokenFile, "token-file", "", "`FILE` with the token that requests over HTTP must show")
	f.StringVar(&o.profile, "profile", "", "offer only the tools of the profile `ID`")
	f.StringVar(&o.runs, "runs", "runs", "`FOLDER` for runs, and whose runs can be looked at")
	f.StringVar(&o.tools, "tools", "", "live, mock, replay:DIR or off: how calls of the tools of the project are carried out (default live)")
	cli.SecretsFlag(f, &o.secrets)
	f.StringVar(&o.providers, "providers", "", "`FILE` with endpoints and keys for runs")
	cli.GrantsFlag(f, &o.grants)
	cli.AuditFlag(f, &o.audit)
	cli.MetricsFlag(f, &o.metrics)
	cli.PluginsFlag(f, &o.plugins)
	cli.ConfigFlags(f, &o.config)
	return c
}

func (o *serveOptions) run(ctx context.Context, e *cli.Env, dir string) error {
	addr, token, err := o.address()
	if err == nil {
		err = cli.CheckMetrics(o.metrics)
	}
	if err != nil {
		return err
	}
	counts := metrics.New(metrics.Version(cli.Version().Version))
	set, desk, err := o.desk(dir, counts)
	if err != nil {
		return err
	}
	defer set.Close()
	defer desk.Close()
	offer, err := desk.Offer()
	if err != nil {
		return err
	}
	offer.Asked = func(method, outcome string) { counts.MCPRequest(metrics.MCPServer, method, outcome) }
	stopMetrics, err := cli.ServeMetrics(e, counts, o.metrics, false)
	if err != nil {
		return err
	}
	defer stopMetrics()
	counts.Ready()
	server := serve.New(offer)
	defer server.Close()
	if o.http != "" {
		listener, err := cli.Listen(addr)
		if err != nil {
			return err
		}
		return cli.ServeHTTP(ctx, serve.HTTPServer(server.Handler(token)), e.Err, listener, func(at string) {
			fmt.Fprintf(e.Err, "MCP at http://%s/, %s; Ctrl-C ends it\n", at, terminal.Plural(len(offer.Tools), "tool"))
		})
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(e.Err, "MCP over stdin and stdout, %s\n", terminal.Plural(len(offer.Tools), "tool"))
	err = server.Stdio(ctx, io.NopCloser(e.In), unclosed{e.Out})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// address checks where the server listens, and gives the token.
func (o *serveOptions) address() (addr, token string, err error) {
	if o.http == "" {
		if o.tokenFile != "" {
			return "", "", cli.Usagef("--token-file is for --http")
		}
		return "", "", nil
	}
	if addr, err = scrape.Addr(o.http); err != nil {
		return "", "", cli.Usagef("--http: %w", err)
	}
	if !scrape.Loopback(addr) && o.tokenFile == "" {
		return "", "", cli.Usagef("--http %s: everybody could call; name 127.0.0.1, or add --token-file", addr)
	}
	if o.tokenFile != "" {
		token, err = cli.ReadKey(o.tokenFile)
	}
	return addr, token, err
}

func (o *serveOptions) desk(dir string, counts *metrics.Set) (*operator.Set, *served.Desk, error) {
	mode, recorded, err := tooling.ParseMode(o.tools)
	if err != nil {
		return nil, nil, cli.Usagef("--%w", err)
	}
	p, err := cli.LoadProject(dir, o.plugins, true)
	if err == nil {
		err = cli.CheckSet(o.config, p)
	}
	if err != nil {
		return nil, nil, err
	}
	set, err := (&operator.Tools{
		Folder: dir, Project: p, By: "mcp", Mode: mode, Again: recorded, Policy: p.Policy(), Profile: o.profile, Grants: o.grants, Secrets: o.secrets, Config: o.config, Audit: o.audit,
		Watch: &tooling.Watch{Counts: counts},
	}).Open()
	if err != nil {
		return nil, nil, err
	}
	return set, served.New(served.Options{
		Folder: dir, Project: p, Profile: o.profile, Tools: set, Runs: o.runs, RunFlags: o.runFlags(), Version: cli.Version().Version,
		Command: func(ctx context.Context, out, said io.Writer, args ...string) int {
			return o.carryOut(ctx, &cli.Env{In: strings.NewReader(""), Out: out, Err: said, Args: args, Within: true})
		},
	}), nil
}

// runFlags are the operator's flags of every run.
func (o *serveOptions) runFlags() (flags []string) {
	for _, f := range []struct{ name, value string }{
		{"grants", o.grants}, {"secrets", o.secrets}, {"providers", o.providers}, {"tools", o.tools}, {"plugins", o.plugins}, {"plugin-config", o.config.File},
	} {
		if f.value != "" {
			flags = append(flags, "--"+f.name+"="+f.value)
		}
	}
	for _, set := range o.config.Flags {
		flags = append(flags, "--set="+set)
	}
	return flags
}

// unclosed is an output that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
