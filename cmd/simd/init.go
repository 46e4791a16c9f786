package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/examples"
	"tavernsim/scenes/run/runner"
)

type initOptions struct{ list, json bool }

func newInit(e *cli.Env) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init TEMPLATE [DIR]",
		Short: "Make a new project out of a template",
		Long: `Make a project folder out of a template. DIR must be new or empty; without it the
folder has the name of the template. The project runs at once, without a network.

Exit codes: 0 made, 2 usage, 4 no such template, 6 the folder is not empty.`,
		Example: "  simd init hello my-project\n  simd init --list",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.list && len(args) == 0 || !o.list && (len(args) == 1 || len(args) == 2) {
				return nil
			}
			return cli.Usagef("%s wants a template and a folder, or --list", cmd.CommandPath())
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case o.list:
				return o.show(e)
			case len(args) == 1:
				return o.run(e, args[0], args[0])
			}
			return o.run(e, args[0], args[1])
		},
	}
	c.Flags().BoolVar(&o.list, "list", false, "list the templates")
	c.Flags().BoolVar(&o.json, "json", false, "print the list, or what was made, as JSON")
	return c
}

// template is a project that others begin with.
type template struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// templates are the examples, by name.
func templates() (map[string]fs.FS, error) {
	entries, err := fs.ReadDir(examples.Projects(), ".")
	all := map[string]fs.FS{}
	for _, d := range entries {
		sub, _ := fs.Sub(examples.Projects(), d.Name()) // fails for an invalid name alone
		all[d.Name()] = sub
	}
	return all, err
}

func (o *initOptions) show(e *cli.Env) error {
	known, err := templates()
	if err != nil {
		return err
	}
	var all []template
	for _, name := range protocol.SortedKeys(known) {
		p, err := runner.LoadFS(known[name], name, false)
		if err != nil {
			return err
		}
		all = append(all, template{name, p.Definition.Description})
	}
	if o.json {
		return show.JSON(e.Out, all)
	}
	for _, t := range all {
		fmt.Fprintf(e.Out, "%-10s %s\n", t.Name, t.Description)
	}
	return nil
}

// run copies a template.
func (o *initOptions) run(e *cli.Env, name, dir string) error {
	known, err := templates()
	if err != nil {
		return err
	}
	from := known[name]
	if from == nil {
		return protocol.Errorf(protocol.KindNotFound, "no template %q; %s", name, cmp.Or(source.Suggest(name, protocol.SortedKeys(known)), "simd init --list shows them; simd init hello DIR makes the folder DIR from the shortest"))
	}
	switch entries, err := os.ReadDir(dir); {
	case len(entries) > 0:
		return protocol.Errorf(protocol.KindConflict, "folder %s is not empty; name a new one", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return protocol.Errorf(protocol.KindConflict, "%s is not a folder; name a new one", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := copyNew(dir, from); err != nil {
		return err
	}
	if o.json {
		return show.JSON(e.Out, map[string]string{"template": name, "folder": dir})
	}
	fmt.Fprintf(e.Out, "%s is a copy of %s. README.md says what is in it. Next:\n\n  simd run %s\n  simd validate %s\n", dir, name, dir, dir)
	return nil
}

// copyNew copies files into a folder that has none of them. If one cannot be written, copyNew removes what
// it made, and nothing else: another process may fill the same folder.
func copyNew(dir string, from fs.FS) (err error) {
	var made []string
	defer func() {
		for _, name := range slices.Backward(made) {
			if err != nil {
				_ = os.Remove(name) // a folder with files of others stays
			}
		}
	}()
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	return fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			err := os.Mkdir(to, 0o777)
			if err == nil {
				made = append(made, to)
			} else if info, missing := os.Stat(to); missing == nil && info.IsDir() {
				err = nil
			}
			return err
		}
		data, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return protocol.Errorf(protocol.KindConflict, "%s is there already; name a new folder", to)
		}
		if err != nil {
			return err
		}
		made = append(made, to)
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	})
}
