package tool

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/run/plugins"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
	"tavernsim/tools/ownfile"
)

type grantOptions struct {
	file, plugins     string
	dry, revoke, json bool
}

func newToolGrant(e *cli.Env) *cobra.Command {
	var o grantOptions
	c := &cobra.Command{
		Use:   "grant PROJECT [ID...]",
		Short: "Grant tools what they ask for",
		Long: `Show what the tools of a project ask for beyond the sandbox (servers, secrets), and
write it into your file of grants. A plugin is granted as a whole, under plugin:NAME. A grant counts for the folder of the project and
the files of the tool as they are now: when one changes, the tool is denied until you
grant it again, and this command says what has changed. Read the files of a tool before you grant it something.

Exit codes: 0 granted, or nothing is asked for, 2 usage, 3 the project or the file has
faults, 4 no such tool.`,
		Example: `  simd tool grant my-project --dry-run
  simd tool grant my-project shop.order
  simd tool grant my-project --revoke`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args[0], args[1:]) },
	}
	f := c.Flags()
	cli.GrantsFlag(f, &o.file)
	cli.PluginsFlag(f, &o.plugins)
	f.BoolVar(&o.dry, "dry-run", false, "write nothing; say what is asked for and what has changed")
	f.BoolVar(&o.revoke, "revoke", false, "take the grants away")
	f.BoolVar(&o.json, "json", false, "print a list of {folder, tool, needs, state, changes, elsewhere, files}")
	return c
}

// askedLine is a tool that asks for something, in the JSON of the command.
type askedLine struct {
	Folder    string            `json:"folder"`
	Tool      string            `json:"tool"`
	Needs     []string          `json:"needs"`
	State     string            `json:"state"` // before the command: new, granted, changed
	Changes   []string          `json:"changes"`
	Elsewhere []string          `json:"elsewhere"` // other folders in which the same tool is granted
	Files     map[string]string `json:"files"`
}

func (o *grantOptions) run(e *cli.Env, dir string, ids []string) error {
	p, err := cli.LoadProject(dir, o.plugins, true)
	if err != nil {
		return err
	}
	return o.grant(e, dir, p, ids)
}

func (o *grantOptions) grant(e *cli.Env, dir string, p *project.Project, ids []string) error {
	at, err := placeOf(dir)
	if err != nil {
		return err
	}
	asked, err := picked(p, at, ids)
	if err != nil {
		return err
	}
	file, _ := operator.GrantsFile(o.file)
	if file == "" {
		return cli.Usagef("there is no configuration folder for a file of grants; name one with --grants FILE")
	}
	if err := operator.Outside(file, dir); err != nil {
		return err
	}
	store, err := grants.Load(file)
	if protocol.KindOf(err) == protocol.KindNotFound {
		store, err = &grants.Store{}, nil
	}
	if err != nil {
		return err
	}
	lines := linesOf(store, asked)
	if o.json {
		err = show.JSON(e.Out, lines)
	} else {
		showAsked(e.Out, at.Folder, lines)
	}
	if err != nil || o.dry || len(asked) == 0 {
		return err
	}
	word := "granted, in"
	for i := range asked {
		if store.Give(&asked[i]); o.revoke {
			word = "taken away, in"
			store.Take(asked[i].Folder, asked[i].Tool)
		}
	}
	if err := store.Write(file); err != nil {
		return err
	}
	fmt.Fprintf(e.Err, "%s %s\n", word, file)
	return nil
}

// placeOf is where a project lies.
func placeOf(dir string) (at needs.Place, err error) {
	at.Folder, err = ownfile.Folder(dir)
	return at, err
}

// picked lists what the named tools ask for, or all.
func picked(p *project.Project, at needs.Place, ids []string) ([]grants.Asked, error) {
	all := needs.Of(p, at)
	if len(ids) == 0 {
		return all, nil
	}
	var list []grants.Asked
	for _, id := range ids {
		key := id // of a plugin
		if name, ok := strings.CutPrefix(id, needs.OfPlugin("")); ok {
			if _, err := plugins.Of(p, name); err != nil {
				return nil, err
			}
		} else {
			t, err := tooling.Find(p, id)
			if err != nil {
				return nil, err
			}
			if key = t.Definition.ID; t.Plugin != "" {
				key = needs.OfPlugin(t.Plugin)
			}
		}
		if i := slices.IndexFunc(all, func(a grants.Asked) bool { return a.Tool == key }); i >= 0 && !slices.ContainsFunc(list, func(a grants.Asked) bool { return a.Tool == key }) {
			list = append(list, all[i])
		}
	}
	return list, nil
}

func linesOf(store *grants.Store, asked []grants.Asked) []askedLine {
	lines := []askedLine{}
	for i := range asked {
		a := &asked[i]
		l := askedLine{Folder: a.Folder, Tool: a.Tool, Needs: a.Needs, State: "new", Changes: []string{}, Elsewhere: []string{}, Files: a.Files}
		l.Elsewhere = append(l.Elsewhere, store.Elsewhere(a)...)
		if g := store.Of(a); g != nil {
			l.State = "granted"
			if l.Changes = append(l.Changes, grants.Difference(g, a)...); len(l.Changes) > 0 {
				l.State = "changed"
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func showAsked(w io.Writer, folder string, lines []askedLine) {
	if len(lines) == 0 {
		fmt.Fprintln(w, "these tools ask for nothing that must be granted")
		return
	}
	fmt.Fprintf(w, "project %s\n", terminal.Plain(folder))
	for _, l := range lines {
		fmt.Fprintf(w, "%-8s %-32s %s\n", l.State, terminal.Plain(l.Tool), terminal.Plain(strings.Join(l.Needs, " ")))
		for _, other := range l.Elsewhere {
			fmt.Fprintf(w, "         is granted in %s\n", terminal.Plain(other))
		}
		for _, c := range l.Changes {
			fmt.Fprintf(w, "         since it was granted: %s\n", terminal.Plain(c))
		}
		for _, f := range protocol.SortedKeys(l.Files) {
			fmt.Fprintf(w, "         %s %s\n", l.Files[f][:12], terminal.Plain(f))
		}
	}
}
