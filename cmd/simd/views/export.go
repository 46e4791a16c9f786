package views

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/newfile"
	"tavernsim/internal/progress"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/view/export"
	"tavernsim/scenes/view/inspect"
)

type exportOptions struct {
	format, scene, out   string
	what                 []string
	since, until         string
	kinds, agents, paths []string
	force, quiet         bool
}

// NewExport is `simd export`.
func NewExport(e *cli.Env) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the data of a run as tables: JSON lines, CSV, Parquet",
		Long: `Write facts, events, or the values of the world or of private states over time
as a table for other programs. The command first checks the whole journal against
its digests, like simd replay, and writes nothing if it is damaged. Then it writes
rows while it reads: memory does not grow with the length of the run. If the run
has dropped facts (simd run --keep), the tables begin where the stored history
begins, and a line on stderr says so.

The table artifacts lists files that calls left; with a folder as --out, the files
go into its folder artifacts.

A file gets its name when it is complete; an existing file is replaced only with
--force. With several tables, or a folder as --out, each table is one file.

Moments: a scene time (2026-01-01T08:00:00Z), an offset from the start (90s),
wave:N, seq:N.

Exit codes: 0 written, 2 usage, also a wrong path or moment, 4 no such run,
scene or agent, 6 the file exists, 8 damage, 130 interrupted.`,
		Example: `  simd export runs/latest --what events --format csv --out events.csv
  simd export runs/latest --what world --path 'market.prices.*'
  simd export runs/latest --what agents --agent baker --path coins
  simd export runs/latest --what facts,events --format parquet --out tables/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "jsonl", "jsonl, csv or parquet")
	f.StringSliceVar(&o.what, "what", []string{"facts"}, "tables: facts, events, world, agents, artifacts")
	f.StringVar(&o.scene, "scene", "", "the scene, if the run has several")
	f.StringVar(&o.out, "out", "-", "file, folder, or - for standard output")
	f.StringVar(&o.since, "since", "", "first moment")
	f.StringVar(&o.until, "until", "", "last moment")
	f.StringSliceVar(&o.kinds, "kind", nil, "only these kinds of facts or types of events; a name may end in *")
	f.StringSliceVar(&o.agents, "agent", nil, "only facts, events, private states or artifacts of these agents")
	f.StringArrayVar(&o.paths, "path", nil, "path of world or agents, with wildcards (default: the top-level keys)")
	f.BoolVar(&o.force, "force", false, "replace files")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	return c
}

func (o *exportOptions) check(out io.Writer) (format export.Format, err error) {
	if format, err = export.ParseFormat(o.format); err != nil {
		return format, cli.Usage(err)
	}
	for i, name := range o.what {
		if _, err := export.Find(name); err != nil {
			return format, cli.Usage(err)
		}
		if slices.Contains(o.what[:i], name) {
			return format, cli.Usagef("--what names %s twice", name)
		}
	}
	switch _, shown := out.(*terminal.Screen); {
	case len(o.what) == 0:
		return format, cli.Usagef("--what wants a table: facts, events, world, agents or artifacts")
	case o.out == "-" && len(o.what) > 1:
		return format, cli.Usagef("several tables cannot be written to stdout; name a folder with --out")
	case o.out == "-" && format == export.Parquet && shown:
		return format, cli.Usagef("a terminal does not show Parquet; name a file with --out")
	}
	return format, o.checkTables()
}

// checkTables refuses a flag that is for none of the tables.
func (o *exportOptions) checkTables() error {
	for _, f := range []struct {
		flag   string
		given  []string
		tables []string
	}{
		{"kind", o.kinds, []string{"facts", "events"}},
		{"agent", o.agents, []string{"facts", "events", "agents", "artifacts"}},
		{"path", o.paths, []string{"world", "agents"}},
	} {
		if len(f.given) > 0 && !slices.ContainsFunc(f.tables, func(table string) bool { return slices.Contains(o.what, table) }) {
			last := len(f.tables) - 1
			return cli.Usagef("--%s is for the tables %s and %s; add one of them to --what", f.flag, strings.Join(f.tables[:last], ", "), f.tables[last])
		}
	}
	return nil
}

func (o *exportOptions) run(ctx context.Context, e *cli.Env, dir string) error {
	format, err := o.check(e.Out)
	if err != nil {
		return err
	}
	run, err := inspect.Open(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	scene, err := run.Scene(o.scene)
	if err != nil {
		return cli.Given(err)
	}
	o.noteBeginning(e.Err, scene)
	for _, table := range o.what {
		err := o.table(ctx, e, scene, table, format, dir)
		if ctx.Err() != nil {
			return &cli.Exit{Code: cli.ExitInterrupted, Err: protocol.Errorf(protocol.KindCancelled, "export: interrupted at the table %s", table)}
		}
		if err != nil {
			return cli.Given(err)
		}
	}
	return nil
}

// noteBeginning says that the tables do not begin where the run began.
func (o *exportOptions) noteBeginning(w io.Writer, scene *inspect.Scene) {
	if begin := scene.Journal().Begin(); begin.Number > 0 && o.since == "" && !o.quiet {
		fmt.Fprintf(w, "the kept history begins with wave %s, fact %s: what came before was dropped\n", terminal.Thousands(begin.Number+1), terminal.Thousands(begin.Last+1))
	}
}

func (o *exportOptions) table(ctx context.Context, e *cli.Env, scene *inspect.Scene, table string, format export.Format, dir string) error {
	opt := export.Options{Span: inspect.Span{Since: o.since, Until: o.until}, Kinds: o.kinds, Agents: o.agents, Paths: o.paths, RunDir: dir}
	if o.out == "-" {
		done, err := o.write(ctx, e, scene, table, format, opt, e.Out)
		if err == nil && done.Rows == 0 && !o.quiet {
			fmt.Fprintf(e.Err, "%s: no rows\n", table)
		}
		return err
	}
	name, err := o.file(table, format)
	if err != nil {
		return err
	}
	var done export.Written
	err = newfile.Write(name, o.force, func(to io.Writer) (err error) {
		done, err = o.write(ctx, e, scene, table, format, opt, to)
		return err
	})
	if err != nil {
		return o.advised(err)
	}
	if !o.quiet {
		fmt.Fprintf(e.Err, "%s: %s rows in %s\n", table, terminal.Thousands(done.Rows), name)
	}
	if table == "artifacts" && name != o.out {
		return o.files(e, scene, opt)
	}
	return nil
}

// write says meanwhile how far it is.
func (o *exportOptions) write(ctx context.Context, e *cli.Env, scene *inspect.Scene, table string, format export.Format, opt export.Options, to io.Writer) (export.Written, error) {
	say, clear := progress.Work(e.Err, o.quiet)
	defer clear()
	if say != nil {
		scene.Progress = func(read, total uint64) { say(table, "reading the journal", read, total) }
	}
	return export.Write(ctx, scene, table, format, opt, to)
}

// files copies the artifacts of the table.
func (o *exportOptions) files(e *cli.Env, scene *inspect.Scene, opt export.Options) error {
	folder := filepath.Join(o.out, "artifacts")
	n, err := export.Files(scene, opt, folder, o.force)
	if err == nil && n > 0 && !o.quiet {
		fmt.Fprintf(e.Err, "artifacts: %s files in %s\n", terminal.Thousands(n), folder)
	}
	return o.advised(err)
}

// advised names the flag that replaces a file that is there.
func (o *exportOptions) advised(err error) error {
	if !o.force && protocol.KindOf(err) == protocol.KindConflict && errors.Is(err, fs.ErrExist) {
		return protocol.Errorf(protocol.KindConflict, "export: %w, or replace it with --force", err)
	}
	return err
}

// file is where a table goes.
func (o *exportOptions) file(table string, format export.Format) (string, error) {
	info, err := os.Stat(o.out)
	folder := err == nil && info.IsDir() || strings.HasSuffix(o.out, "/") || len(o.what) > 1
	if !folder {
		return o.out, nil
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	return filepath.Join(o.out, table+"."+string(format)), nil
}
