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
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
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

// others is a wire of a server whose tools are always others.
type others struct{ wire }

func (others) changed() bool { return true }
func (others) cancelled()    {}

// A call waits for a list of tools that another call asked for until its own time is over, and no longer.
func TestNobodyWaitsBeyondTheOwnTime(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := saying("")
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
			if method == "tools/list" {
				begun <- struct{}{}
				select {
				case <-goOn:
				case <-ctx.Done(): // the client does not want it any more
				}
			}
			return next(ctx, method, q)
		}
	})
	theirs, ours := sdk.NewInMemoryTransports()
	above, err := s.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := newSession(others{}, &Server{Definition: &manifest.Server{ID: "s"}, Pin: sayPin()})
	if o.client, err = sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = o.client.Close(), above.Wait() }()
	first := make(chan *refusal)
	go func() { first <- o.refuses(t.Context(), "say") }()
	<-begun
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	if why := o.refuses(late, "say"); why == nil || why.kind != protocol.KindTimeout || !strings.Contains(why.said, "another call") {
		t.Errorf("%+v", why)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if why := o.refuses(left, "say"); why == nil || why.kind != protocol.KindCancelled {
		t.Errorf("%+v", why)
	}
	goOn <- struct{}{}
	if why := <-first; why != nil {
		t.Errorf("%+v", why)
	}
	left, leave = context.WithCancel(t.Context())
	go func() { first <- o.refuses(left, "say") }()
	<-begun
	leave()
	if why := <-first; why == nil || why.kind != protocol.KindCancelled {
		t.Errorf("its own list: %+v", why)
	}
}
