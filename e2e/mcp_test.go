package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp"
	"tavernsim/tools/sandbox"
)

func TestMain(m *testing.M) {
	if code, worker := sandbox.Reexec(os.Args); worker {
		os.Exit(code)
	}
	_ = os.Setenv("SIMD_AUDIT", "off") // of whoever runs the tests
	os.Exit(m.Run())
}

// Servers of others, in the sandbox: list, text, picture, error, a long operation that is
// cancelled; then they answer on, and end with the scene.
func TestForeignMCPServers(t *testing.T) {
	modules := os.Getenv("SIMD_TEST_MCP")
	if modules == "" {
		t.Skip("SIMD_TEST_MCP names no folder node_modules")
	}
	box := sandbox.New(sandbox.Options{})
	if r := box.Probe(t.Context()); len(r.Missing()) > 0 {
		t.Skip("no sandbox here")
	}
	host, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	opt := mcp.Options{Sandbox: box, Mounts: []sandbox.Mount{{Host: host, Inside: "/server/node_modules"}}}
	const scope = "node /server/node_modules/@modelcontextprotocol/"
	var servers []mcp.Server
	for id, command := range map[string]string{"everything": scope + "server-everything/dist/index.js", "files": scope + "server-filesystem/dist/index.js /work"} {
		d := &manifest.Server{ID: id, Command: command}
		if faults := d.Check(); len(faults) > 0 {
			t.Fatal(faults)
		}
		pin, _, err := mcp.Look(t.Context(), d, opt)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, mcp.Server{Definition: d, Pin: pin})
	}
	x := mcp.New(servers, opt)
	defer x.Close()
	pictures, kept := 0, artifact.New(t.TempDir(), artifact.DefaultLimits())
	keep := func(b tools.Blob) (tool.Artifact, error) {
		if len(b.Data) == 0 {
			return tool.Artifact{}, errors.New("it is empty")
		}
		if b.Type == "image/png" && strings.HasPrefix(string(b.Data), "\x89PNG") {
			pictures++
		}
		id, size, err := kept.Put(artifact.Owner{}, bytes.NewReader(b.Data))
		return tool.Artifact{ID: id, Size: size, Type: b.Type, Name: b.Name}, err
	}
	call := func(ctx context.Context, server, name string, params map[string]any) tools.Result {
		for _, s := range servers {
			for i := range s.Pin.Tools {
				if s.Definition.ID == server && s.Pin.Tools[i].Name == name {
					d := manifest.NewMCPTool(server, &s.Pin.Tools[i])
					if faults := d.Check(); len(faults) > 0 {
						t.Fatal(faults)
					}
					return tools.Run(ctx, x, &tools.Call{Tool: d, Params: params, Key: "k"}, tools.Options{Keep: keep})
				}
			}
		}
		t.Fatalf("%s has no tool %s", server, name)
		return tools.Result{}
	}
	for _, c := range []struct {
		server, tool string
		params       map[string]any
		status       tools.Status
		says         string
	}{
		{"everything", "echo", map[string]any{"message": "héllo"}, tools.OK, "Echo: héllo"},
		{"everything", "get-tiny-image", nil, tools.OK, "[image image/png"},
		{"files", "write_file", map[string]any{"path": "/work/a", "content": "x"}, tools.OK, "a"},
		{"files", "read_text_file", map[string]any{"path": "/work/a"}, tools.OK, "x"},
		{"files", "read_text_file", map[string]any{"path": "/etc/passwd"}, tools.Failed, "denied"},
	} {
		r := call(t.Context(), c.server, c.tool, c.params)
		text, _ := r.Output.(string)
		if m, ok := r.Output.(map[string]any); ok {
			text, _ = m["content"].(string)
		}
		if r.Error != nil {
			text = r.Error.Message
		}
		if r.Status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %+v %s", c.tool, r, text)
		}
	}
	if pictures != 1 {
		t.Errorf("%d pictures became artifacts", pictures)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(300*time.Millisecond, cancel).Stop()
	begun := time.Now()
	if r := call(ctx, "everything", "trigger-long-running-operation", map[string]any{"duration": 20, "steps": 4}); r.Status != tools.Unknown || time.Since(begun) > 5*time.Second {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if r := call(t.Context(), "everything", "echo", map[string]any{"message": "still"}); r.Status != tools.OK {
		t.Errorf("%+v %+v", r, r.Error)
	}
}
