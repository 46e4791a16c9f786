// Package tool has the commands about tools: tool, plugin, mcp.
package tool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/lenient"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/internal/wirejson"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/answer"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/run/plugins"
	"tavernsim/scenes/run/served"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/render"
	"tavernsim/tools"
	"tavernsim/tools/plugin"
)

// NewTool is `simd tool`.
func NewTool(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "tool",
		Short: "The tools of a project",
		Long:  "List, show and try the tools that a project defines (docs/formats/tool.md).",
	}
	c.AddCommand(newToolList(e), newToolSchema(e), newToolCall(e), newToolGrant(e), newToolAudit(e))
	return c
}

// toolLine is a tool in the JSON of the list.
type toolLine struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Repeat      string   `json:"repeat"`
	Needs       []string `json:"needs"`
	File        string   `json:"file"`
	Plugin      string   `json:"plugin"` // that it is of; "" = the project's own
	Description string   `json:"description"`
}

func newToolList(e *cli.Env) *cobra.Command {
	var asJSON bool
	var more string
	c := &cobra.Command{
		Use:     "list PROJECT",
		Short:   "List the tools of a project",
		Long:    "List the tools of a project: id, type, whether calls may be repeated, what they need.\n\nExit codes: 0 listed, 2 usage, 3 the project has faults, 4 not found.",
		Example: "  simd tool list my-project",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return listTools(e, args[0], more, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of {id, type, repeat, needs, file, plugin, description}")
	cli.PluginsFlag(c.Flags(), &more)
	return c
}

func listTools(e *cli.Env, dir, more string, asJSON bool) error {
	p, err := cli.LoadProject(dir, more, true)
	if err != nil {
		return err
	}
	if err := plugins.Broken(p); err != nil && plugins.Is(dir) {
		return err
	}
	lines := []toolLine{}
	for _, id := range p.ToolIDs() {
		t, _ := p.Tool(id)
		d := t.Definition
		lines = append(lines, toolLine{id, d.Implementation.Type, string(d.Execution.Repeat), append([]string{}, d.Needs...), t.File, t.Plugin, d.Description})
	}
	if asJSON {
		return show.JSON(e.Out, lines)
	}
	for _, l := range lines {
		fmt.Fprintf(e.Out, "%-32s %-9s %-7s %s\n", terminal.Plain(l.ID), l.Type, l.Repeat, terminal.Plain(strings.Join(append(l.Needs, l.File), " ")))
	}
	return nil
}

func newToolSchema(e *cli.Env) *cobra.Command {
	var as, more string
	var asJSON bool
	c := &cobra.Command{
		Use:   "schema PROJECT ID",
		Short: "Show a tool as models and clients are told of it",
		Long: `Show a tool as models are told of it: as a function (models with native calls) or
in words (tam); or as clients of simd mcp serve are (mcp). Without --as it is the schema
of the parameters.

Exit codes: 0 shown, 2 usage, 3 the project has faults, 4 no such tool.`,
		Example: "  simd tool schema my-project weather.forecast --as function\n  simd tool schema my-project weather.forecast --as mcp",
		Args:    cobra.ExactArgs(2),
		RunE:    func(_ *cobra.Command, args []string) error { return showTool(e, args[0], args[1], more, as, asJSON) },
	}
	c.Flags().StringVar(&as, "as", "", "function, tam or mcp")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as without it; --as tam: print {tool, manual}")
	cli.PluginsFlag(c.Flags(), &more)
	return c
}

func showTool(e *cli.Env, dir, id, more, as string, asJSON bool) error {
	t, p, err := findTool(dir, more, id)
	if err != nil {
		return err
	}
	switch as {
	case "":
		return show.JSON(e.Out, t.Definition.Parameters)
	case "function":
		return show.JSON(e.Out, render.Function(t))
	case "mcp":
		return show.JSON(e.Out, served.Shown(p, t))
	case "tam":
		if asJSON {
			return show.JSON(e.Out, map[string]string{"tool": t.Definition.ID, "manual": render.Manual(t)})
		}
		return terminal.Print(e.Out, render.Manual(t)+"\n")
	}
	return cli.Usagef("--as %q: want function, tam or mcp", as)
}

func findTool(dir, more, id string) (*project.Tool, *project.Project, error) {
	p, err := cli.LoadProject(dir, more, true)
	if err != nil {
		return nil, nil, err
	}
	t, err := tooling.Find(p, id)
	if broken := plugins.Broken(p); err != nil && broken != nil {
		err = broken // the tool may be of one of them
	}
	return t, p, err
}

type toolCallOptions struct {
	params     string
	grants     string
	secrets    string
	artifacts  string
	audit      string
	tools      string
	plugins    string
	config     plugin.Sources
	mock, json bool
	retry      int
	text       callText
}

func newToolCall(e *cli.Env) *cobra.Command {
	var o toolCallOptions
	c := &cobra.Command{
		Use:   "call [PROJECT] [ID]",
		Short: "Call a tool of a project once",
		Long: `Call a tool of a project once, outside of a scene, and print its output. Your
audit notes it (simd tool audit). Without PROJECT the tool is one of a plugin: what stands before the colon of its
id is the folder of the plugin, or its name in plugins/, and the plugin is loaded alone.
The folder of a plugin can stand for PROJECT, too.

--tam and --toolsxml carry out all calls of a text as those of an agent's answer, and print
one result for each (docs/formats/tool.md#calls-of-a-text). ID, if it is given, is then the only
tool that may be called.

Exit codes: 0 ok, 1 the call failed or was denied, 2 usage, 3 the project has faults
or the parameters are wrong, 4 no such tool. Of several calls the first that is not ok
counts.`,
		Example: `  simd tool call my-project weather.forecast --params '{"town": "Rome"}'
  simd tool call my-project weather.forecast --params '{"town": "Rome"}' --mock
  simd tool call weather:forecast --params '{"town": "Rome"}'
  simd tool call my-project --tam answer.txt --json
  simd tool call my-project --toolsxml - --files work < answer.txt`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.text.read(e); err != nil {
				return err
			}
			if o.text.given && (cmd.Flags().Changed("params") || cmd.Flags().Changed("retry")) {
				return cli.Usage(errors.New("--params and --retry are for one call; the calls of a text have their own"))
			}
			if len(args) == 2 {
				return o.call(cmd, e, args[0], args[1])
			}
			name, _, ofPlugin := strings.Cut(args[0], ":")
			switch {
			case o.text.given && (!ofPlugin || plugins.Is(args[0])):
				return o.call(cmd, e, args[0], "")
			case !ofPlugin:
				return cli.Usagef("name the project, too: simd tool call PROJECT %s", args[0])
			}
			dir, err := plugins.Find(name)
			if err != nil {
				return err
			}
			return o.call(cmd, e, dir, args[0])
		},
	}
	f := c.Flags()
	cli.GrantsFlag(f, &o.grants)
	cli.SecretsFlag(f, &o.secrets)
	cli.AuditFlag(f, &o.audit)
	cli.PluginsFlag(f, &o.plugins)
	cli.ConfigFlags(f, &o.config)
	o.text.flags(f)
	f.StringVar(&o.params, "params", "{}", "parameters, a `JSON` object")
	f.BoolVar(&o.mock, "mock", false, "tools/mock.yaml answers; nothing is carried out (short for --tools mock)")
	f.StringVar(&o.tools, "tools", "", "live, mock, replay:DIR (the answer that the call got in the run DIR) or off (default live)")
	f.IntVar(&o.retry, "retry", 0, "repeat up to `N` times after failures that may pass")
	f.StringVar(&o.artifacts, "artifacts", "", "`FOLDER` for files that the call leaves, and for a long output as a whole")
	f.BoolVar(&o.json, "json", false, "print the whole result: {status, output, error, meta, artifacts}; of a text {steps, problems}")
	cli.Least(f, 0, "retry")
	return c
}

func (o *toolCallOptions) call(cmd *cobra.Command, e *cli.Env, dir, id string) error {
	read, err := lenient.Read(o.params, lenient.Options{Plain: true, Strict: true})
	params, ok := read.Value.(map[string]any)
	if err != nil || !ok {
		return cli.Usagef("--params: want a JSON object such as '{\"town\": \"Rome\"}'")
	}
	if err := wirejson.Distinct([]byte(o.params)); err != nil {
		return cli.Usagef("--params: %w", err)
	}
	t, p, err := o.find(dir, id)
	if err == nil {
		err = cli.CheckSet(o.config, p)
	}
	if err != nil {
		return err
	}
	mode, recorded, err := o.mode()
	if err != nil {
		return err
	}
	set, err := (&operator.Tools{
		Folder: dir, Project: p, By: "cli", Mode: mode, Again: recorded, Grants: o.grants, Secrets: o.secrets, Config: o.config,
		Files: true, Agent: o.text.files, Refers: operator.Refers(o.params + o.text.text), Artifacts: o.artifacts, Audit: o.audit,
		Warn: func(text string) { fmt.Fprintln(e.Err, "simd: "+text) },
	}).Open()
	if err != nil {
		return err
	}
	defer set.Close()
	ctx, end := showing(cmd.Context(), e.Err)
	if o.text.given {
		return o.answer(ctx, end, e, answer.Options{Project: p, Mode: string(mode), Only: id, Call: set.Call, Failed: set.Remedy})
	}
	r := set.Try(ctx, t, params, o.retry)
	end()
	set.Remedy(&r)
	return o.show(e, &r)
}

// find loads the project, with the tool of the call; without an id there is none.
func (o *toolCallOptions) find(dir, id string) (*project.Tool, *project.Project, error) {
	if id != "" {
		return findTool(dir, o.plugins, id)
	}
	p, err := cli.LoadProject(dir, o.plugins, true)
	return nil, p, err
}

// mode says what answers, and for recorded answers the run that has them.
func (o *toolCallOptions) mode() (tooling.Mode, string, error) {
	if o.mock && o.tools != "" {
		return "", "", cli.Usagef("--mock is --tools mock; give one of them")
	}
	if o.mock {
		return tooling.Mock, "", nil
	}
	mode, recorded, err := tooling.ParseMode(o.tools)
	if err != nil {
		err = cli.Usagef("--%w", err)
	}
	return mode, recorded, err
}

// show prints a result; what failed gives an exit code.
func (o *toolCallOptions) show(e *cli.Env, r *tools.Result) error {
	switch text, isText := r.Output.(string); {
	case o.json:
		if err := show.JSON(e.Out, r); err != nil {
			return err
		}
	case isText:
		if err := terminal.Print(e.Out, text+"\n"); err != nil {
			return err
		}
	case r.Output != nil:
		if err := show.JSON(e.Out, r.Output); err != nil {
			return err
		}
	}
	if r.Error == nil {
		return nil
	}
	return &cli.Exit{Code: callCode(r), Err: r.Err()}
}
