// Command simd runs large multi-agent simulations headless.
//
// Every subcommand has its own file: an options struct that registers its
// flags, and a run function that takes no flags. Data goes to stdout,
// everything else to stderr.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/internal/memory"
	"tavernsim/internal/source"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools/sandbox"
)

func main() {
	if code, worker := sandbox.Reexec(os.Args); worker {
		os.Exit(code)
	}
	if os.Getenv("GOGC") == "" {
		go memory.Pace()
	}
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, terminal.On(os.Stdout), terminal.On(os.Stderr)))
}

// Exit codes (docs/cli.md).
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInvalid     = 3 // the project has faults
	exitNotFound    = 4
	exitConflict    = 6 // locked, not empty, already ended
	exitBudget      = 7 // a budget is exhausted
	exitDivergence  = 8
	exitInterrupted = 130
	exitOther       = -1 // the error does not say
)

// env is what a command may touch of the world.
type env struct {
	in       io.Reader
	out, err io.Writer
	args     []string
	within   bool // the command is one of several in this process
}

// exit is an error that has been shown already, or needs its own code.
type exit struct {
	code int
	err  error // nil: nothing more to say
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exit) Unwrap() error { return e.err }

// usageError is a wrong command line.
type usageError struct{ error }

func execute(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	e := &env{in: in, out: out, err: errw, args: args}
	return e.execute(ctx)
}

func (e *env) execute(ctx context.Context) int {
	root := newRoot(e)
	root.SetArgs(e.args)
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	running := false
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		running = true
		if !e.within {
			giveWay(args)
		}
		return checkLeast(cmd.Flags())
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if code == exitOther {
		code = exitUsage // cobra's own: unknown command, bad argument
		if running {
			code = exitFailure
		}
	}
	if msg := message(err); msg != "" {
		fmt.Fprintln(e.err, msg)
	}
	if damaged(cmd, err) {
		fmt.Fprintln(e.err, "'simd doctor DIR' says what is damaged and what can be saved.")
	}
	if code == exitUsage {
		fmt.Fprintf(e.err, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return code
}

// damaged reports whether a run directory is, which the doctor knows more about.
func damaged(cmd *cobra.Command, err error) bool {
	var shown *exit
	return protocol.KindOf(err) == protocol.KindCorrupt && !errors.As(err, &shown) &&
		(strings.Contains(cmd.Use, " DIR") || cmd.Name() == "run")
}

func message(err error) string {
	var e *exit
	if errors.As(err, &e) && e.err == nil {
		return ""
	}
	if faults, ok := errors.AsType[*project.Error](err); ok {
		return faultText(faults)
	}
	return "simd: " + err.Error()
}

// codeOf maps an error to an exit code.
func codeOf(err error) int {
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*project.Error](err); ok {
		return exitInvalid
	}
	var known *protocol.Error
	if !errors.As(err, &known) {
		return exitOther
	}
	switch known.Kind {
	case protocol.KindNotFound:
		return exitNotFound
	case protocol.KindConflict:
		return exitConflict
	case protocol.KindInvalid:
		return exitInvalid
	case protocol.KindCorrupt:
		return exitDivergence
	}
	return exitFailure
}

func newRoot(e *env) *cobra.Command {
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
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Describe a command", RunE: help})
	root.AddGroup(&cobra.Group{ID: "run", Title: "Simulations:"}, &cobra.Group{ID: "tools", Title: "Tools:"})
	for _, c := range []*cobra.Command{newInit(e), newRun(e), newReplay(e), newFork(e), newDoctor(e), newInspect(e), newDiff(e), newApprove(e), newOrder(e), newControl(e), newInteract(e), newExport(e), newCassette(e), newRuns(e), newValidate(e), newKB(e), newTool(e), newPlugin(e), newFiles(e), newMCP(e), newBench(e)} {
		c.GroupID = "run"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{newMockLLM(e), newTAM(e), newToolsXML(e), newState(e), newSchema(e), newVersion(e)} {
		c.GroupID = "tools"
		root.AddCommand(c)
	}
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
	for _, sub := range found.Commands() {
		names = append(names, sub.Name())
	}
	hint := source.Suggest(rest[0], names)
	if hint == "" {
		hint = "there are " + strings.Join(names, ", ")
	}
	return usageError{fmt.Errorf("unknown command %q for %q; %s", rest[0], found.CommandPath(), hint)}
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
			if _, told := errors.AsType[usageError](err); err == nil || told {
				return err
			}
			return usageError{fmt.Errorf("%s wants %s; arguments given: %d", cmd.CommandPath(), cmp.Or(wanted, "no arguments"), len(args))}
		}
	}
	return c
}
