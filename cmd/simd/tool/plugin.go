package tool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"tavernsim/tools/plugin"
)

// NewPlugin is `simd plugin`.
func NewPlugin(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Plugins: folders that add tools and more to projects",
		Long:  "Make, check, list, grant and configure plugins (docs/formats/plugin.md).",
	}
	c.AddCommand(newPluginList(e), newPluginValidate(e), newPluginNew(e), newPluginGrant(e), newPluginConfig(e))
	return c
}

// inProject loads what the arguments [PROJECT] NAME mean: a plugin, the project that has it
// and its folder. Without PROJECT it is the current folder if that is a project, else the
// plugin alone. A broken plugin is an error.
func inProject(args []string, more string) (dir string, p *project.Project, x *project.Plugin, err error) {
	name := args[len(args)-1]
	switch {
	case len(args) == 2:
		dir = args[0]
	case plugins.IsProject("."):
		dir = "."
	default:
		if dir, err = plugins.Find(name); err != nil {
			return dir, nil, nil, err
		}
		name = filepath.Base(dir)
	}
	if p, err = cli.LoadProject(dir, more, true); err == nil {
		x, err = plugins.Of(p, name)
	}
	return dir, p, x, err
}

type pluginOptions struct {
	plugins, grants   string
	json, dry, revoke bool
}

func newPluginList(e *cli.Env) *cobra.Command {
	var o pluginOptions
	c := &cobra.Command{
		Use:   "list [PROJECT]",
		Short: "List the plugins of a project",
		Long: `List the plugins of a project, by default of the current folder: whether each is on
(project.json lists it), off or broken, and whether you have granted what it asks for.

Exit codes: 0 listed, 2 usage, 3 the project has faults, 4 not found.`,
		Example: "  simd plugin list my-project\n  simd plugin list my-project --plugins ~/simd-plugins --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.list(e, append(args, ".")[0])
		},
	}
	cli.PluginsFlag(c.Flags(), &o.plugins)
	cli.GrantsFlag(c.Flags(), &o.grants)
	c.Flags().BoolVar(&o.json, "json", false, "print a list of {name, version, state, grant, tools, needs, faults, description}")
	return c
}

func (o *pluginOptions) list(e *cli.Env, dir string) error {
	p, err := cli.LoadProject(dir, o.plugins, true)
	if err != nil {
		return err
	}
	store, err := operator.Of(dir).Grants(o.grants)
	if err != nil {
		return err
	}
	at, err := placeOf(dir)
	if err != nil {
		return err
	}
	lines, err := plugins.List(p, at, dir, o.plugins, store)
	if err != nil {
		return err
	}
	if o.json {
		return show.JSON(e.Out, lines)
	}
	for _, l := range lines {
		fmt.Fprintf(e.Out, "%-24s %-10s %-7s %-8s %s\n", terminal.Plain(l.Name), terminal.Plain(l.Version), l.State, l.Grant, terminal.Plain(strings.Join(append(l.Tools, l.Needs...), " ")))
	}
	return nil
}

func newPluginValidate(e *cli.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate DIR",
		Short: "Check the folder of a plugin and list every fault",
		Long: `Check a plugin without a project: its manifest, and everything in its folders. DIR
is the folder, or its name in plugins/. Plugins that it depends on lie beside it.

Exit codes: 0 sound, 2 usage, 3 faults, 4 not found.`,
		Example: "  simd plugin validate my-project/plugins/weather",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return validatePlugin(e, args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {project, sound, faults, total, warnings} as JSON; project is the folder")
	return c
}

func validatePlugin(e *cli.Env, name string, asJSON bool) error {
	dir, err := plugins.Find(name)
	if err != nil {
		return err
	}
	p, err := cli.LoadProject(dir, "", true)
	if err == nil {
		err = plugins.Broken(p)
	}
	v := cli.Validation{Project: dir, Sound: err == nil, Faults: []cli.Fault{}, Warnings: []cli.Fault{}}
	var faults *project.Error
	switch {
	case errors.As(err, &faults):
		v.Faults, v.Total = cli.FaultsOf(faults.Faults), faults.Total
	case err != nil:
		return err
	default:
		v.Warnings = cli.FaultsOf(p.Warnings)
	}
	if asJSON {
		if err := show.JSON(e.Out, v); err != nil {
			return err
		}
		if !v.Sound {
			return &cli.Exit{Code: cli.ExitInvalid}
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		cli.Warn(e.Err, fmt.Sprint(w))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	x := p.Plugins()[filepath.Base(abs)]
	fmt.Fprintf(e.Out, "%s is sound: %s %s, %s, %s\n", dir, x.Manifest.Name, x.Manifest.Version, terminal.Plural(len(x.Tools), "tool"), terminal.Plural(len(x.Manifest.ConfigOptions), "option"))
	if a, asks := plugins.Asked(p, needs.Place{})[x.Manifest.Name]; asks {
		fmt.Fprintf(e.Out, "it asks for %s; the operator grants it: simd plugin grant PROJECT %s\n", strings.Join(a.Needs, ", "), x.Manifest.Name)
	}
	return nil
}

func newPluginNew(e *cli.Env) *cobra.Command {
	var kind string
	var asJSON bool
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a plugin that works",
		Long: `Make the folder of a plugin, with a tool NAME:hello (override has none): in plugins/ if the current
folder is a project, else in the current folder. Kinds:

  script    a program that is started for each call, in the sandbox (Python)
  rpc       a program that stays between calls, in the sandbox (Python)
  http      a request to a server; a server to try it comes along
  mcp       a server of the Model Context Protocol, in the sandbox (Python)
  override  a service that answers in the place of models, in the sandbox (Python)

Exit codes: 0 made, 2 usage, also no such name or kind, 6 the folder is not empty.`,
		Example: "  simd plugin new weather\n  simd plugin new weather --kind http --json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return makePlugin(e, args[0], kind, asJSON) },
	}
	c.Flags().StringVar(&kind, "kind", "script", strings.Join(plugin.Kinds(), ", "))
	c.Flags().BoolVar(&asJSON, "json", false, "print {name, kind, folder, files} in place of what to do next")
	return c
}

// madePlugin is what simd plugin new has made.
type madePlugin struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Folder string   `json:"folder"`
	Files  []string `json:"files"` // within the folder
}

func makePlugin(e *cli.Env, name, kind string, asJSON bool) error {
	dir := filepath.Clean(name)
	if plugins.IsProject(".") && filepath.Base(dir) == dir {
		dir = filepath.Join(plugin.Folder, dir)
	}
	files, err := plugin.New(filepath.Base(dir), kind)
	if err != nil {
		return cli.Given(err)
	}
	entries, err := os.ReadDir(dir)
	if len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return protocol.Errorf(protocol.KindConflict, "folder %s is not empty; name a new one", dir)
	}
	for _, file := range protocol.SortedKeys(files) {
		to := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, files[file], 0o644); err != nil {
			return err
		}
	}
	if asJSON {
		return show.JSON(e.Out, madePlugin{filepath.Base(dir), kind, dir, protocol.SortedKeys(files)})
	}
	fmt.Fprint(e.Out, plugin.Next(dir, kind))
	return nil
}

func newPluginGrant(e *cli.Env) *cobra.Command {
	var o pluginOptions
	c := &cobra.Command{
		Use:   "grant [PROJECT] NAME",
		Short: "Grant a plugin what it asks for",
		Long: `Show what a plugin asks for (servers, secrets), what has changed since you granted
it, and its files, and write it into your file of grants. It counts for the project and
for these files: when one changes, no tool of the plugin is called until you grant it
again. Without PROJECT it is the current folder; if that is no project, the plugin alone.

Exit codes: 0 granted, or nothing is asked for, 2 usage, 3 the project or the file has
faults, 4 no such plugin.`,
		Example: "  simd plugin grant my-project weather --dry-run\n  simd plugin grant my-project weather",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, p, x, err := inProject(args, o.plugins)
			if err != nil {
				return err
			}
			g := grantOptions{file: o.grants, dry: o.dry, revoke: o.revoke, json: o.json}
			return g.grant(e, dir, p, []string{needs.OfPlugin(x.Manifest.Name)})
		},
	}
	f := c.Flags()
	cli.PluginsFlag(f, &o.plugins)
	cli.GrantsFlag(f, &o.grants)
	f.BoolVar(&o.dry, "dry-run", false, "write nothing; say what is asked for and what has changed")
	f.BoolVar(&o.revoke, "revoke", false, "take the grant away")
	f.BoolVar(&o.json, "json", false, "print a list of {folder, tool, needs, state, changes, elsewhere, files}")
	return c
}

type pluginConfigOptions struct {
	plugins, scene string
	sources        plugin.Sources
	origin, json   bool
}

func newPluginConfig(e *cli.Env) *cobra.Command {
	var o pluginConfigOptions
	c := &cobra.Command{
		Use:   "config [PROJECT] NAME",
		Short: "Show the options of a plugin",
		Long: `Show the options of a plugin and their values. Later layers win: default, project.json,
plugin_config of the scene, your file, the environment, --set. Without PROJECT it is the
current folder; if that is no project, the plugin alone. Values of secrets are not shown.

Exit codes: 0 shown, 2 usage, also a value that cannot be, 3 a file has faults, 4 no such
plugin or scene.`,
		Example: "  simd plugin config my-project weather --origin\n  simd plugin config my-project weather --set extensions.weather.unit=feet",
		Args:    cobra.RangeArgs(1, 2),
		RunE:    func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	f := c.Flags()
	cli.PluginsFlag(f, &o.plugins)
	cli.ConfigFlags(f, &o.sources)
	f.StringVar(&o.scene, "scene", "", "with the values of the scene `ID` (default: of none)")
	f.BoolVar(&o.origin, "origin", false, "say which layer each value is of, and which it has taken the place of")
	f.BoolVar(&o.json, "json", false, "print a list of {key, type, value, origin, hides, secret, variable}")
	return c
}

func (o *pluginConfigOptions) run(e *cli.Env, args []string) error {
	dir, p, x, err := inProject(args, o.plugins)
	if err != nil {
		return err
	}
	var scene map[string]map[string]any
	if o.scene != "" {
		s, err := p.Scene(o.scene)
		if err != nil {
			return err
		}
		scene = s.Definition.PluginConfig
	}
	if err := cli.CheckSet(o.sources, p); err != nil {
		return err
	}
	sources, err := operator.Of(dir).Config(o.sources)
	if err != nil {
		return err
	}
	given, err := sources.Read(tooling.Manifests(p))
	if err != nil {
		return err
	}
	all, err := tooling.Config(p, scene, given)
	if err != nil {
		return err
	}
	lines := plugins.Options(x, all[x.Manifest.Name])
	if o.json {
		return show.JSON(e.Out, lines)
	}
	for i := range lines {
		fmt.Fprintln(e.Out, terminal.Plain(lines[i].Text(o.origin)))
	}
	return nil
}
