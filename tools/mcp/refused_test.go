package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// Promise 6: a call that a server over HTTP refuses with 4xx has not begun, and the server goes on. What it said is told.
func TestCallsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		status   int
		body     string
		kind     protocol.ErrorKind
		unsent   bool
		sessions int64 // that are opened after three refusals and a call that works
		without  bool  // sessions
	}{
		{http.StatusBadRequest, "no such field", tools.KindTool, true, 1, true},
		{http.StatusBadRequest, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no such field"}}`, tools.KindTool, true, 1, true},
		{http.StatusBadRequest, `{"jsonrpc": "2.0", "id": 77777, "error": {"code": -32600, "message": "no such field"}}`, tools.KindTool, true, 1, true},
		{http.StatusUnauthorized, "no such field", protocol.KindDenied, true, 1, false},
		{http.StatusForbidden, "no such field", protocol.KindDenied, true, 1, false},
		{http.StatusNotFound, "no such field", tools.KindTool, true, 1, true},
		{http.StatusMethodNotAllowed, "no such field", tools.KindTool, true, 1, false},
		{http.StatusRequestTimeout, "no such field", protocol.KindUnknownOutcome, false, 1, false},
		{http.StatusRequestEntityTooLarge, "no such field" + strings.Repeat(".", 1000), tools.KindTool, true, 1, false},
		{http.StatusUnprocessableEntity, "no such field", tools.KindTool, true, 1, false},
		{http.StatusTooEarly, "no such field", protocol.KindTransient, true, 1, false},
	} {
		t.Run(fmt.Sprint(c.status, len(c.body)), func(t *testing.T) {
			var refuses atomic.Bool
			var sessions atomic.Int64
			b := &bare{sessions: !c.without}
			b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
				"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
					if refuses.Load() {
						w.WriteHeader(c.status)
						fmt.Fprint(w, c.body)
						return
					}
					answerWith(w, id, `{"resultType": "complete", "content": [{"type": "text", "text": "said"}]}`)
				},
			}
			first := "server/discover"
			if b.sessions {
				first = "initialize"
			}
			b.own[first] = func(w http.ResponseWriter, q *http.Request, id json.RawMessage) {
				sessions.Add(1)
				w.Header().Set(sessionID, "1")
				result := `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}`
				if !b.sessions {
					w.Header().Del(sessionID)
					result = `{"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}`
				}
				answerWith(w, id, result)
			}
			x := b.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
			says(t, x)
			refuses.Store(true)
			for range 6 {
				r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
				if r.Error == nil || r.Error.Kind != c.kind || r.Unsent != c.unsent || !strings.Contains(r.Error.Message, "no such field") || len(r.Error.Message) > 700 || strings.Contains(r.Own, "field") || !strings.Contains(r.Own, fmt.Sprint("status ", c.status)) {
					t.Fatalf("%+v %+v", r, r.Error)
				}
			}
			refuses.Store(false)
			says(t, x)
			if n := sessions.Load(); n != c.sessions {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// A server that refuses a call of a session with 400 may not know the session any more: it gets another one, once. What it refuses
// then is the call.
func TestBadRequestsOfSessions(t *testing.T) {
	var sessions, known atomic.Int64
	var refuses atomic.Bool
	b := &bare{sessions: true}
	b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
		"initialize": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			n := sessions.Add(1)
			known.Store(n)
			w.Header().Set(sessionID, fmt.Sprint(n))
			answerWith(w, id, `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}`)
		},
		"tools/call": func(w http.ResponseWriter, q *http.Request, id json.RawMessage) {
			if refuses.Load() || q.Header.Get(sessionID) != fmt.Sprint(known.Load()) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, "Bad Request")
				return
			}
			answerWith(w, id, `{"content": [{"type": "text", "text": "said"}]}`)
		},
	}
	x := b.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
	again := func() tools.Result {
		return tools.Run(t.Context(), x, &tools.Call{Tool: sayTool(t, manifest.Never), Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: toolstest.Long, Retries: 5})
	}
	for n := range int64(3) {
		if r := again(); r.Status != tools.OK || sessions.Load() != n+1 {
			t.Fatalf("%+v %+v, %d sessions", r, r.Error, sessions.Load())
		}
		known.Store(0) // all are forgotten
	}
	refuses.Store(true)
	if r := again(); r.Error == nil || r.Error.Kind != tools.KindTool || !r.Unsent || r.Meta.Attempts != 2 || sessions.Load() != 4 {
		t.Errorf("%+v %+v, %d sessions", r, r.Error, sessions.Load())
	}
	refuses.Store(false)
	known.Store(0)
	if r := again(); r.Status != tools.OK || sessions.Load() != 5 {
		t.Errorf("%+v %+v, %d sessions", r, r.Error, sessions.Load())
	}
}

// A server that lets nobody in is asked again after a pause; that is no failure, and calls are denied.
func TestNobodyIsLetIn(t *testing.T) {
	for _, method := range []string{"initialize", "tools/list"} {
		var refuses atomic.Bool
		b := &bare{sessions: true}
		b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
			method: func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				if refuses.Load() {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				if method == "initialize" {
					answerWith(w, id, `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}`)
					return
				}
				answerWith(w, id, `{"tools": [{"name": "say", "description": "Says it.", "inputSchema": {"type": "object"}}]}`)
			},
		}
		x := b.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
		refuses.Store(true)
		for range 6 {
			r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
			if r.Error == nil || r.Error.Kind != protocol.KindDenied || r.Error.Retryable || !r.Unsent || !strings.Contains(r.Error.Message, "status 401") {
				t.Fatalf("%+v %+v", r, r.Error)
			}
			x.servers["s"].Skip()
		}
		refuses.Store(false)
		says(t, x)
	}
}
