package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"tavernsim/tools/toolstest"
)

// asked is a request of the stateless form: its version stands in a header and in the body.
func asked(ctx context.Context, url, method, name, params string) *http.Request {
	body := fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": %q, "params": {%s "_meta": {
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}}}`, method, params)
	q := httptest.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	q.RequestURI = "" // a client sends it
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	q.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	q.Header.Set("Mcp-Method", method)
	if name != "" {
		q.Header.Set("Mcp-Name", name)
	}
	return q
}

// Promise 8: over HTTP, too, both forms of the protocol are spoken. A request of the stateless form begins no
// session, and its end ends the call.
func TestStateless(t *testing.T) {
	cancelled := make(chan error, 2)
	s := New(offer(cancelled))
	h := httptest.NewServer(s.Handler(""))
	defer h.Close()
	defer s.Close()
	defer http.DefaultClient.CloseIdleConnections()
	do := func(q *http.Request) (int, string) {
		t.Helper()
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%v, session %q", err, r.Header.Get("Mcp-Session-Id"))
		}
		return r.StatusCode, string(b)
	}
	bare := asked(t.Context(), h.URL, "tools/list", "", "")
	bare.Header.Del("Mcp-Protocol-Version")
	bare.Header.Del("Mcp-Method")
	stream := asked(t.Context(), h.URL, "tools/list", "", "")
	stream.Method, stream.Body, stream.ContentLength = http.MethodGet, nil, 0
	for _, x := range []struct {
		q    *http.Request
		code int
		want string
	}{
		{asked(t.Context(), h.URL, "server/discover", "", ""), 200, `"supportedVersions":["2026-07-28","2025-11-25"`},
		{asked(t.Context(), h.URL, "tools/list", "", ""), 200, `"name":"echo"`},
		{asked(t.Context(), h.URL, "tools/call", "echo", `"name": "echo", "arguments": {"a": 1},`), 200, `"structuredContent":{"a":1}`},
		{asked(t.Context(), h.URL, "resources/list", "", ""), 200, `"uri":"test://a"`},
		{asked(t.Context(), h.URL, "resources/read", "test://a", `"uri": "test://a",`), 200, `"resultType":"complete"`},
		{asked(t.Context(), h.URL, "resources/read", "test://b", `"uri": "test://b",`), 400, `"data":{"uri":"test://b"}`},
		{asked(t.Context(), h.URL, "tools/call", "say", `"name": "echo", "arguments": {"a": 1},`), 400, `"code":-32020`}, // another name in the header
		{asked(t.Context(), h.URL, "ping", "", ""), 404, `"code":-32601`},                                                // it was taken out of the protocol
		{asked(t.Context(), h.URL, "initialize", "", ""), 404, `"code":-32601`},
		{asked(t.Context(), h.URL, "prompts/list", "", ""), 404, `"code":-32601`}, // none are declared
		{bare, 400, `"code":-32020`}, // the header lacks
		{stream, 405, ""},
	} {
		if code, body := do(x.q); code != x.code || !strings.Contains(body, x.want) {
			t.Errorf("%s: %d %s; want %d %s", x.q.Header.Get("Mcp-Method"), code, body, x.code, x.want)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-cancelled // it has begun
		leave()
	}()
	if r, err := http.DefaultClient.Do(asked(ctx, h.URL, "tools/call", "wait", `"name": "wait", "arguments": {},`)); err == nil {
		_, err = io.ReadAll(r.Body)
		if r.Body.Close(); err == nil {
			t.Fatal("a call that was given up has an answer")
		}
	}
	select {
	case <-cancelled:
	case <-time.After(toolstest.Long):
		t.Error("the call went on")
	}
}

// Promise 8: only what names the version where it belongs is of the stateless form. Other requests without a
// session are refused, also if the words stand elsewhere in them: nobody would end their calls.
func TestStatelessForm(t *testing.T) {
	h := New(offer(nil)).Handler("")
	const key = `"io.modelcontextprotocol/protocolVersion"`
	const none = "a session begins with initialize"
	for _, c := range []struct{ header, body, want string }{
		{"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {` + key + `: "2026-07-28"}}}`, "-32020"}, // the header lacks
		{"2025-06-18", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {` + key + `: "2026-07-28"}}}`, "-32020"},
		{"2025-06-18", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {` + key + `: "2025-06-18"}}}`, none},
		{"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": ` + key + `}}}`, none},
		{"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"_meta": {` + key + `: "2026-07-28"}}}}`, none},
		{"", `[{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": ` + key + `}}]`, none},
		{"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [` + key + `]}`, none},
		{"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ` + key + `}}`, none},
		{"", `{"jsonrpc": "2.0", "id": 1, "method": {"_meta": 1}}`, none},
		{"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {` + key + `: 3}}}`, none},
	} {
		w, q := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(c.body))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		q.Header.Set(versionHeader, c.header)
		if h.ServeHTTP(w, q); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%q %s: %d %s; want 400 %s", c.header, c.body, w.Code, w.Body, c.want)
		}
	}
}

// Promise 2: a request of the stateless form is a client as long as it lasts, and one only.
func TestStatelessClients(t *testing.T) {
	o := offer(nil)
	o.State = func(string) (string, error) { return "same", nil }
	s := New(o)
	h := s.Handler("")
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	listen := func() {
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), asked(ctx, "http://127.0.0.1/", "subscriptions/listen", "", `"notifications": {"resourceSubscriptions": ["test://a"]},`))
			ended <- struct{}{}
		}()
	}
	answers := func(header string) int {
		w, q := httptest.NewRecorder(), asked(t.Context(), "http://127.0.0.1/", "tools/list", "", "")
		q.Header.Set("Mcp-Session-Id", header)
		h.ServeHTTP(w, q)
		return w.Code
	}
	are := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(toolstest.Long); ; runtime.Gosched() {
			s.watched.mu.Lock()
			d := s.watched.docs["test://a"]
			found := d != nil && len(d.who) == n
			s.watched.mu.Unlock()
			if found {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %d subscriptions", n)
			}
		}
	}
	for range MaxClients - 1 {
		listen()
	}
	are(MaxClients - 1)
	if code := answers(""); code != http.StatusOK {
		t.Errorf("%d although there is room", code)
	}
	listen()
	are(MaxClients)
	for _, session := range []string{"", "none"} {
		if code := answers(session); code != http.StatusServiceUnavailable {
			t.Errorf("session %q: %d although there is no room", session, code)
		}
	}
	leave()
	for range MaxClients {
		<-ended
	}
	if code := answers(""); code != http.StatusOK {
		t.Errorf("%d although all have left", code)
	}
	s.Close()
	s.watched.mu.Lock()
	defer s.watched.mu.Unlock()
	if len(s.watched.docs) > 0 {
		t.Error("what nobody listens to is watched")
	}
}
