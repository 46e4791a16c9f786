package kb

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/worldinfo"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/learnt"
)

// formatBase is a base as a project has it.
const formatBase = "base"

type importOptions struct {
	format, id, out string
	strict          bool
}

func newImport(e *cli.Env) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a knowledge base of a file of another program",
		Long: `Make a knowledge base of world info, of the character_book of a character card, or of
lines of JSON, and print it as a file for knowledgebases/. What the file asks for and
simd does not do is said on stderr, and kept in custom_metadata: exported again, the
file is what it was.

Exit codes: 0 read, 2 usage, 3 the file has faults, or with --strict something is not
applied, 4 no such file, 6 the file to write exists.`,
		Example: "  simd kb import lorebook.json --out my-project/knowledgebases/lore.json\n  simd kb import facts.jsonl --format jsonl --id facts",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return o.read(e, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "", "`FORMAT` of the file: "+strings.Join(worldinfo.Formats(), ", ")+" (default: found out; jsonl by the name of the file)")
	f.StringVar(&o.id, "id", "", "`ID` of the base (default: the name of the file)")
	f.StringVar(&o.out, "out", "", "write to this new `FILE`")
	f.BoolVar(&o.strict, "strict", false, "refuse a file of which something is not applied")
	return c
}

func (o *importOptions) read(e *cli.Env, file string) error {
	if o.format != "" && !slices.Contains(worldinfo.Formats(), o.format) {
		return cli.Usagef("--format %q is not known; there are %s", o.format, strings.Join(worldinfo.Formats(), ", "))
	}
	data, err := readBounded(file, worldinfo.MaxBytes)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if o.id == "" {
		o.id = name
	}
	if ext := filepath.Ext(file); o.format == "" && (ext == ".jsonl" || ext == ".ndjson") {
		o.format = string(worldinfo.JSONL)
	}
	def, notes, err := worldinfo.Import(data, worldinfo.Format(o.format), o.id)
	if err != nil {
		return protocol.Errorf(protocol.KindOf(err), "%s: %w", file, err)
	}
	tell(e, notes)
	if o.strict && len(notes) > 0 {
		return protocol.Errorf(protocol.KindInvalid, "%s: %d settings are not applied (--strict)", file, len(notes))
	}
	return cli.WriteNew(e, o.out, func(w io.Writer) error { return show.JSON(w, fileOf(def)) })
}

// tell shows notes.
func tell(e *cli.Env, notes []string) {
	for _, n := range notes {
		_ = terminal.Print(e.Err, n+"\n") // there is nowhere to say that it failed
	}
}

// fileOf is a base as a file has it.
func fileOf(def *knowledge.KnowledgeBase) map[string]any {
	head := *def
	head.Entries = nil
	var m map[string]any
	raw, err := json.Marshal(&head)
	if err != nil || json.Unmarshal(raw, &m) != nil {
		m = map[string]any{"id": def.ID}
	}
	entries := make([]any, len(def.Entries))
	for i := range def.Entries {
		entries[i] = def.Entries[i].Value()
	}
	m["entries"] = entries
	return m
}

type exportOptions struct {
	format, id, out, scene, more string
	learnt                       bool
	accept                       []string
}

func newExport(e *cli.Env) *cobra.Command {
	var o exportOptions
	formats := append([]string{formatBase}, worldinfo.Formats()...)
	c := &cobra.Command{
		Use:   "export DIR BASE",
		Short: "Write a knowledge base of a project or of a run",
		Long: `Write a knowledge base: of a project as it stands in its file, of a run as it is at the
end of the run. --learnt writes only what agents wrote, --accept first accepts
suggestions that wait for review (simd kb review). The format base is a file for
knowledgebases/. Values at places of secrets are hidden; archived entries are left out.

Exit codes: 0 written, 2 usage, 3 the project has faults, 4 no such folder, scene,
base or suggestion, 6 the file to write exists.`,
		Example: "  simd kb export runs/latest village --learnt --id lessons --out lessons.json\n  simd kb export my-project lore --format worldinfo",
		Args:    cobra.ExactArgs(2),
		RunE:    func(_ *cobra.Command, args []string) error { return o.write(e, args[0], args[1], formats) },
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", formatBase, "`FORMAT` to write: "+strings.Join(formats, ", "))
	f.StringVar(&o.id, "id", "", "`ID` of the base that is written (default: its own)")
	f.StringVar(&o.out, "out", "", "write to this new `FILE`")
	f.StringVar(&o.scene, "scene", "", "`ID` of the scene, if the run has several")
	f.BoolVar(&o.learnt, "learnt", false, "only what agents wrote, and is not archived")
	f.StringSliceVar(&o.accept, "accept", nil, "accept these suggestions, by their `NUMBERS`, first")
	cli.PluginsFlag(f, &o.more)
	return c
}

func (o *exportOptions) write(e *cli.Env, dir, id string, formats []string) error {
	if !slices.Contains(formats, o.format) {
		return cli.Usagef("--format %q is not known; there are %s", o.format, strings.Join(formats, ", "))
	}
	def, err := o.base(dir, id)
	if err != nil {
		return err
	}
	if o.id != "" {
		def.ID = o.id
	}
	if o.format == formatBase {
		return cli.WriteNew(e, o.out, func(w io.Writer) error { return show.JSON(w, fileOf(def)) })
	}
	text, notes, err := worldinfo.Export(def, worldinfo.Format(o.format))
	if err != nil {
		return err
	}
	tell(e, notes)
	return cli.WriteNew(e, o.out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// base is the one of a run, if the folder is one, else of a project.
func (o *exportOptions) base(dir, id string) (def *knowledge.KnowledgeBase, err error) {
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil {
		if o.learnt || len(o.accept) > 0 || o.scene != "" {
			return nil, cli.Usagef("%s is no run; --learnt, --accept and --scene need one", dir)
		}
		found, err := baseOf(dir, o.more, id)
		if err != nil {
			return nil, err
		}
		copied := *found
		return &copied, nil
	}
	q := learnt.Query{Base: id, Agents: o.learnt}
	for _, text := range o.accept {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, cli.Usagef("--accept %q: want numbers of suggestions, such as 3,7", text)
		}
		q.Accept = append(q.Accept, n)
	}
	err = ofScene(dir, o.scene, func(s *inspect.Scene) error {
		def, err = learnt.Base(s, q)
		return err
	})
	return def, err
}

// ofScene opens a scene of a run for reading.
func ofScene(dir, scene string, use func(*inspect.Scene) error) error {
	run, err := inspect.Open(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	s, err := run.Scene(scene)
	if err != nil {
		return err
	}
	return use(s)
}

func newReview(e *cli.Env) *cobra.Command {
	var scene string
	var asJSON bool
	c := &cobra.Command{
		Use:   "review DIR [BASE]",
		Short: "List the changes of knowledge bases that wait for review",
		Long: `List the suggestions of a run that wait for review: number, base, who made it, operation,
and the entry. simd kb export DIR BASE --accept NUMBERS writes the base with those that
you accept. Values at places of secrets are hidden.

Exit codes: 0 listed, 2 usage, 4 no such run, scene or base.`,
		Example: "  simd kb review runs/latest\n  simd kb export runs/latest village --accept 3,7",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return ofScene(args[0], scene, func(s *inspect.Scene) error {
				list, err := learnt.Suggestions(s, strings.Join(args[1:], ""))
				switch {
				case err != nil:
					return err
				case asJSON:
					return show.JSON(e.Out, list)
				case len(list) == 0:
					fmt.Fprintln(e.Out, "no suggestion waits for review")
				}
				for _, x := range list {
					text, err := json.Marshal(x.Entry)
					if err != nil {
						return err
					}
					if err := terminal.Print(e.Out, fmt.Sprintf("%4d  %-20s %-16s %-9s %s\n", x.Suggestion, x.Base, x.By, x.Op, protocol.Short(string(text), 400))); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&scene, "scene", "", "`ID` of the scene, if the run has several")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of {kb, suggestion, by, at, op, entry}")
	return c
}
