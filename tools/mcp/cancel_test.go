package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// Promise 9: a server over HTTP whose calls never end by themselves is told of each call that
// was cancelled before it is told that the session ends, also if that is at once.
func TestCancelledBeforeTheEnd(t *testing.T) {
	const calls = 20
	end := make(chan struct{})
	s := sayingUntil(toolstest.Hangs, end)
	below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	begun, heard := make(chan struct{}, calls), make(chan string, 4*calls)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte(`"notifications/cancelled"`)):
			heard <- "cancelled"
		case q.Method == http.MethodDelete:
			heard <- "end"
		case bytes.Contains(body, []byte(`"tools/call"`)):
			begun <- struct{}{}
		}
		below.ServeHTTP(w, q)
	}))
	t.Cleanup(func() { close(end); h.CloseClientConnections(); h.Close() })
	x, tool := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{}), sayTool(t, manifest.ByKey)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if r := call(ctx, x, tool, toolstest.Long); r.Status != tools.Cancelled {
				t.Errorf("%+v %+v", r, r.Error)
			}
		})
	}
	for range calls {
		<-begun
	}
	cancel()
	all.Wait()
	x.Close()
	var said []string
	for len(heard) > 0 {
		said = append(said, <-heard)
	}
	if got := strings.Join(said, " "); got != strings.Repeat("cancelled ", calls)+"end" {
		t.Errorf("the server heard %s", got)
	}
}
