package mcp

import (
	"os"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// BenchmarkCall: calls one after the other, beside those of the bare library to the same
// server.
func BenchmarkCall(b *testing.B) {
	params := map[string]any{"say": "x"}
	bare := func(transport func() sdk.Transport) func(*testing.B) {
		return func(b *testing.B) {
			c, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(b.Context(), transport(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for b.Loop() {
				if _, err := c.CallTool(b.Context(), &sdk.CallToolParams{Name: "say", Arguments: params}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	ours := func(s *manifest.Server, opt Options) func(*testing.B) {
		return func(b *testing.B) {
			x, tool := New([]Server{{s, sayPin()}}, opt), sayTool(b, manifest.Free)
			defer x.Close()
			if r := call(b.Context(), x, tool, 20*time.Second); r.Status != tools.OK {
				b.Fatal(r.Error)
			}
			for b.Loop() {
				if r := tools.Run(b.Context(), x, &tools.Call{Tool: tool, Params: params, Key: "key"}, tools.Options{}); r.Status != tools.OK {
					b.Fatal(r.Error)
				}
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("stdio", ours(command(b, "answers"), options(b)))
	b.Run("stdio-bare", bare(func() sdk.Transport { return &sdk.CommandTransport{Command: exec.Command(self, "serve", "answers")} }))
	web := webServer(b, saying("answers"))
	b.Run("http", ours(web, Options{}))
	b.Run("http-bare", bare(func() sdk.Transport {
		return &sdk.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true}
	}))
}
