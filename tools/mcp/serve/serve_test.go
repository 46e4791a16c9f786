package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/toolstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// offer has a tool that echoes, one that fails, one that panics, and one that waits until it
// is cancelled, which it then tells.
func offer(cancelled chan<- error) Offer {
	object := map[string]any{"type": "object"}
	return Offer{
		Name: "test", Version: "1",
		Tools: []Tool{
			{Name: "echo", Parameters: object, ReadOnly: true, Call: func(_ context.Context, p map[string]any) tools.Result { return tools.Output(p) }},
			{Name: "say", Parameters: object, Call: func(context.Context, map[string]any) tools.Result { return tools.Output("héllo") }},
			{Name: "fail", Parameters: object, Call: func(context.Context, map[string]any) tools.Result { return tools.Fail(protocol.KindLimit, "too much") }},
			{Name: "panic", Parameters: object, Call: func(context.Context, map[string]any) tools.Result { panic("oh") }},
			{Name: "wait", Parameters: object, Call: func(ctx context.Context, _ map[string]any) tools.Result {
				cancelled <- nil // it has begun
				<-ctx.Done()
				cancelled <- ctx.Err()
				return tools.Fail(protocol.KindCancelled, "cancelled")
			}},
		},
		Documents: func(context.Context) ([]Document, error) {
			return []Document{{URI: "test://a", Name: "a", MediaType: "application/json"}}, nil
		},
		Read: func(_ context.Context, uri string) ([]byte, error) {
			if uri != "test://a" {
				return nil, protocol.Errorf(protocol.KindNotFound, "%s", uri)
			}
			return []byte(`{"a": 1}`), nil
		},
	}
}

// client connects over stdio.
func client(t *testing.T, s *Server) *sdk.ClientSession {
	t.Helper()
	theirs, in := io.Pipe()
	out, mine := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Stdio(context.Background(), theirs, mine) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return c
}

func said(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// Promise 4: a client that asks by a token hears how far a call is, what does not grow left out.
func TestProgress(t *testing.T) {
	theirs, in := io.Pipe()
	out, mine := io.Pipe()
	o, heard := offer(nil), make(chan string, 10)
	o.Tools = append(o.Tools, Tool{Name: "far", Parameters: map[string]any{"type": "object"}, Call: func(ctx context.Context, _ map[string]any) tools.Result {
		if tell := tools.ToProgress(ctx); tell != nil {
			for _, done := range []float64{0, 2, 1, 5} {
				tell("far", tools.Progress{Done: done, Total: 5, Message: "walking"})
			}
		}
		return tools.Output("there")
	}})
	ended := make(chan error, 1)
	go func() { ended <- New(o).Stdio(context.Background(), theirs, mine) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) {
		heard <- fmt.Sprint(q.Params.ProgressToken, q.Params.Progress, q.Params.Total, q.Params.Message)
	}}).Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []any{nil, "t"} { // without one nothing is heard
		q := &sdk.CallToolParams{Name: "far"}
		if token != nil {
			q.SetProgressToken(token)
		}
		if r, err := c.CallTool(t.Context(), q); err != nil || said(r) != "there" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for _, want := range []string{"t0 5walking", "t2 5walking", "t5 5walking"} {
		if got := <-heard; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	_ = c.Close()
	if err := <-ended; err != nil || len(heard) > 0 {
		t.Errorf("%v, %d more", err, len(heard))
	}
}

// Promise 1.
func TestCalls(t *testing.T) {
	c := client(t, New(offer(nil)))
	for _, x := range []struct {
		tool, arguments, want string
		failed                bool
	}{
		{"echo", `{"a": {"b": [1, 2.5, "x"]}}`, `{"a":{"b":[1,2.5,"x"]}}`, false},
		{"echo", ``, `{}`, false},
		{"say", `{}`, "héllo", false},
		{"fail", `{}`, "limit: too much", true},
		{"panic", `{}`, "internal: the tool panic failed: oh", true},
		{"echo", `{"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "invalid: the arguments: ", true},
	} {
		q := &sdk.CallToolParams{Name: x.tool}
		if x.arguments != "" {
			q.Arguments = json.RawMessage(x.arguments)
		}
		r, err := c.CallTool(t.Context(), q)
		if err != nil || r.IsError != x.failed || !strings.HasPrefix(said(r), x.want) {
			t.Errorf("%s %s: %+v, %v; want %q", x.tool, x.arguments, r, err, x.want)
		}
	}
	if r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "nobody"}); err == nil {
		t.Errorf("a tool that does not exist answered %+v", r)
	}
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "test://a" {
		t.Errorf("%+v, %v", list, err)
	}
	doc, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "test://a"})
	if err != nil || doc.Contents[0].Text != `{"a": 1}` {
		t.Errorf("%+v, %v", doc, err)
	}
	if doc, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "test://b"}); err == nil {
		t.Errorf("a document that does not exist: %+v", doc)
	}
}

// Files that a call left reach the client: pictures and sounds as such, others with the URI by
// which the output names them, and those that are too large by name.
func TestFiles(t *testing.T) {
	r := tools.Output(map[string]any{})
	r.Attach("red.png", "image/png", []byte("png"))
	r.Attach("beep.wav", "audio/wave", []byte("wav"))
	uri := r.Attach("table.csv", "text/csv", []byte("a,b"))
	r.Attach("empty", "text/plain", nil)
	r.Attach("huge.bin", "application/octet-stream", make([]byte, MaxMessage))
	o := offer(nil)
	o.Tools = append(o.Tools, Tool{Name: "files", Parameters: map[string]any{"type": "object"}, Call: func(context.Context, map[string]any) tools.Result { return r }})
	got, err := client(t, New(o)).CallTool(t.Context(), &sdk.CallToolParams{Name: "files"})
	if err != nil || got.IsError || len(got.Content) != 6 {
		t.Fatal(got, err)
	}
	picture, sound, file := got.Content[1].(*sdk.ImageContent), got.Content[2].(*sdk.AudioContent), got.Content[3].(*sdk.EmbeddedResource).Resource
	if string(picture.Data) != "png" || picture.MIMEType != "image/png" || string(sound.Data) != "wav" || sound.MIMEType != "audio/wav" || string(file.Blob) != "a,b" || file.URI != uri || file.Meta["name"] != "table.csv" {
		t.Errorf("%+v %+v %+v", picture, sound, file)
	}
	if text := got.Content[5].(*sdk.TextContent).Text; !strings.Contains(text, "The file huge.bin (application/octet-stream, 4194304 bytes) is left out") {
		t.Error(text)
	}
}

// Promise 2.
func TestCancel(t *testing.T) {
	cancelled := make(chan error, 2)
	c := client(t, New(offer(cancelled)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-cancelled
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "say", Arguments: map[string]any{}}); err != nil {
			t.Error(err)
		}
		cancel()
	}()
	if r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{}}); err == nil {
		t.Errorf("a cancelled call answered %+v", r)
	}
	select {
	case <-cancelled:
	case <-time.After(toolstest.Long):
		t.Error("the call went on")
	}
}

// gone is the output to a client that has left; its input ends then.
type gone struct{ in io.Closer }

func (g gone) Write([]byte) (int, error) { g.in.Close(); return 0, io.ErrClosedPipe }
func (g gone) Close() error              { return nil }

// A client may leave without having read its answer.
func TestLeaves(t *testing.T) {
	theirs, in := io.Pipe()
	go func() {
		_, _ = io.WriteString(in, `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`+"\n")
	}()
	if err := New(offer(nil)).Stdio(t.Context(), theirs, gone{in}); err != nil {
		t.Error(err)
	}
}

// Promises 3 and 5.
func TestDoor(t *testing.T) {
	s := New(offer(nil))
	open, closed := httptest.NewServer(s.Handler("")), httptest.NewServer(s.Handler("s3cret"))
	defer open.Close()
	defer closed.Close()
	defer s.Close()
	begin := `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`
	big := strings.Replace(begin, `"x"`, `"`+strings.Repeat("x", 5<<20)+`"`, 1)
	for _, c := range []struct {
		name, url, body string
		header, host    string
		chunked         bool
		want            int
	}{
		{"plain", open.URL, begin, "", "", false, 200},
		{"own page", open.URL, begin, "Origin: " + open.URL, "", false, 200},
		{"page on this machine", open.URL, begin, "Origin: http://localhost:3000", "", false, 200},
		{"page of another site", open.URL, begin, "Origin: https://evil.example", "", false, 403},
		{"no origin", open.URL, begin, "Origin: null", "", false, 403},
		{"name that leads here", open.URL, begin, "", "evil.example", false, 403},
		{"a name twice", open.URL, strings.Replace(begin, `"id"`, `"params": {}, "id"`, 1), "", "", false, 400},
		{"an id that no answer can have", open.URL, strings.Replace(begin, `"id": 1`, `"id": 18.5`, 1), "", "", false, 400},
		{"no message", open.URL, begin[:100], "", "", false, 400},
		{"no session", open.URL, `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`, "", "", false, 400},
		{"no session, a notification", open.URL, `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, "", "", false, 400},
		{"no session, a batch", open.URL, "[" + begin + "]", "", "", false, 400},
		{"a session that is not there", open.URL, `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`, "Mcp-Session-Id: none", "", false, 404},
		{"large", open.URL, big, "", "", false, 413},
		{"large, length not said", open.URL, big, "", "", true, 413},
		{"no token", closed.URL, begin, "", "", false, 401},
		{"wrong token", closed.URL, begin, "Authorization: Bearer s3cre", "", false, 401},
		{"token", closed.URL, begin, "Authorization: Bearer s3cret", "", false, 200},
		{"token, small letters", closed.URL, begin, "Authorization: bearer s3cret", "", false, 200},
		{"token, other scheme", closed.URL, begin, "Authorization: Basic s3cret", "", false, 401},
		{"token, other letters", closed.URL, begin, "Authorization: Bearer S3cret", "", false, 401},
		{"token alone", closed.URL, begin, "Authorization: s3cret", "", false, 401},
		{"token, other name", closed.URL, begin, "Authorization: Bearer s3cret", "simd.example", false, 200},
		{"large, no token", closed.URL, big, "", "", false, 401},
	} {
		var body io.Reader = strings.NewReader(c.body)
		if c.chunked {
			body = io.MultiReader(body)
		}
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, body)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			q.Header.Set(name, value)
		}
		q.Host = c.host
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, r.StatusCode, bytes.TrimSpace(b), c.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Promise 2: no client takes all sessions. Who has the most of them loses the one that was idle for
// the longest time; a session with a call that is under way stays.
func TestSessions(t *testing.T) {
	cancelled := make(chan error, MaxClients)
	s := New(offer(cancelled))
	defer s.Close()
	h := s.Handler("")
	post := func(ctx context.Context, from, id, body string) *httptest.ResponseRecorder {
		q := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
		q.RemoteAddr = from + ":1"
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			q.Header.Set("Mcp-Session-Id", id)
			q.Header.Set("MCP-Protocol-Version", "2025-11-25")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return w
	}
	begin := func(from string) string {
		t.Helper()
		w := post(t.Context(), from, "", `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`)
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Header().Get("Mcp-Session-Id")
	}
	is := func(from, id string) bool {
		return post(t.Context(), from, id, `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`).Code == http.StatusOK
	}
	quiet := begin("10.0.0.1")
	stays, second := begin("10.0.0.2"), begin("10.0.0.2")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		post(ctx, "10.0.0.2", stays, `{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}`)
	}()
	for deadline := time.Now().Add(toolstest.Long); len(s.slots) == 0; { // the call is under way
		if time.Now().After(deadline) {
			t.Fatal("no call")
		}
		runtime.Gosched()
	}
	for range 2 * MaxClients {
		begin("10.0.0.2")
	}
	if !is("10.0.0.1", quiet) {
		t.Error("a session of another host was ended")
	}
	if is("10.0.0.2", second) {
		t.Error("an idle session stayed")
	}
	n, found := 0, false
	for x := range s.sdk.Sessions() {
		n, found = n+1, found || x.ID() == stays
	}
	if !found || n > MaxClients {
		t.Errorf("%d sessions, and the one with a call is among them: %v", n, found)
	}
	leave()
	<-left // the call goes on: its client may come back for the answer
	post(t.Context(), "10.0.0.2", stays, `{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}`)
	<-cancelled
}

// Promise 3: a body that does not come ends its request, and a call may take longer than a body.
func TestSlowBody(t *testing.T) {
	for patience := 100 * time.Millisecond; ; patience *= 4 {
		refused, said := slowBody(t, patience)
		if !refused {
			t.Error("a body without an end is waited for")
		}
		if said == "done" {
			return
		}
		if patience > toolstest.Long { // a busy machine needs more for the bodies that do come
			t.Fatalf("a call that takes longer than a body: %s", said)
		}
	}
}

// slowBody reports whether a body without an end is refused, and what a call says that takes longer than a
// body may.
func slowBody(t *testing.T, patience time.Duration) (refused bool, what string) {
	o := offer(nil)
	o.Tools = append(o.Tools, Tool{Name: "slow", Parameters: map[string]any{"type": "object"}, Call: func(context.Context, map[string]any) tools.Result {
		time.Sleep(3 * patience) //nolint:forbidigo // longer than a body may take here
		return tools.Output("done")
	}})
	s := New(o)
	defer s.Close()
	h := s.Handler("").(*guarded)
	h.patience = patience
	server := httptest.NewServer(h)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, hold := io.Pipe()
	defer hold.Close()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	r, err := http.DefaultClient.Do(q)
	if refused = err != nil || r.StatusCode >= 400; err == nil {
		r.Body.Close()
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return refused, err.Error()
	}
	defer c.Close()
	answer, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "slow", Arguments: map[string]any{}})
	if err != nil {
		return refused, err.Error()
	}
	return refused, said(answer)
}

// FuzzMessages feeds a session arbitrary bytes: it ends, or answers; it does not panic.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": 1, "a": 2}}}`))
	f.Add([]byte("{}\nnull\n[]\n"))
	f.Add([]byte(fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": %q}}`, "test://b")))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(offer(make(chan error, 100)))
		_ = s.Stdio(t.Context(), io.NopCloser(bytes.NewReader(b)), closer{io.Discard})
	})
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// Who wants to know is told of each request with what came of it.
func TestRequestsAreTold(t *testing.T) {
	cancelled, told := make(chan error, 2), make(chan string, 20)
	o := offer(cancelled)
	o.Asked = func(method, outcome string) { told <- method + " " + outcome }
	c := client(t, New(o))
	for _, name := range []string{"say", "fail", "nobody"} {
		_, _ = c.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-cancelled
		cancel()
	}()
	_, _ = c.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
	want := []string{"server/discover ok", "tools/call ok", "tools/call error", "tools/call error", "notifications/cancelled ok", "tools/call cancelled"}
	var got []string
	for range want {
		got = append(got, <-told)
	}
	slices.Sort(got[4:]) // the call may end first
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
