package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// reports is a tool that says how far it is until it is cancelled or the test ends, under its own token and
// under one of nobody.
const reports toolstest.Act = "reports"

func report(ctx context.Context, q *sdk.CallToolRequest, end <-chan struct{}) {
	for i := 1.0; ctx.Err() == nil; i++ {
		for _, token := range []any{"nobody", q.Params.GetProgressToken()} {
			_ = q.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: i, Total: 1e6, Message: "at " + token.(string)}) //nolint:forcetypeassert // simd gives texts
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		case <-end: // over HTTP the library does not always tell the server that a call is cancelled
			return
		}
	}
}

// Promise 7: who waits for a call is told how far the server says it is.
func TestProgress(t *testing.T) {
	t.Run("stdio", func(t *testing.T) { heard(t, New([]Server{{command(t, string(reports)), sayPin()}}, options(t))) })
	t.Run("http", func(t *testing.T) {
		end := make(chan struct{})
		at := webServer(t, sayingUntil(reports, end))
		t.Cleanup(func() { close(end) }) // before the server is closed
		heard(t, New([]Server{{at, sayPin()}}, Options{}))
	})
}

func heard(t *testing.T, x *Executor) {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	said := make(chan tools.Progress, 1)
	r := tools.Run(ctx, x, &tools.Call{Tool: sayTool(t, manifest.Free), Key: "key", Progress: func(p tools.Progress) {
		if p.Done < 3 {
			return
		}
		select {
		case said <- p:
			enough()
		default:
		}
	}}, tools.Options{})
	if r.Status != tools.Cancelled {
		t.Fatalf("%+v %+v", r, r.Error)
	}
	if p := <-said; p.Total != 1e6 || !strings.HasPrefix(p.Message, "at ") || p.Message == "at nobody" {
		t.Errorf("%+v", p)
	}
	for _, s := range x.servers {
		open, _ := s.Session(t.Context())
		open.progress.Range(func(any, any) bool { t.Error("it still waits"); return false })
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
