package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/newfile"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/operator"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/secrets"
)

// carryOutCommand carries out the command of e and returns its exit code.
type carryOutCommand func(ctx context.Context, e *cli.Env) int

// NewMCP is `simd mcp`.
func NewMCP(e *cli.Env, carryOut carryOutCommand) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "The Model Context Protocol, both ways",
		Long:  "Offer a project to MCP clients (docs/mcp-server.md), and look at the MCP servers that a\nproject uses (docs/formats/mcp.md).",
	}
	c.AddCommand(newMCPServe(e, carryOut), newMCPPin(e))
	return c
}

func newMCPPin(e *cli.Env) *cobra.Command {
	var o pinOptions
	c := &cobra.Command{
		Use:   "pin PROJECT SERVER",
		Short: "Write down the tools of an MCP server",
		Long: `Start an MCP server of a project, list its tools, end it, and write what it says to
mcp/SERVER.pin.json. A run calls only tools that the server still describes so. Read
the file before you use the tools: models read the descriptions. A tool is left out, as
unusable, if its schema does not compile, its name is no id or that of another one, the
server offers it as a task only, or its description spells a secret of --secrets. Of a
changed tool it says which fields were and are what.

Exit codes: 0 written, 1 the server failed, 2 usage, 3 the project has faults, 4 no
such server.`,
		Example: "  simd mcp pin my-project files\n  simd mcp pin my-project files --dry-run --json",
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.pin(cmd.Context(), e, args[0], args[1]) },
	}
	c.Flags().StringVar(&o.secrets, "secrets", "", "`FILE` with values that the server may have (mode 0600)")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "write nothing; say what has changed")
	c.Flags().BoolVar(&o.json, "json", false, "print {server, file, written, tools}, tools a list of {tool, state, reason}")
	return c
}

type pinOptions struct {
	secrets   string
	dry, json bool
}

// pinned is what became of the pin of a server.
type pinned struct {
	Server  string       `json:"server"`
	File    string       `json:"file"` // within the project
	Written bool         `json:"written"`
	Tools   []pinnedTool `json:"tools"`
}

type pinnedTool struct {
	Tool   string `json:"tool"`
	State  string `json:"state"`            // new, same, changed, gone or unusable
	Reason string `json:"reason,omitempty"` // why it is unusable, or which fields have changed
}

func (o *pinOptions) pin(ctx context.Context, e *cli.Env, dir, id string) error {
	store, err := operator.Of(dir).Secrets(o.secrets)
	if err != nil {
		return err
	}
	servers, err := readServers(dir)
	if err != nil {
		return err
	}
	s := servers[id]
	if s == nil {
		return protocol.Errorf(protocol.KindNotFound, "the project has no MCP server %q; it has %s", id, cmp.Or(strings.Join(protocol.SortedKeys(servers), ", "), "none"))
	}
	opt := mcp.Options{Mask: store.Shown, Sandbox: sandbox.New(sandbox.Options{}), Secrets: func(id string, names []string) (map[string]string, error) { return store.For("", id, names) }}
	pin, reasons, err := mcp.Look(ctx, s.Definition, opt)
	if err != nil {
		return err
	}
	if err := secretive(pin, store, reasons); err != nil {
		return err
	}
	unusable(pin, reasons)
	changes := changesOf(s.Pin, pin, reasons)
	for i := range changes {
		changes[i].Tool, changes[i].Reason = store.Shown(changes[i].Tool), store.Shown(changes[i].Reason)
	}
	pin.Tools = slices.DeleteFunc(pin.Tools, func(t manifest.Pinned) bool { return reasons[t.Name] != "" })
	if !o.dry {
		if err := writePin(filepath.Join(dir, filepath.FromSlash(s.PinFile)), pin); err != nil {
			return err
		}
	}
	if o.json {
		return show.JSON(e.Out, pinned{id, s.PinFile, !o.dry, changes})
	}
	for _, c := range changes {
		fmt.Fprintf(e.Out, "%-8s %s", c.State, terminal.Plain(c.Tool))
		if c.Reason != "" {
			fmt.Fprintf(e.Out, ": %s", terminal.Plain(c.Reason))
		}
		fmt.Fprintln(e.Out)
	}
	return nil
}

func writePin(file string, pin *manifest.Pin) error {
	return newfile.Write(file, true, func(to io.Writer) error {
		w := json.NewEncoder(to)
		w.SetEscapeHTML(false)
		w.SetIndent("", "  ")
		return w.Encode(pin)
	})
}

func readServers(dir string) (map[string]*project.Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
	}
	defer root.Close()
	return project.LoadServers(root.FS(), project.Options{})
}

// unusable says by name why the project would not load with tools: one of them has no id or parameters, two have one
// name for a model, or a schema does not compile.
func unusable(pin *manifest.Pin, reasons map[string]string) {
	names := map[string][]string{}
	for i := range pin.Tools {
		t := &pin.Tools[i]
		if reasons[t.Name] != "" {
			continue
		}
		for _, f := range manifest.NewMCPTool(pin.Server, t).Check() {
			reasons[t.Name] = f.Message
			break
		}
		if reasons[t.Name] != "" {
			continue
		}
		_, err := project.CompileSchema(t.InputSchema)
		if err == nil && t.OutputSchema != nil {
			_, err = project.CompileSchema(t.OutputSchema)
		}
		if err != nil {
			reasons[t.Name] = err.Error()
			continue
		}
		name := project.Squash(t.Name)
		names[name] = append(names[name], t.Name)
	}
	for _, twins := range names {
		if len(twins) > 1 {
			for _, name := range twins {
				reasons[name] = "another tool of the server has the same name for a model"
			}
		}
	}
}

// secretive says by name which tools spell a secret: a server has those that it is given, and a pin is a file of the
// project, which models read and runs keep.
func secretive(pin *manifest.Pin, store *secrets.Store, reasons map[string]string) error {
	for i := range pin.Tools {
		t := &pin.Tools[i]
		name, err := store.Said(t)
		if err != nil {
			return err
		}
		if name != "" {
			reasons[t.Name] = "it says the secret " + name
		}
	}
	return nil
}

// changesOf lists the tools with what became of them.
func changesOf(before, now *manifest.Pin, unusable map[string]string) []pinnedTool {
	list := []pinnedTool{}
	was := map[string]*manifest.Pinned{}
	if before != nil {
		for i := range before.Tools {
			was[before.Tools[i].Name] = &before.Tools[i]
		}
	}
	for i := range now.Tools {
		t := &now.Tools[i]
		word, reason := "new", unusable[t.Name]
		if old := was[t.Name]; reason != "" {
			word = "unusable"
		} else if old != nil && old.Hash() == t.Hash() {
			word = "same"
		} else if old != nil {
			word, reason = "changed", old.Differs(t)
		}
		delete(was, t.Name)
		list = append(list, pinnedTool{Tool: manifest.MCPTool(now.Server, protocol.Short(t.Name, 80)), State: word, Reason: reason})
	}
	for _, name := range protocol.SortedKeys(was) {
		list = append(list, pinnedTool{Tool: manifest.MCPTool(now.Server, name), State: "gone"})
	}
	return list
}
