package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// untilRefused calls until the server or its tool is off, and returns why.
func untilRefused(t *testing.T, x *Executor) string {
	t.Helper()
	for end := time.Now().Add(toolstest.Long); time.Now().Before(end); <-time.After(time.Millisecond) { // another goroutine
		if r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long); r.Status != tools.OK {
			return r.Error.Message
		}
	}
	t.Fatal("nothing was refused")
	return ""
}

// Promise 1: a server over HTTP says on a stream of its own that its tools are others.
func TestToolsChangeOverHTTP(t *testing.T) {
	s := saying(toolstest.Answers)
	x := New([]Server{{webServer(t, s), sayPin()}}, Options{})
	defer x.Close()
	if r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long); r.Status != tools.OK {
		t.Fatalf("%+v", r.Error)
	}
	s.AddTool(&sdk.Tool{Name: "say", Description: "Says it, and more.", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	if why := untilRefused(t, x); !strings.Contains(why, "otherwise than the project has pinned it") {
		t.Error(why)
	}
}

// Promises 3 and 8: calls do not need the stream, and what it may say is bounded.
func TestStreamsOfServers(t *testing.T) {
	over := make(chan struct{})
	for name, c := range map[string]struct {
		get  http.HandlerFunc
		asks int // times at least that it is opened
		off  string
	}{
		"none":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, 1, ""},
		"no stream": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, 1, ""},
		"mute": {func(_ http.ResponseWriter, q *http.Request) {
			select {
			case <-over:
			case <-q.Context().Done():
			}
		}, 1, ""},
		"breaks off": {func(w http.ResponseWriter, q *http.Request) {
			if last := q.Header.Get(lastEvent); last != "" && last != "7" {
				t.Errorf("the last event is %q", last)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 7\nretry: 1\ndata: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/x\"}\n\ndata: {\"jso")
		}, 6, ""},
		"floods": {func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for q.Context().Err() == nil {
				fmt.Fprint(w, "data: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/x\"}\n\n")
			}
		}, 1, "that nobody asked for"},
		"one endless event": {func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for line := "data: " + strings.Repeat("x", 1<<16) + "\n"; q.Context().Err() == nil; {
				fmt.Fprint(w, line)
			}
		}, 1, "more than 8 MiB"},
	} {
		if testing.Short() && c.off != "" {
			continue // many messages or bytes: the race detector sees nothing new in them
		}
		t.Run(name, func(t *testing.T) {
			s, asked := saying(toolstest.Answers), make(chan struct{}, 1000)
			below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.Method != http.MethodGet {
					below.ServeHTTP(w, q)
					return
				}
				select {
				case asked <- struct{}{}:
				default:
				}
				c.get(w, q)
			}))
			defer h.Close()
			defer h.CloseClientConnections()
			x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{})
			defer x.Close()
			if c.off != "" {
				if why := untilRefused(t, x); !strings.Contains(why, c.off) {
					t.Error(why)
				}
				return
			}
			if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Status != tools.OK {
				t.Errorf("%+v", r.Error)
			}
			for range c.asks {
				<-asked
			}
			if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Status != tools.OK {
				t.Errorf("%+v", r.Error)
			}
		})
	}
	close(over)
}
