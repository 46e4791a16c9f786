package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/scenes/run/rundir"
)

type runsOptions struct {
	older       time.Duration
	resumable   bool
	dryRun, yes bool
	json        bool
}

// NewRuns is `simd runs`.
func NewRuns(e *cli.Env) *cobra.Command {
	var o, p runsOptions
	c := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "List the runs below a folder, remove old ones",
		Long: `List the runs in a folder (default: runs) and up to four levels below it, the
oldest first: directory, scenes, state, size and start. A run is running (a
process has it), ended, resumable (interrupted, killed, or not begun) or damaged
(something of it cannot be read or is not there: a line below the table says what).

Exit codes: 0 listed, 2 usage, 4 no such folder.`,
		Example: "  simd runs\n  simd runs experiments --json",
		Args:    upToOne,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.list(cmd.Context(), e, folderOf(args)) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print the runs as a JSON list")
	prune := &cobra.Command{
		Use:   "prune [FOLDER]",
		Short: "Remove runs that have ended",
		Long: `Remove the runs in a folder (default: runs) and up to four levels below it that
have ended. A run that a process has, or that is damaged, stays; one that could go
on stays unless --resumable. Files that simd has not written stay, with the
directory in which they are.

On a terminal it shows what it would remove and asks, unless --yes. Elsewhere it
asks nothing.

Exit codes: 0 removed, 1 the answer was no or something could not be removed,
2 usage, 4 no such folder.`,
		Example: "  simd runs prune --dry-run\n  simd runs prune --older 168h --yes",
		Args:    upToOne,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.prune(cmd.Context(), e, folderOf(args)) },
	}
	f := prune.Flags()
	f.DurationVar(&p.older, "older", 0, "only runs that began longer ago than this `TIME`")
	cli.Least(f, 0, "older")
	f.BoolVar(&p.resumable, "resumable", false, "also runs that could go on")
	f.BoolVar(&p.dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	f.BoolVarP(&p.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&p.json, "json", false, "print the removed runs as a JSON list")
	c.AddCommand(prune)
	return c
}

func upToOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("%s takes one folder", cmd.CommandPath())
	}
	return nil
}

func folderOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "runs"
}

func (o *runsOptions) list(ctx context.Context, e *cli.Env, folder string) error {
	runs, err := rundir.List(ctx, folder)
	if err != nil {
		return err
	}
	return o.show(e, runs)
}

func (o *runsOptions) show(e *cli.Env, runs []rundir.Listed) error {
	if o.json {
		return show.JSON(e.Out, runs)
	}
	t := terminal.NewTable(e.Out, "run", "scenes", "state", ">size", "began")
	total := int64(0)
	for _, r := range runs {
		began := ""
		if !r.Created.IsZero() {
			began = r.Created.Local().Format(time.DateTime)
		}
		t.Row(r.Dir, strings.Join(r.Scenes, ", "), r.State, terminal.Size(float64(r.Bytes)), began)
		total += r.Bytes
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Problem != "" {
			fmt.Fprintf(e.Out, "%s: %s\n", terminal.Plain(r.Dir), terminal.Plain(r.Problem))
		}
	}
	_, err := fmt.Fprintf(e.Out, "%d runs, %s\n", len(runs), terminal.Size(float64(total)))
	return err
}

func (o *runsOptions) prune(ctx context.Context, e *cli.Env, folder string) error {
	all, err := rundir.List(ctx, folder)
	if err != nil {
		return err
	}
	gone := []rundir.Listed{}
	for _, r := range all {
		if (r.State == rundir.Ended || o.resumable && r.State == rundir.Resumable) && time.Since(r.Created) >= o.older {
			gone = append(gone, r)
		}
	}
	if err := o.show(e, gone); err != nil || o.dryRun || len(gone) == 0 {
		return err
	}
	if !o.yes && term.IsTerminal(int(os.Stdin.Fd())) && !agreed(e) {
		return &cli.Exit{Code: cli.ExitFailure, Err: fmt.Errorf("nothing was removed")}
	}
	for _, r := range gone {
		err = errors.Join(err, rundir.Remove(r.Dir, o.resumable))
	}
	return err
}

// agreed asks on the terminal.
func agreed(e *cli.Env) bool {
	fmt.Fprint(e.Err, "remove them? [y/N] ")
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y")
}
