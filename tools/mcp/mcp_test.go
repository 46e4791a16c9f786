package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/toolstest"
)

// The test's own program is the worker of the sandbox and every server.
func TestMain(m *testing.M) {
	toolstest.Main(m, func(args []string) int { return serve(args[0], args[1:]) })
}

// options run servers in a sandbox of this machine, or skip.
func options(t testing.TB) Options {
	t.Helper()
	_, mount := toolstest.Program(t)
	return Options{Sandbox: toolstest.Sandbox(t), Mounts: []sandbox.Mount{mount}, Start: toolstest.Long, Pause: time.Minute, Mask: strings.NewReplacer("enough", "***").Replace}
}

// command is a server of the test's program.
func command(t testing.TB, act string, more ...string) *manifest.Server {
	t.Helper()
	path, _ := toolstest.Program(t)
	d := &manifest.Server{ID: "s", Command: strings.Join(append([]string{path, "serve", "'" + act + "'"}, more...), " ")}
	if faults := d.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	return d
}

// sayPin is the pin of the tool that honest servers have.
func sayPin() *manifest.Pin {
	return &manifest.Pin{Server: "s", Tools: []manifest.Pinned{{Name: "say", Description: "Says it.", InputSchema: map[string]any{"type": "object"}}}}
}

func sayTool(t testing.TB, repeat manifest.Repeat) *manifest.Tool {
	t.Helper()
	d := manifest.NewMCPTool("s", &sayPin().Tools[0])
	d.Execution.Repeat = repeat
	if faults := d.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	d.Execution.Timeout = protocol.Duration(toolstest.Long)
	return d
}

func call(ctx context.Context, x tools.Executor, tool *manifest.Tool, timeout time.Duration) tools.Result {
	return tools.Run(ctx, x, &tools.Call{Tool: tool, Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: timeout})
}

// saying is a server of the library whose tool does one thing.
func saying(act toolstest.Act) *sdk.Server { return sayingUntil(act, nil) }

// sayingUntil hangs, if it does, until the test ends.
func sayingUntil(act toolstest.Act, end <-chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "say", Description: "Says it.", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		switch act {
		case toolstest.SaysNo:
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no"}}}, nil
		case toolstest.Hangs:
			select {
			case <-ctx.Done():
			case <-end:
			}
			return nil, errors.New("too late")
		case reports:
			report(ctx, q, end)
		case toolstest.Floods:
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 1<<20)}}}, nil
		case toolstest.Breaks:
			syscall.Exit(3)
		}
		var in struct{ Say string }
		err := json.Unmarshal(q.Params.Arguments, &in)
		return &sdk.CallToolResult{StructuredContent: map[string]any{"said": in.Say, "key": q.Params.Meta[KeyField]}}, err
	})
	return s
}

// webServer serves over HTTP.
func webServer(t testing.TB, s *sdk.Server) *manifest.Server {
	t.Helper()
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return webDefinition(t, h.URL)
}

func webDefinition(t testing.TB, address string) *manifest.Server {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	d := &manifest.Server{ID: "s", URL: address, Needs: []string{"net:" + u.Host}}
	if faults := d.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	return d
}

// Promise 6, and what all executors promise.
func TestConformance(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		opt := options(t)
		toolstest.Run(t, func(t *testing.T, act toolstest.Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
			if act == toolstest.Panics {
				return nil, nil
			}
			x := New([]Server{{command(t, string(act)), sayPin()}}, opt)
			return ready(t, x, act), sayTool(t, repeat)
		})
	})
	t.Run("http", func(t *testing.T) {
		toolstest.Run(t, func(t *testing.T, act toolstest.Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
			if act == toolstest.Panics {
				return nil, nil
			}
			var at *manifest.Server
			switch act {
			case toolstest.Refuses:
				h := httptest.NewServer(nil)
				at = webDefinition(t, h.URL)
				h.Close()
			case toolstest.Breaks:
				at = webDefinition(t, breaking(t))
			default:
				end := make(chan struct{})
				at = webServer(t, sayingUntil(act, end))
				t.Cleanup(func() { close(end) }) // before the server is closed
			}
			return ready(t, New([]Server{{at, sayPin()}}, Options{}), act), sayTool(t, repeat)
		})
	})
}

// ready starts the server, so that the time-outs of the suite are those of calls.
func ready(t *testing.T, x *Executor, act toolstest.Act) *Executor {
	if _, failed := x.servers["s"].Session(t.Context()); (failed != nil) != (act == toolstest.Refuses) {
		t.Errorf("%+v", failed)
	}
	return x
}

// breaking is a server whose connection breaks in the middle of each call.
func breaking(t *testing.T) string {
	s := saying(toolstest.Answers)
	below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			panic(http.ErrAbortHandler)
		}
		below.ServeHTTP(w, q)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h.URL
}

// serve is a server of its own process.
func serve(act string, more []string) int {
	if act == string(toolstest.Refuses) {
		return 1
	}
	if hostile(act, more) {
		return 0
	}
	if err := saying(toolstest.Act(act)).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Files in an answer are attached to the result, which names them.
func TestFilesInAnswers(t *testing.T) {
	i := &manifest.Implementation{Tool: "t"}
	r := resultOf(i, &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "see"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("abc")}, &sdk.AudioContent{Data: []byte("x")},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", MIMEType: "application/pdf", Blob: []byte("pdf")}},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "text"}},
	}})
	want := "see\n[image image/png, 3 bytes: artifact:sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad]\n[audio application/octet-stream, 1 bytes: artifact:sha256-"
	if text, _ := r.Output.(string); !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "]\ntext") || len(r.Blobs) != 3 || r.Blobs[2].Name != "file:///a" || r.Size < 7 {
		t.Errorf("%+v", r)
	}
	for given, want := range map[string]string{"Text/Plain; Charset=utf-8": "text/plain; charset=utf-8", "image/png\r\nX-Evil: 1": "application/octet-stream", "image/\x1b[31mpng": "application/octet-stream"} {
		r = resultOf(i, &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: given, Data: []byte("abc")}}})
		if text, _ := r.Output.(string); len(r.Blobs) != 1 || r.Blobs[0].Type != want || !strings.HasPrefix(text, "[image "+want+", ") {
			t.Errorf("%q: %+v", given, r)
		}
	}
	r = resultOf(i, &sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///a", Name: "notes", MIMEType: "text/plain"}, &sdk.ResourceLink{URI: "file:///b"}}})
	if r.Output != "[resource file:///a, notes, text/plain]\n[resource file:///b]" {
		t.Errorf("%+v", r)
	}
	r = resultOf(i, &sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}, Content: []sdk.Content{&sdk.ImageContent{Data: []byte("abc")}}})
	if m, _ := r.Output.(map[string]any); m["a"] != 1.0 || len(r.Blobs) != 1 {
		t.Errorf("%+v", r)
	}
	if r = resultOf(i, &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.ImageContent{Data: []byte("abc")}}}); r.Status != tools.Failed || len(r.Blobs) > 0 {
		t.Errorf("%+v", r)
	}
}
