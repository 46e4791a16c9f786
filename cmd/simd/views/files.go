package views

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
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
		err := artifacts.History(s, o.agent, func(c artifacts.Change) error {
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
	var asJSON bool
	c := &cobra.Command{
		Use:     "show DIR ID",
		Short:   "Show a text before or after a change",
		Long:    "Print a text before or after a change, by its id, which may be shortened.\n\nExit codes: 0 shown, 2 usage, 4 no such run or text, 8 the text is damaged.",
		Example: "  simd files show runs/latest sha256-1f2e3d\n  simd files show runs/latest sha256-1f2e3d --json",
		Args:    cobra.ExactArgs(2),
		RunE:    func(_ *cobra.Command, args []string) error { return showFile(e, args[0], args[1], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {id, size, text}; what is no UTF-8 has data, in base64, in place of text")
	return c
}

// shownFile is a text as JSON.
type shownFile struct {
	ID   string  `json:"id"` // whole
	Size int     `json:"size"`
	Text *string `json:"text,omitempty"`
	Data []byte  `json:"data,omitempty"` // of what is no text
}

func showFile(e *cli.Env, dir, id string, asJSON bool) error {
	if _, err := rundir.ReadManifest(dir); err != nil {
		return err
	}
	data, err := artifacts.Read(dir, id)
	if err == nil && !asJSON {
		_, err = e.Out.Write(data)
	}
	if err != nil || !asJSON {
		return err
	}
	if id, err = artifacts.Find(dir, id); err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return show.JSON(e.Out, shownFile{ID: id, Size: len(data), Data: data})
	}
	return show.JSON(e.Out, shownFile{ID: id, Size: len(data), Text: new(string(data))})
}

func newFilesRestore(e *cli.Env) *cobra.Command {
	var o filesOptions
	c := &cobra.Command{
		Use:   "restore DIR SEQ [FILE]",
		Short: "Bring back the text before a change",
		Long: `Give a file the text that it had before the change with this seq. No process may run
the scene. Agents are not told. A change that made the file has no text before it.

Exit codes: 0 restored, 2 usage, 4 no such run, change or text, 6 the run is in use, or
the file was changed since.`,
		Example: "  simd files restore runs/latest 512\n  simd files restore runs/latest 512 notes.md --json",
		Args:    cobra.RangeArgs(2, 3),
		RunE:    func(_ *cobra.Command, args []string) error { return o.restore(e, args) },
	}
	c.Flags().StringVar(&o.scene, "scene", "", "`ID` of the scene, if the run has several")
	c.Flags().BoolVar(&o.force, "force", false, "also if the file was changed since")
	c.Flags().BoolVar(&o.json, "json", false, "print the change that is undone: {seq, time, agent, file, before, after}")
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
		return protocol.Errorf(protocol.KindNotFound, "%s was made by that change, so there is no text before it; remove the file if nobody needs it", change.File)
	}
	text, err := artifacts.Read(args[0], change.Before)
	if err != nil {
		return err
	}
	run, err := rundir.OpenForWriting(args[0]) // nobody else runs it meanwhile
	if err != nil {
		return err
	}
	now := change.After // what the file must have
	if o.force {
		now = ""
	}
	m := runner.Mounts(args[0])
	err = errors.Join(files.Restore(m.Source(scene, change.Agent, nil), change.File, text, now), run.Close())
	switch {
	case err != nil:
		return err
	case o.json:
		return show.JSON(e.Out, change)
	}
	fmt.Fprintf(e.Err, "%s of %s is as it was before %d\n", change.File, change.Agent, seq)
	return nil
}
