package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/progress"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools/sandbox/summary"
	"tavernsim/tools/script"
	"tavernsim/tools/shell"
)

type doctorOptions struct {
	repair      string
	json, quiet bool
	sandbox     bool
}

// NewDoctor is `simd doctor`.
func NewDoctor(e *cli.Env) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "Check a run directory, report what can be saved, repair a copy",
		Long: `Check everything in a run directory: manifest, inputs, lock, store, every fact,
digest, index entry and snapshot, the summary, the free space. Report what is
damaged, what can be saved and how. The directory does not change.

--repair OUT makes a copy without the damaged parts: journals end with their last
intact wave, indexes are made again, bad snapshots are omitted. If the log of
the database is damaged, the copy contains the part before the damage, and the
report says how many bytes are lost. Resuming the copy computes the missing waves
again.

--sandbox looks at this machine instead, without DIR: a child tries everything that
is forbidden to scripts and to code of models, and the report lists what this machine
guarantees. If a guarantee is missing, such calls are refused; exit code 1.

Exit codes: 0 healthy (with --repair: the copy is), 2 usage, 4 not found, 6 OUT is
not empty, 8 damaged, 130 interrupted.`,
		Example: "  simd doctor runs/latest\n  simd doctor runs/broken --repair runs/mended\n  simd doctor --sandbox",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.sandbox:
			case len(args) == 0:
				return cli.Usage(errors.New("name a run directory, or --sandbox"))
			default:
				return cobra.ExactArgs(1)(cmd, args)
			}
			if len(args) > 0 || o.repair != "" {
				return cli.Usage(errors.New("--sandbox looks at this machine; it takes no run directory and no --repair"))
			}
			return nil
		},
		RunE: cli.Interruptible(func(ctx context.Context, args []string) error {
			if o.sandbox {
				return o.machine(ctx, e)
			}
			return o.run(ctx, e, args[0])
		}),
	}
	f := c.Flags()
	f.StringVar(&o.repair, "repair", "", "make a repaired copy in `OUT`")
	f.BoolVar(&o.sandbox, "sandbox", false, "report what this machine guarantees to programs that nobody trusts")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	c.AddCommand(newDoctorModels(e))
	return c
}

// machine reports what this machine guarantees.
func (o *doctorOptions) machine(ctx context.Context, e *cli.Env) error {
	var page strings.Builder
	err := summary.Doctor(ctx, &page, o.json, append(script.Missing(), shell.Missing()...))
	text := page.String()
	if !o.json {
		text = terminal.FillOn(e.Out, text, strings.Repeat(" ", 22))
	}
	return cmp.Or(terminal.Print(e.Out, text), err)
}

func (o *doctorOptions) run(ctx context.Context, e *cli.Env, dir string) (err error) {
	say, done := progress.Work(e.Err, o.quiet)
	var d *rundir.Diagnosis
	if o.repair == "" {
		d, err = rundir.Examine(ctx, dir, say)
	} else {
		d, err = rundir.Repair(ctx, dir, o.repair, say)
	}
	done()
	if d == nil || ctx.Err() != nil {
		return err
	}
	if shown := o.show(e, d); shown != nil {
		return shown
	}
	if err != nil {
		return err
	}
	last := d
	if d.Repaired != nil {
		last = d.Repaired
	}
	if !last.Healthy {
		return &cli.Exit{Code: cli.ExitDivergence, Err: protocol.Errorf(protocol.KindCorrupt, "%s is damaged", last.RunDir)}
	}
	return nil
}

func (o *doctorOptions) show(e *cli.Env, d *rundir.Diagnosis) error {
	if o.json {
		return show.JSON(e.Out, d)
	}
	page := &strings.Builder{}
	writeDiagnosis(page, d)
	if r := d.Repaired; r != nil {
		fmt.Fprintf(page, "\nthe copy %s\n", r.RunDir)
		writeDiagnosis(page, r)
		fmt.Fprintf(page, "resume with: simd run --resume %s\n", r.RunDir)
	}
	return terminal.Print(e.Out, terminal.FillOn(e.Out, page.String(), "         "))
}

func writeDiagnosis(w io.Writer, d *rundir.Diagnosis) {
	for _, c := range d.Checks {
		name := c.Name
		if c.Scene != "" {
			name = terminal.Plain(c.Scene) + " " + name
		}
		mark := map[string]string{rundir.CheckOK: "ok      ", rundir.CheckNote: "note    ", rundir.CheckDamaged: "DAMAGED "}[c.Status]
		fmt.Fprintf(w, "%s %s: %s\n", mark, name, c.Text)
		if c.Advice != "" {
			fmt.Fprintf(w, "%s   %s\n", strings.Repeat(" ", len(mark)), strings.ReplaceAll(c.Advice, "simd doctor DIR", "simd doctor "+d.RunDir))
		}
	}
	if d.Healthy {
		fmt.Fprintln(w, "healthy")
	}
}
