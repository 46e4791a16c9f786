package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/operator"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp"
	"tavernsim/tools/sandbox"
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
	var dry bool
	var file string
	c := &cobra.Command{
		Use:   "pin PROJECT SERVER",
		Short: "Write down the tools of an MCP server",
		Long: `Start an MCP server of a project, list its tools, end it, and write what it says to
mcp/SERVER.pin.json. A run calls only tools that the server still describes so. Read
the file before you use the tools: models read the descriptions.

Exit codes: 0 written, 1 the server failed, 2 usage, 3 the project has faults, 4 no
such server.`,
		Example: "  simd mcp pin my-project files",
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return pinTools(cmd, e, args[0], args[1], file, dry) },
	}
	c.Flags().StringVar(&file, "secrets", "", "`FILE` with values that the server may have (mode 0600)")
	c.Flags().BoolVar(&dry, "dry-run", false, "write nothing; say what has changed")
	return c
}

func pinTools(cmd *cobra.Command, e *cli.Env, dir, id, file string, dry bool) error {
	store, err := operator.Of(dir).Secrets(file)
	if err != nil {
		return err
	}
	servers, err := readServers(dir)
	if err != nil {
		return err
	}
	s := servers[id]
	if s == nil {
		return protocol.Errorf(protocol.KindNotFound, "the project has no MCP server %q; it has %v", id, protocol.SortedKeys(servers))
	}
	opt := mcp.Options{Sandbox: sandbox.New(sandbox.Options{}), Secrets: store.For}
	pin, err := mcp.Look(cmd.Context(), s.Definition, opt)
	if err != nil {
		return err
	}
	showChanges(e, s.Pin, pin)
	if dry {
		return nil
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	w.SetIndent("", "  ")
	if err := w.Encode(pin); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.FromSlash(s.PinFile)), b.Bytes(), 0o644)
}

func readServers(dir string) (map[string]*project.Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
	}
	defer root.Close()
	return project.LoadServers(root.FS(), project.Options{})
}

// showChanges lists the tools with what became of them.
func showChanges(e *cli.Env, before, now *manifest.Pin) {
	was := map[string]string{}
	if before != nil {
		for i := range before.Tools {
			was[before.Tools[i].Name] = before.Tools[i].Hash()
		}
	}
	for i := range now.Tools {
		t := &now.Tools[i]
		word := "new"
		if hash, there := was[t.Name]; there && hash == t.Hash() {
			word = "same"
		} else if there {
			word = "changed"
		}
		delete(was, t.Name)
		fmt.Fprintf(e.Out, "%-8s %s\n", word, manifest.MCPTool(now.Server, protocol.Short(t.Name, 80)))
	}
	for _, name := range protocol.SortedKeys(was) {
		fmt.Fprintf(e.Out, "%-8s %s\n", "gone", manifest.MCPTool(now.Server, name))
	}
}
