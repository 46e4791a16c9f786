package mcp

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp/sound"
)

// BenchmarkCall: a call, and one of the bare library to the same server, in turn. x-bare is
// the median of the first beside that of the second, at most 1.3.
func BenchmarkCall(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("stdio", func(b *testing.B) {
		compare(b, command(b, "answers"), options(b), &sdk.CommandTransport{Command: exec.Command(self, "serve", "answers")})
	})
	b.Run("http", func(b *testing.B) {
		web := webServer(b, saying("answers"))
		compare(b, web, Options{}, &sdk.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true})
	})
}

func compare(b *testing.B, s *manifest.Server, opt Options, bare sdk.Transport) {
	params := map[string]any{"say": "x"}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(b.Context(), bare, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	x, tool := New([]Server{{s, sayPin()}}, opt), sayTool(b, manifest.Free)
	defer x.Close()
	if r := call(b.Context(), x, tool, 20*time.Second); r.Status != tools.OK {
		b.Fatal(r.Error)
	}
	var own, other []time.Duration
	for b.Loop() {
		begun := time.Now()
		if r := tools.Run(b.Context(), x, &tools.Call{Tool: tool, Params: params, Key: "key"}, tools.Options{}); r.Status != tools.OK {
			b.Fatal(r.Error)
		}
		own = append(own, time.Since(begun))
		begun = time.Now()
		if _, err := c.CallTool(b.Context(), &sdk.CallToolParams{Name: "say", Arguments: params}); err != nil {
			b.Fatal(err)
		}
		other = append(other, time.Since(begun))
	}
	slices.Sort(own)
	slices.Sort(other)
	half := len(own) / 2
	b.ReportMetric(float64(own[half])/float64(other[half]), "x-bare")
	b.ReportMetric(float64(own[half].Microseconds()), "p50-us")
}

// BenchmarkSound: what a message of a server costs before the library reads it.
func BenchmarkSound(b *testing.B) {
	var list strings.Builder
	for range 50 {
		list.WriteString(`{"name":"add","description":"Keeps a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"by":{"type":"integer"}},"required":["text"]}},`)
	}
	for name, text := range map[string]string{
		"call":  `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 200) + `"}],"structuredContent":{"said":"x","key":"k"}}}`,
		"tools": `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.TrimSuffix(list.String(), ",") + `]}}`,
		"image": `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("iVBORw0K", 128<<10) + `"}]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			message := []byte(text)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sound.Mend(message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
