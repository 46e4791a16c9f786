package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp/sound"
	"tavernsim/tools/toolstest"
)

// A server may end the stream of an answer and go on with it where it is asked again, by the
// id of the last event: the call is made once.
func TestAnswerGoesOn(t *testing.T) {
	s := saying(toolstest.Answers)
	below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	var calls int
	var id json.RawMessage
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte(`"tools/call"`)):
			var m struct{ ID json.RawMessage }
			if err := json.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			calls++
			id = m.ID
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 7\nretry: 1\ndata: \n\n")
		case q.Method == http.MethodGet && q.Header.Get(lastEvent) != "":
			if last := q.Header.Get(lastEvent); last != "7" {
				t.Errorf("the last event is %q", last)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\nid: 8\ndata: {\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": {\"content\": [{\"type\": \"text\", \"text\": \"later\"}]}}\n\n", id)
		default:
			below.ServeHTTP(w, q)
		}
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{})
	defer x.Close()
	if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Status != tools.OK || r.Output != "later" || calls != 1 {
		t.Errorf("%+v %+v after %d calls", r, r.Error, calls)
	}
}

// instead is a server over HTTP whose requests of one method somebody else answers.
func instead(t *testing.T, method string, answer func(w http.ResponseWriter, id json.RawMessage)) *httptest.Server {
	t.Helper()
	s := saying(toolstest.Answers)
	below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if _ = json.Unmarshal(body, &m); m.Method != method {
			below.ServeHTTP(w, q)
			return
		}
		answer(w, m.ID)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h
}

// Promise 1: over HTTP, too, a tool that is described otherwise is refused with what differs, and without the words of
// the server where these are withheld; one that is offered as a task only is refused, and no part of a pin.
func TestOtherTools(t *testing.T) {
	var tool string
	h := instead(t, "tools/list", func(w http.ResponseWriter, id json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": {"tools": [%s]}}`, id, tool)
	})
	for _, c := range []struct{ tool, want, own, unusable string }{
		{`{"name": "say", "description": "Says it.", "inputSchema": {"type": "object", "maxProperties": 3}}`, `pin: inputSchema.maxProperties was not there, is 3`, "then run simd mcp pin", ""},
		{`{"name": "say", "description": "Says it.", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}, "_meta": {"n": 1}}`, "cannot be used: " + TaskOnly, TaskOnly, TaskOnly},
		{`{"name": "say", "description": "Says it.", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "forbidden"}}`, "", "", ""},
	} {
		tool = c.tool
		x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{})
		r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
		if (r.Error != nil) != (c.want != "") || r.Error != nil && (!strings.HasSuffix(r.Error.Message, c.want) || !strings.HasSuffix(r.Own, c.own)) {
			t.Errorf("%s: %+v %+v, own %q", c.tool, r, r.Error, r.Own)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		pin, unusable, err := Look(t.Context(), webDefinition(t, h.URL), Options{})
		if err != nil || len(pin.Tools) != 1 || unusable["say"] != c.unusable {
			t.Errorf("%s: %+v, %v, %v", c.tool, pin, unusable, err)
		}
	}
}

// A server over HTTP that refuses a call has not begun it: the session stays, and what the server says about the time is
// obeyed. One that does not know the session any more gets another one.
func TestRefusedOverHTTP(t *testing.T) {
	for _, c := range []struct {
		status        int
		body          string
		kind          protocol.ErrorKind
		after         time.Duration
		unsent        bool
		sessions, are string
	}{
		{429, "", tools.KindRateLimited, 7 * time.Second, true, "1", ""},
		{429, "slow down", tools.KindRateLimited, 7 * time.Second, false, "1", ": slow down"},
		{503, "", protocol.KindTransient, 7 * time.Second, true, "1", ""},
		{404, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "Session not found"}}`, protocol.KindTransient, 7 * time.Second, true, "2", "Session not found"},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			var refuses atomic.Bool
			s := saying(toolstest.Answers)
			sessions := atomic.Int64{}
			below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				q.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"initialize"`)) {
					sessions.Add(1)
				}
				if bytes.Contains(body, []byte(`"tools/call"`)) && refuses.Load() {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return
				}
				below.ServeHTTP(w, q)
			}))
			t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
			x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{Pause: time.Minute, Failed: func(string, string) { t.Error("a failure was counted") }})
			defer x.Close()
			refuses.Store(true)
			for range 6 { // five failures would end the server
				r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
				if r.Error == nil || r.Error.Kind != c.kind || r.Error.RetryAfter.Std() != c.after || r.Unsent != c.unsent || !strings.Contains(r.Error.Message, c.are) || !strings.Contains(r.Own, fmt.Sprint("status ", c.status)) || strings.Contains(r.Own, "slow") {
					t.Fatalf("%+v %+v", r, r.Error)
				}
				if c.status == http.StatusNotFound {
					break
				}
			}
			refuses.Store(false)
			if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Status != tools.OK {
				t.Errorf("%+v %+v", r, r.Error)
			}
			if n := fmt.Sprint(sessions.Load()); n != c.sessions {
				t.Errorf("%s sessions, want %s", n, c.sessions)
			}
		})
	}
}

// So it is of one that opens no session now: it is asked again when it says, however often.
func TestRefusedSession(t *testing.T) {
	for _, method := range []string{"initialize", "tools/list"} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			t.Run(fmt.Sprint(method, status), func(t *testing.T) {
				s := saying(toolstest.Answers)
				below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
				var refuses atomic.Bool
				h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					body, _ := io.ReadAll(q.Body)
					q.Body = io.NopCloser(bytes.NewReader(body))
					if bytes.Contains(body, []byte(`"`+method+`"`)) && refuses.Load() {
						w.Header().Set("Retry-After", "7")
						w.WriteHeader(status)
						return
					}
					below.ServeHTTP(w, q)
				}))
				t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
				x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
				defer x.Close()
				refuses.Store(true)
				for range 6 {
					r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
					if r.Error == nil || r.Error.Kind != protocol.KindTransient || !r.Unsent || r.Error.RetryAfter.Std() <= time.Second || !strings.Contains(r.Error.Message, "the MCP server s takes no session, and is asked again after 7s") || !strings.Contains(r.Error.Message, fmt.Sprint("status ", status)) {
						t.Fatalf("%+v %+v", r, r.Error)
					}
					x.servers["s"].Skip()
				}
				refuses.Store(false)
				if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Status != tools.OK {
					t.Errorf("%+v %+v", r, r.Error)
				}
			})
		}
	}
}

// The data of an error says what was wrong, where it is short.
func TestErrorsWithData(t *testing.T) {
	data := `{"field":"n"}`
	h := instead(t, "tools/call", func(w http.ResponseWriter, id json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "error": {"code": -32602, "message": "wrong", "data": %s}}`, id, data)
	})
	x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{})
	defer x.Close()
	for _, want := range []string{`the MCP server s: error -32602: wrong; data: {"field":"n"}`, "the MCP server s: error -32602: wrong"} {
		if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Error == nil || r.Error.Kind != tools.KindTool || r.Error.Message != want || r.Own != "the MCP server s: error -32602" {
			t.Errorf("%+v %+v", r, r.Error)
		}
		data = `"` + strings.Repeat("x", maxData) + `"`
	}
}

// A server without tools has a pin that can be read.
func TestNoTools(t *testing.T) {
	pin, _, err := Look(t.Context(), webServer(t, sdk.NewServer(&sdk.Implementation{Name: "none", Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(pin); err != nil || string(b) != `{"server":"s","tools":[]}` {
		t.Errorf("%s, %v", b, err)
	}
}

// An error of a call that comes with 404 is one of the call: it is not made again.
func TestErrorOfACallWithNotFound(t *testing.T) {
	calls := atomic.Int64{}
	h := instead(t, "tools/call", func(w http.ResponseWriter, id json.RawMessage) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "error": {"code": -32602, "message": "no such note: 7"}}`, id)
	})
	x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
	defer x.Close()
	r := tools.Run(t.Context(), x, &tools.Call{Tool: sayTool(t, manifest.Never), Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: toolstest.Long, Retries: 2})
	if r.Error == nil || !strings.Contains(r.Error.Message, "no such note: 7") || calls.Load() != 1 {
		t.Errorf("%+v after %d calls", r.Error, calls.Load())
	}
}

// Promise 10: a whole answer that is none to the request is an error of the call at once: nothing follows it.
func TestAnswersThatAreNone(t *testing.T) {
	for _, c := range []struct{ message, says string }{
		{`{"jsonrpc": "2.0", "id": "%s", "result": {"content": []}}`, `but its id is "`},
		{`{"jsonrpc": "2.0", "id": 4%s, "result": {"content": []}}`, "but its id is 4"},
		{`{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "not so, %s"}}`, "not so"},
		{`{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "%s"}}`, `but it has the method "notifications/message"`},
		{`{"jsonrpc": "2.0", "result": {"content": []}, "x": %s}`, "but it has no id"},
		{`{"jsonrpc": "2.0", "id": %s.0, "result": {"content": [{"type": "text", "text": "a number is one however it is written"}]}}`, ""},
	} {
		h := instead(t, "tools/call", func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, c.message, id)
		})
		x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
		r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
		if c.says == "" {
			if r.Error != nil {
				t.Errorf("%s: %+v", c.message, r.Error)
			}
		} else if r.Error == nil || r.Error.Kind != tools.KindBadOutput || !strings.Contains(r.Error.Message, c.says) {
			t.Errorf("%s: %+v", c.message, r.Error)
		}
		x.Close()
	}
}

// One that says that the tools are others is heard.
func TestAnswersThatAreNoneAreHeard(t *testing.T) {
	w := &web{}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1", strings.NewReader(`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(hearing(w, q, "application/json", io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","method":"`+toolsChanged+`"}`))))
	if err != nil || !strings.Contains(string(b), `"id":3,"error"`) || !w.changed() {
		t.Errorf("%s %v", b, err)
	}
}

// Promise 10: over HTTP too, as one message or as an event, a message in which an object has a name
// twice is none, and a result that is no object, or that the library cannot read, is an error of the call alone.
func TestUnsoundAnswers(t *testing.T) {
	for _, c := range []struct{ result, kind, says string }{
		{`{"content":[{"type":"text","text":"right"}]}`, "", "right"},
		{`null`, "bad_output", "it is no object"},
		{`{"content":[],"structuredContent":{"a":1,"\u0061":2}}`, "bad_output", `the name "a" stands twice`},
		{`{"content":[{"type":"text","text":"see"},{"type":"hologram","depth":1e400}]}`, "", "see\n" + sound.NotKnown},
		{`{"content":[],"isError":"yes"}`, "bad_output", "isError is not what the protocol wants"},
		{`{"content":[{"type":"text","text":"x"},{"type":"image","data":"%%"}]}`, "bad_output", "content[1] is not what the protocol wants"},
		{`{"content":[null]}`, "bad_output", "content[0] is not"},
		{`{"content":"text"}`, "bad_output", "content is no list"},
		{`{"content":[],"_meta":{"n":1e400}}`, "bad_output", "_meta is not"},
		{`{"content":[],"structuredContent":{"n":1e400}}`, "bad_output", "structuredContent is no value"},
		{`{"content":[],"structuredContent":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, "", strings.Repeat("[", 65)},
		{`{"content":[],"structuredContent":{"id":9007199254740993,"wei":100000000000000000000}}`, "", "map[id:9007199254740993 wei:1e+20]"},
		{`{"content":[],"structuredContent":{"id":9007199254740993,"text":"<\u2028\n\"x\\y\"é>"}}`, "", "map[id:9007199254740993 text:<\u2028\n\"x\\y\"é>]"},
		{`{"content":[],"structuredContent":"{}"}`, "", "{}"},
		{`{"content":[{"type":"text","text":"none"}],"structuredContent":null}`, "", "none"},
	} {
		for _, form := range []string{"json", "events"} {
			t.Run(form, func(t *testing.T) {
				h := instead(t, "tools/call", func(w http.ResponseWriter, id json.RawMessage) {
					message := fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "result": %s}`, id, c.result)
					if form == "json" {
						w.Header().Set("Content-Type", "application/json")
						fmt.Fprint(w, message)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, ": hello\n\nevent: message\ndata: %s\n\n", message)
				})
				x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
				defer x.Close()
				r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long)
				kind, text := "", fmt.Sprint(r.Output)
				if r.Error != nil {
					kind, text = string(r.Error.Kind), r.Error.Message
				}
				if kind != c.kind || !strings.Contains(text, c.says) {
					t.Errorf("%s: %q %s", c.result, kind, text)
				}
			})
		}
	}
}
