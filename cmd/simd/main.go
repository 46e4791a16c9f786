// Command simd runs large multi-agent simulations headless.
//
// Every command has its own file: an options struct that registers its flags,
// and a run function that takes no flags. Data goes to stdout, everything else
// to stderr. The packages below hold the commands by topic: run
// (runs and their directories), live (a running run), views (what a run did)
// and tool (tools, plugins, MCP). Package cli has the code that all commands share. This package
// has the other commands, and the root.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/cmd/simd/kb"
	"tavernsim/cmd/simd/live"
	"tavernsim/cmd/simd/run"
	"tavernsim/cmd/simd/tool"
	"tavernsim/cmd/simd/views"
	"tavernsim/internal/memory"
	"tavernsim/internal/source"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/sandbox/cores"
)

func main() {
	// net/http prints by this logger what a server sent without being asked, which may be a key that it got.
	log.SetOutput(io.Discard)
	if code, worker := sandbox.Reexec(os.Args); worker {
		os.Exit(code)
	}
	if err := cores.None(); err != nil {
		fmt.Fprintln(os.Stderr, "simd: warning: if simd crashes, it may leave a core with secrets in it:", err)
	}
	if os.Getenv("GOGC") == "" {
		go memory.Pace()
	}
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, terminal.On(os.Stdout), terminal.On(os.Stderr)))
}

func execute(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	return carryOut(ctx, &cli.Env{In: in, Out: out, Err: errw, Args: args})
}

// noted is an output that notes that it was lost: whoever reads it must not take a part for the whole. Whoever
// has gone away reads none. Several goroutines may write.
type noted struct {
	io.Writer
	mu   sync.Mutex
	lost error
}

func (n *noted) note(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost == nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
		n.lost = err
	}
	return n.lost
}

// Write implements io.Writer.
func (n *noted) Write(p []byte) (int, error) {
	done, err := n.Writer.Write(p)
	_ = n.note(err)
	return done, err
}

// carryOut carries the command of e.Args out and returns its exit code.
func carryOut(ctx context.Context, e *cli.Env) int {
	out := &noted{Writer: e.Out}
	if !terminal.Is(e.Out) {
		e.Out = out
	}
	root := newRoot(e)
	root.SetArgs(e.Args)
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	running := false
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		running = true
		if !e.Within {
			giveWay(args)
		}
		return cli.CheckLeast(cmd.Flags())
	}
	cmd, err := root.ExecuteContextC(ctx)
	if lost := out.note(nil); err == nil && lost != nil {
		err = fmt.Errorf("the output was lost: %w", lost)
	}
	if err == nil {
		return cli.ExitOK
	}
	code := cli.CodeOf(err)
	if code == cli.ExitOther {
		code = cli.ExitUsage // cobra's own: unknown command, bad argument
		if running {
			code = cli.ExitFailure
		}
	}
	if msg := message(err); msg != "" {
		_ = terminal.Print(e.Err, terminal.FillOn(e.Err, msg, "  ")+"\n") // there is nowhere to say that it failed
	}
	if damaged(cmd, err) {
		fmt.Fprintln(e.Err, "'simd doctor DIR' says what is damaged and what can be saved.")
	}
	if code == cli.ExitUsage {
		fmt.Fprintf(e.Err, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return code
}

// damaged reports whether a run directory is, which the doctor knows more about.
func damaged(cmd *cobra.Command, err error) bool {
	var shown *cli.Exit
	return protocol.KindOf(err) == protocol.KindCorrupt && !errors.As(err, &shown) &&
		(strings.Contains(cmd.Use, " DIR") || cmd.Name() == "run")
}

func message(err error) string {
	var e *cli.Exit
	if errors.As(err, &e) && e.Err == nil {
		return ""
	}
	if faults, ok := errors.AsType[*project.Error](err); ok {
		return cli.FaultText(faults)
	}
	return "simd: " + err.Error()
}

func newRoot(e *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "simd",
		Short: "Run large multi-agent simulations headless",
		Long: `simd runs simulations of many agents. Every agent perceives, thinks with a
workflow and a language model, acts through tool calls and learns. Everything
that happens is a fact in a journal, so a run can be resumed, replayed and
compared byte by byte.`,
		Example: `  simd init herbalist my-project
  simd run my-project
  simd inspect runs/latest
  simd replay runs/latest`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionLine(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(cli.FlagError)
	full := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		out, page := c.OutOrStdout(), &strings.Builder{}
		c.SetOut(page)
		full(c, args)
		c.SetOut(out)
		_, _ = io.WriteString(out, narrow(page.String())) // carryOut hears of a failure
	})
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Describe a command", RunE: help})
	root.AddGroup(&cobra.Group{ID: "run", Title: "Simulations:"}, &cobra.Group{ID: "tools", Title: "Tools:"})
	for _, c := range []*cobra.Command{newInit(e), run.NewRun(e), run.NewReplay(e), run.NewFork(e), run.NewDoctor(e), views.NewInspect(e), views.NewDiff(e), live.NewApprove(e), live.NewOrder(e), live.NewControl(e), live.NewInteract(e), live.NewInterview(e), views.NewExport(e), run.NewCassette(e), run.NewRuns(e), newValidate(e), kb.New(e), tool.NewTool(e), tool.NewPlugin(e), views.NewFiles(e), tool.NewMCP(e, carryOut), newBench(e)} {
		c.GroupID = "run"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{newMockLLM(e), newTAM(e), newToolsXML(e), newState(e), newSchema(e), newVersion(e)} {
		c.GroupID = "tools"
		root.AddCommand(c)
	}
	root.InitDefaultCompletionCmd() // else the library adds it behind what completed does
	return completed(root)
}

// help shows what a command does, or which one is nearest to a name that no
// command has.
func help(c *cobra.Command, args []string) error {
	found, rest := c, args
	if !c.HasSubCommands() { // simd help [COMMAND]
		var err error
		if found, rest, err = c.Root().Find(args); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return found.Help()
	}
	var names []string
	var flags []string // of commands, with the name
	for _, sub := range found.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
		if sub.Flags().Lookup(rest[0]) != nil {
			flags = append(flags, sub.CommandPath()+" --"+rest[0])
		}
	}
	hint := source.Suggest(rest[0], names)
	switch {
	case hint != "":
	case len(flags) == 1:
		hint = "there is the flag " + flags[0]
	case len(names) == 0:
		hint = "it has no commands"
	default:
		hint = "there are " + strings.Join(names, ", ")
	}
	return cli.Usagef("unknown command %q for %q; %s", rest[0], found.CommandPath(), hint)
}

// completed completes c and the commands below it. A command that only groups others
// shows its help; any other says what it wants when it gets too many or too few arguments.
func completed(c *cobra.Command) *cobra.Command {
	for _, sub := range c.Commands() {
		completed(sub)
	}
	check := c.Args
	_, wanted, some := strings.Cut(strings.TrimSuffix(c.Use, " [flags]"), " ")
	switch {
	case !some && c.HasSubCommands():
		c.Args, c.RunE = cobra.ArbitraryArgs, help
	case check != nil:
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || cli.CodeOf(err) == cli.ExitUsage {
				return err
			}
			return cli.Usagef("%s wants %s; arguments given: %d", cmd.CommandPath(), cmp.Or(wanted, "no arguments"), len(args))
		}
	}
	return c
}
