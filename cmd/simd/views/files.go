package views

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/terminal"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools/files"
)

// NewFiles is `simd files`.
func NewFiles(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "files",
		Short: "Files that agents of a run edited",
		Long:  "List the changes that agents made to files by the tool edit, show the texts before\nand after, and bring one back (docs/formats/tool.md#files).",
	}
	c.AddCommand(newFilesLog(e), newFilesShow(e), newFilesRestore(e))
	return c
}

type filesOptions struct {
	scene, agent string
	json, force  bool
}

func newFilesLog(e *cli.Env) *cobra.Command {
	var o filesOptions
	c := &cobra.Command{
		Use:     "log DIR",
		Short:   "List the changes of files",
		Long:    "List the changes of files in a run: seq of the call, agent, file, the texts before\nand after.\n\nExit codes: 0 listed, 2 usage, 4 no such run, scene or agent.",
		Example: "  simd files log runs/latest --agent ada",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return o.log(e, args[0]) },
	}
	c.Flags().StringVar(&o.scene, "scene", "", "`ID` of the scene, if the run has several")
	c.Flags().StringVar(&o.agent, "agent", "", "changes of this agent `ID`")
	c.Flags().BoolVar(&o.json, "json", false, "print an object per line: {seq, time, agent, file, before, after}")
	return c
}

// open opens a scene of a run for reading.
func (o *filesOptions) open(dir string, use func(*inspect.Scene) error) error {
	run, err := inspect.Open(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	scene, err := run.Scene(o.scene)
	if err != nil {
		return err
	}
	return use(scene)
}

func (o *filesOptions) log(e *cli.Env, dir string) error {
	return o.open(dir, func(s *inspect.Scene) error {
		enc := json.NewEncoder(e.Out)
		t := terminal.NewTable(e.Out, ">seq", "time", "agent", "file", "before", "after")
		err := artifacts.History(dir, s, artifacts.Query{Agent: o.agent}, func(c artifacts.Change) error {
			if o.json {
				return enc.Encode(c)
			}
			t.Row(strconv.FormatUint(c.Seq, 10), c.Time, c.Agent, c.File, briefID(c.Before), briefID(c.After))
			return t.Err()
		})
		if err != nil {
			return err
		}
		return t.Flush()
	})
}

// briefID is so much of an id that it names one.
func briefID(id string) string { return id[:min(len(id), len("sha256-")+16)] }

func newFilesShow(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "show DIR ID",
		Short:   "Show a text before or after a change",
		Long:    "Print a text before or after a change, by its id, which may be shortened.\n\nExit codes: 0 shown, 2 usage, 4 no such run or text, 8 the text is damaged.",
		Example: "  simd files show runs/latest sha256-1f2e3d",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := rundir.ReadManifest(args[0]); err != nil {
				return err
			}
			data, err := artifacts.Read(args[0], args[1])
			if err == nil {
				_, err = e.Out.Write(data)
			}
			return err
		},
	}
}

func newFilesRestore(e *cli.Env) *cobra.Command {
	var o filesOptions
	c := &cobra.Command{
		Use:   "restore DIR SEQ [FILE]",
		Short: "Bring back the text before a change",
		Long: `Give a file the text that it had before the change with this seq. No process may run
the scene. Agents are not told.

Exit codes: 0 restored, 2 usage, 4 no such run, change or text, 6 the run is in use, or
the file was changed since.`,
		Example: "  simd files restore runs/latest 512",
		Args:    cobra.RangeArgs(2, 3),
		RunE:    func(_ *cobra.Command, args []string) error { return o.restore(e, args) },
	}
	c.Flags().StringVar(&o.scene, "scene", "", "`ID` of the scene, if the run has several")
	c.Flags().BoolVar(&o.force, "force", false, "also if the file was changed since")
	return c
}

func (o *filesOptions) restore(e *cli.Env, args []string) error {
	seq, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return cli.Usagef("%q is no seq; simd files log lists them", args[1])
	}
	var change artifacts.Change
	var scene string
	if err := o.open(args[0], func(s *inspect.Scene) (err error) {
		scene = s.ID
		change, err = artifacts.FindChange(args[0], s, seq, append(args, "")[2])
		return err
	}); err != nil {
		return err
	}
	if change.Before == "" {
		return cli.Usagef("%s was made by that change, so there is no text before it", change.File)
	}
	text, err := artifacts.Read(args[0], change.Before)
	if err != nil {
		return err
	}
	run, err := rundir.OpenForWriting(args[0]) // nobody else runs it meanwhile
	if err != nil {
		return err
	}
	if o.force {
		change.After = ""
	}
	m := runner.Mounts(args[0])
	err = errors.Join(files.Restore(m.Source(scene, change.Agent, nil), change.File, text, change.After), run.Close())
	if err == nil {
		fmt.Fprintf(e.Err, "%s of %s is as it was before %d\n", change.File, change.Agent, seq)
	}
	return err
}
