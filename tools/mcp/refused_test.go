package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// Promise 6: a call that a server over HTTP refuses with 4xx is not lost, and has not begun where the status proves it; the server goes on. What it said is told.
func TestCallsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		status   int
		body     string
		kind     protocol.ErrorKind
		unsent   bool
		sessions int64 // that are opened after three refusals and a call that works
		without  bool  // sessions
	}{
		{http.StatusBadRequest, "no such field", tools.KindTool, false, 1, true},
		{http.StatusBadRequest, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no such field"}}`, tools.KindTool, false, 1, true},
		{http.StatusBadRequest, `{"jsonrpc": "2.0", "id": 77777, "error": {"code": -32600, "message": "no such field"}}`, tools.KindTool, false, 1, true},
		{http.StatusUnauthorized, "no such field", protocol.KindDenied, true, 1, false},
		{http.StatusForbidden, "no such field", protocol.KindDenied, true, 1, false},
		{http.StatusNotFound, "no such field", tools.KindTool, false, 1, true},
		{http.StatusMethodNotAllowed, "no such field", tools.KindTool, true, 1, false},
		{http.StatusRequestTimeout, "no such field", protocol.KindUnknownOutcome, false, 1, false},
		{http.StatusRequestEntityTooLarge, "no such field" + strings.Repeat(".", 1000), tools.KindTool, true, 1, false},
		{http.StatusConflict, "no such field", tools.KindTool, false, 1, false},
		{http.StatusUnprocessableEntity, "no such field", tools.KindTool, false, 1, false},
		{http.StatusFailedDependency, "no such field", tools.KindTool, false, 1, true},
		{http.StatusRequestHeaderFieldsTooLarge, "no such field", tools.KindTool, true, 1, true},
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
				if r.Error == nil || r.Error.Kind != c.kind || r.Unsent != c.unsent || c.kind == tools.KindTool && r.Carried == c.unsent || !strings.Contains(r.Error.Message, "no such field") || len(r.Error.Message) > 700 || strings.Contains(r.Own, "field") || !strings.Contains(r.Own, fmt.Sprint("status ", c.status)) {
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

// So it is of one that changes to another protocol: nobody waits for it, and the session goes on.
func TestSwitched(t *testing.T) {
	b := &bare{sessions: true}
	var switches atomic.Bool
	b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			if !switches.Load() {
				answerWith(w, id, `{"content": [{"type": "text", "text": "said"}]}`)
				return
			}
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			_, _ = c.Read(make([]byte, 1)) // until the client closes
		},
	}
	x := b.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
	says(t, x)
	switches.Store(true)
	for range 6 {
		r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long)
		if r.Error == nil || r.Error.Kind != tools.KindTool || r.Meta.Attempts != 1 || !strings.Contains(r.Own, "status 101 Switching Protocols") {
			t.Fatalf("%+v %+v", r, r.Error)
		}
	}
	switches.Store(false)
	says(t, x)
}

// forgetful is a server with sessions that answers 400, or another status, where it does not know one.
type forgetful struct {
	bare
	says     string // with it
	status   int    // 0 = 400
	asError  bool   // what it says is the error of the request
	sessions atomic.Int64
	known    atomic.Int64 // session; 0 = none
	refuses  atomic.Bool  // all calls
	calls    atomic.Int64 // that arrived
}

func (f *forgetful) start(t *testing.T) *Executor {
	f.bare.sessions = true
	f.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
		"initialize": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			n := f.sessions.Add(1)
			f.known.Store(n)
			w.Header().Set(sessionID, fmt.Sprint(n))
			answerWith(w, id, `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}`)
		},
		"tools/call": func(w http.ResponseWriter, q *http.Request, id json.RawMessage) {
			f.calls.Add(1)
			if f.refuses.Load() || q.Header.Get(sessionID) != fmt.Sprint(f.known.Load()) {
				body := f.says
				if f.asError {
					body = fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "error": {"code": -32000, "message": %q}}`, id, f.says)
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(cmp.Or(f.status, http.StatusBadRequest))
				fmt.Fprint(w, body)
				return
			}
			answerWith(w, id, `{"content": [{"type": "text", "text": "said"}]}`)
		},
	}
	return f.bare.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
}

// again calls, and repeats what may be.
func again(t *testing.T, x *Executor, repeat manifest.Repeat) tools.Result {
	return tools.Run(t.Context(), x, &tools.Call{Tool: sayTool(t, repeat), Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: toolstest.Long, Retries: 5})
}

// A server that refuses a call of a session with 400 may not know the session any more: it gets another one, once. What it refuses
// then is the call.
func TestBadRequestsOfSessions(t *testing.T) {
	for _, c := range []struct {
		says   string
		repeat manifest.Repeat
		unsent bool
	}{{"Bad Request: No valid Session ID provided", manifest.Never, true}, {"Bad Request", manifest.Free, false}} {
		f := &forgetful{says: c.says}
		x := f.start(t)
		for n := range int64(3) {
			if r := again(t, x, c.repeat); r.Status != tools.OK || f.sessions.Load() != n+1 {
				t.Fatalf("%+v %+v, %d sessions", r, r.Error, f.sessions.Load())
			}
			f.known.Store(0) // all are forgotten
		}
		f.refuses.Store(true)
		if r := again(t, x, c.repeat); r.Error == nil || r.Error.Kind != tools.KindTool || r.Unsent != c.unsent || r.Carried == c.unsent || r.Meta.Attempts != 2 || f.sessions.Load() != 4 {
			t.Errorf("%+v %+v, %d sessions", r, r.Error, f.sessions.Load())
		}
		f.refuses.Store(false)
		f.known.Store(0)
		if r := again(t, x, c.repeat); r.Status != tools.OK || f.sessions.Load() != 5 {
			t.Errorf("%+v %+v, %d sessions", r, r.Error, f.sessions.Load())
		}
	}
}

// So it is if the refusal is the error of the request: with 404 whatever it says, with 400 if it speaks of the session.
// A 404 that does not may be about the call, which is not made twice if that must not be.
func TestErrorsOfRequestsInLostSessions(t *testing.T) {
	for _, c := range []struct {
		status       int
		says         string
		never, after string // status of a call in a lost session that must not be made twice, and of one that may
		sessions     int64
	}{
		{http.StatusNotFound, "Session not found", "ok", "ok", 3},
		{http.StatusNotFound, "no such note", "tool", "ok", 3},
		{http.StatusBadRequest, "Bad Request: no valid session ID", "ok", "ok", 3},
		{http.StatusBadRequest, "no such note", "tool", "tool", 1},
		{http.StatusUnauthorized, "who are you?", "denied", "denied", 1},
		{http.StatusForbidden, "who are you?", "denied", "denied", 1},
	} {
		f := &forgetful{says: c.says, status: c.status, asError: true}
		x := f.start(t)
		says(t, x)
		for repeat, want := range map[manifest.Repeat]string{manifest.Never: c.never, manifest.Free: c.after} {
			f.known.Store(0)
			r := again(t, x, repeat)
			got := string(r.Status)
			if r.Error != nil {
				got = string(r.Error.Kind)
			}
			if got != want || r.Error != nil && !strings.Contains(r.Error.Message, c.says) {
				t.Errorf("%d %s, %s: %s %+v", c.status, c.says, repeat, got, r.Error)
			}
			if want == "tool" && c.sessions > 1 {
				says(t, x) // in the next session
			}
		}
		if n := f.sessions.Load(); n != c.sessions {
			t.Errorf("%d %s: %d sessions, want %d", c.status, c.says, n, c.sessions)
		}
	}
	f := &forgetful{says: "no such note", status: http.StatusNotFound, asError: true}
	x := f.start(t)
	f.refuses.Store(true)
	if r := again(t, x, manifest.Free); r.Error == nil || r.Error.Kind != tools.KindTool || r.Meta.Attempts != 2 || f.sessions.Load() != 2 || strings.Contains(r.Own, "session") {
		t.Errorf("%+v %+v, %d sessions", r, r.Error, f.sessions.Load())
	}
}

// A 400 that does not speak of the session is no proof that nothing began: another session is opened, and a call that must
// not be made twice is not.
func TestBadRequestsThatProveNothing(t *testing.T) {
	f := &forgetful{says: "Bad Request"}
	x := f.start(t)
	says(t, x)
	f.known.Store(0)
	if r := again(t, x, manifest.Never); r.Error == nil || r.Error.Kind != tools.KindTool || r.Unsent || !r.Carried || r.Meta.Attempts != 1 || f.calls.Load() != 2 {
		t.Errorf("%+v %+v, %d calls", r, r.Error, f.calls.Load())
	}
	if says(t, x); f.sessions.Load() != 2 {
		t.Errorf("%d sessions", f.sessions.Load())
	}
}

// Each of several calls in a session that a server has forgotten is made again in the next one.
func TestBadRequestsOfConcurrentCalls(t *testing.T) {
	const n = 8
	for _, says := range []string{"no such session", "Bad Request"} {
		f := &forgetful{says: says}
		x := f.start(t)
		if r := again(t, x, manifest.Free); r.Status != tools.OK {
			t.Fatalf("%+v %+v", r, r.Error)
		}
		f.known.Store(0)
		call, all := f.own["tools/call"], make(chan struct{})
		var arrived atomic.Int64
		f.own["tools/call"] = func(w http.ResponseWriter, q *http.Request, id json.RawMessage) {
			if q.Header.Get(sessionID) == "1" {
				if arrived.Add(1) == n {
					close(all)
				}
				<-all
			}
			call(w, q, id)
		}
		for r := range allAtOnce(t, x, n) {
			if r.Status != tools.OK || r.Meta.Attempts != 2 {
				t.Errorf("%+v %+v", r, r.Error)
			}
		}
		if f.sessions.Load() != 2 {
			t.Errorf("%d sessions", f.sessions.Load())
		}
		f.refuses.Store(true) // now it is the calls
		for r := range allAtOnce(t, x, n) {
			if r.Error == nil || r.Error.Kind != tools.KindTool {
				t.Errorf("%+v %+v", r, r.Error)
			}
		}
	}
}

// allAtOnce makes calls at once, and gives their results.
func allAtOnce(t *testing.T, x *Executor, n int) chan tools.Result {
	var out sync.WaitGroup
	results := make(chan tools.Result, n)
	for range n {
		out.Go(func() { results <- again(t, x, manifest.Free) })
	}
	out.Wait()
	close(results)
	return results
}

// A list of tools that is refused is no part of a call: nothing of that was sent, whatever came of the list.
func TestListsThatAreRefused(t *testing.T) {
	for _, status := range []int{http.StatusRequestTimeout, http.StatusUnprocessableEntity} {
		var refuses atomic.Bool
		b := &bare{list: `, "ttlMs": 1`}
		b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
			"tools/list": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				if refuses.Load() {
					w.WriteHeader(status)
					return
				}
				answerWith(w, id, `{"resultType": "complete", "tools": [{"name": "say", "description": "Says it.", "inputSchema": {"type": "object"}}], "ttlMs": 1}`)
			},
		}
		x := b.start(t, Options{})
		says(t, x)
		refuses.Store(true)
		<-time.After(2 * time.Millisecond) // the list holds for one
		if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Error == nil || !r.Unsent || r.Carried || r.Lost {
			t.Errorf("%d: %+v %+v", status, r, r.Error)
		}
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

// A call whose session ends before anything of it is sent has not begun.
func TestSessionsThatEndBeforeACall(t *testing.T) {
	x := (&bare{sessions: true}).start(t, Options{})
	says(t, x)
	open, failed := x.servers["s"].Session(t.Context())
	if failed != nil {
		t.Fatal(failed.Error)
	}
	_ = open.client.Close()
	if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Error == nil || r.Error.Kind != protocol.KindTransient || !r.Unsent || r.Carried {
		t.Errorf("%+v %+v", r, r.Error)
	}
	x.servers["s"].Skip()
	says(t, x)
}
