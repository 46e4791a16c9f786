package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// bare is a server over HTTP that is written by hand, with sessions or without.
type bare struct {
	sessions bool
	list     string // more fields of its list of tools
	announce bool   // it says so where its tools become others
	// own answers requests by their method, and GET; nil = as usual.
	own map[string]func(w http.ResponseWriter, q *http.Request, id json.RawMessage)

	other atomic.Bool // its tools are others
	lists atomic.Int64
}

func (b *bare) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	m.Method = q.Method
	if q.Method == http.MethodPost {
		body, _ := io.ReadAll(q.Body)
		_ = json.Unmarshal(body, &m)
	}
	if own := b.own[m.Method]; own != nil {
		own(w, q, m.ID)
		return
	}
	description := "Says it."
	if b.other.Load() {
		description = "Says it, and more."
	}
	switch m.Method {
	case "initialize":
		if b.sessions {
			w.Header().Set(sessionID, "1")
			answerWith(w, m.ID, `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "b", "version": "1"}}`)
			return
		}
	case "server/discover":
		if !b.sessions {
			answerWith(w, m.ID, fmt.Sprintf(`{"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": %t}}, "serverInfo": {"name": "b", "version": "1"}, "ttlMs": 3600000}`, b.announce))
			return
		}
	case "tools/list":
		b.lists.Add(1)
		answerWith(w, m.ID, fmt.Sprintf(`{"resultType": "complete", "tools": [{"name": "say", "description": %q, "inputSchema": {"type": "object"}}]%s}`, description, b.list))
		return
	case "tools/call":
		answerWith(w, m.ID, `{"resultType": "complete", "content": [{"type": "text", "text": "said"}]}`)
		return
	}
	switch {
	case q.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "error": {"code": -32601, "message": "no such method"}}`, m.ID)
	}
}

func answerWith(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": %s}`, id, result)
}

// stream writes events, and shows them at once.
func stream(w http.ResponseWriter, messages ...string) {
	w.Header().Set("Content-Type", events)
	for _, m := range messages {
		fmt.Fprintf(w, "data: %s\n\n", m)
	}
	w.(http.Flusher).Flush()
}

// start gives an executor for a server.
func (b *bare) start(t *testing.T, opt Options) *Executor {
	t.Helper()
	h := httptest.NewServer(b)
	x := New([]Server{{webDefinition(t, h.URL), sayPin()}}, opt)
	t.Cleanup(func() { x.Close(); h.CloseClientConnections(); h.Close() })
	return x
}

const (
	changed      = `{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}`
	acknowledged = `{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {"notifications": {"toolsListChanged": true}}}`
	otherwise    = "otherwise than the project has pinned it"
)

// says calls, and wants an answer.
func says(t *testing.T, x *Executor) {
	t.Helper()
	if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Status != tools.OK || r.Output != "said" {
		t.Fatalf("%+v %+v", r, r.Error)
	}
}

// Promises 1 and 8: a server without sessions says on a subscription that its tools are others, whichever way it
// writes it, and however long its list holds; the subscription is made again where it breaks off or the server ends it.
func TestToolsChangeWithoutSessions(t *testing.T) {
	for name, listen := range map[string]func(b *bare, times int64, w http.ResponseWriter, q *http.Request, id json.RawMessage){
		"told": func(b *bare, _ int64, w http.ResponseWriter, q *http.Request, _ json.RawMessage) {
			stream(w, acknowledged)
			b.other.Store(true)
			stream(w, changed)
			<-q.Context().Done()
		},
		"told in other words": func(b *bare, _ int64, w http.ResponseWriter, q *http.Request, _ json.RawMessage) {
			stream(w, acknowledged)
			b.other.Store(true)
			stream(w, strings.NewReplacer("/", `\/`, `"method"`, `"\u006dethod"`).Replace(changed))
			<-q.Context().Done()
		},
		"broken off": func(b *bare, times int64, w http.ResponseWriter, q *http.Request, _ json.RawMessage) {
			if q.Header.Get(lastEvent) != "" {
				t.Error("a subscription is not gone on with")
			}
			if w.Header().Set("Content-Type", events); times == 1 {
				fmt.Fprintf(w, "id: 7\nretry: 1\ndata: %s\n\n", acknowledged)
				return
			}
			b.other.Store(true)
			stream(w, acknowledged)
			<-q.Context().Done()
		},
		"ended": func(b *bare, times int64, w http.ResponseWriter, q *http.Request, id json.RawMessage) {
			if w.Header().Set("Content-Type", events); times == 1 {
				fmt.Fprintf(w, "retry: 1\ndata: {\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": {\"resultType\": \"complete\"}}\n\n", id)
				return
			}
			b.other.Store(true)
			stream(w, acknowledged)
			<-q.Context().Done()
		},
	} {
		for _, list := range []string{"", `, "ttlMs": 0`, `, "ttlMs": 3600000`} {
			t.Run(name+list, func(t *testing.T) {
				var times atomic.Int64
				b := &bare{announce: true, list: list}
				b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
					subscribes: func(w http.ResponseWriter, q *http.Request, id json.RawMessage) { listen(b, times.Add(1), w, q, id) },
				}
				x := b.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
				if why := untilRefused(t, x); !strings.Contains(why, otherwise) {
					t.Error(why)
				}
			})
		}
	}
}

// Promise 8: no call needs the subscription, and the list is asked for once where there is none.
func TestNoSubscription(t *testing.T) {
	for name, listen := range map[string]func(w http.ResponseWriter, q *http.Request, id json.RawMessage){
		"none":      nil,
		"refused":   func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { w.WriteHeader(http.StatusForbidden) },
		"broken":    func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { w.WriteHeader(http.StatusBadGateway) },
		"an object": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) { answerWith(w, id, "{}") },
		"mute":      func(_ http.ResponseWriter, q *http.Request, _ json.RawMessage) { <-q.Context().Done() },
		"says so": func(w http.ResponseWriter, q *http.Request, _ json.RawMessage) {
			stream(w, acknowledged)
			<-q.Context().Done()
		},
		"says error": func(w http.ResponseWriter, q *http.Request, id json.RawMessage) {
			stream(w, fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "error": {"code": -32601, "message": "no"}}`, id))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bare{announce: true, own: map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){subscribes: listen}}
			x := b.start(t, Options{Failed: func(string, string) { t.Error("a failure was counted") }})
			for range 3 {
				says(t, x)
			}
			// A stream that opens late on a loaded machine, or again, has the list asked for once more (TestStreamsThatOpenLate).
			if n := b.lists.Load(); n != 1 && name != "says error" && (name != "says so" || n > 2) {
				t.Errorf("%d lists", n)
			}
		})
	}
}

// Promise 1: where a server says how long its list holds, simd looks again with the first call after that.
func TestListsThatHoldForAWhile(t *testing.T) {
	b := &bare{list: `, "ttlMs": 1`}
	x := b.start(t, Options{})
	says(t, x)
	b.other.Store(true)
	if why := untilRefused(t, x); !strings.Contains(why, otherwise) {
		t.Error(why)
	}
	b = &bare{list: `, "ttlMs": 1e300`}
	x = b.start(t, Options{})
	says(t, x)
	says(t, x)
	if n := b.lists.Load(); n != 1 {
		t.Errorf("%d lists", n)
	}
}

// Promise 1: with sessions, too, whichever way and wherever the server writes that its tools are others. What comes before an
// answer counts for the next call.
func TestWhereServersSayThatToolsChange(t *testing.T) {
	for _, message := range []string{changed, strings.ReplaceAll(changed, "/", `\/`), strings.ReplaceAll(changed, "tools", `t\u006fols`)} {
		b := &bare{sessions: true}
		b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
			"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				b.other.Store(true)
				stream(w, message, fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "result": {"content": [{"type": "text", "text": "said"}]}}`, id))
			},
		}
		x := b.start(t, Options{})
		says(t, x)
		if r := call(t.Context(), x, sayTool(t, manifest.Never), toolstest.Long); r.Error == nil || !strings.Contains(r.Error.Message, otherwise) || !r.Unsent {
			t.Errorf("%s: %+v %+v", message, r, r.Error)
		}
		b = &bare{sessions: true}
		b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
			http.MethodGet: func(w http.ResponseWriter, q *http.Request, _ json.RawMessage) {
				b.other.Store(true)
				stream(w, message)
				<-q.Context().Done()
			},
		}
		if why := untilRefused(t, b.start(t, Options{})); !strings.Contains(why, otherwise) {
			t.Error(why)
		}
	}
}

// Promise 3: of an answer over many events each may have 8 MiB, and all of them as much as nobody asked for.
func TestLongStreamsOfAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing new in many bytes")
	}
	progress := `{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "x", "progress": 1, "message": "` + strings.Repeat("x", 1<<20) + `"}}`
	for n, off := range map[int]bool{9: false, 70: true} {
		b := &bare{sessions: true}
		b.own = map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
			"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				for range n {
					stream(w, progress)
				}
				stream(w, fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "result": {"content": [{"type": "text", "text": "said"}]}}`, id))
			},
		}
		x := b.start(t, Options{})
		if !off {
			says(t, x)
			continue
		}
		if why := untilRefused(t, x); !strings.Contains(why, "that nobody asked for") {
			t.Error(why)
		}
	}
	large := `{"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "` + strings.Repeat("x", 9<<20) + `"}}`
	b := &bare{sessions: true, own: map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { stream(w, large) },
	}}
	if why := untilRefused(t, b.start(t, Options{})); !strings.Contains(why, "an event has more than 8 MiB") {
		t.Error(why)
	}
}
