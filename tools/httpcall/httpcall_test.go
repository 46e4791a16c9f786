package httpcall

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toolAt is a tool that posts its parameters to a server, which it may reach if named.
func toolAt(t *testing.T, address string, repeat manifest.Repeat, named bool) *manifest.Tool {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	x := &manifest.Tool{
		ID: "t", Parameters: map[string]any{"properties": map[string]any{"say": map[string]any{}}}, Execution: manifest.Execution{Repeat: repeat},
		Implementation: manifest.Implementation{Type: manifest.HTTP, Method: "POST", URL: address},
	}
	if named {
		x.Needs = []string{"net:" + u.Host}
	}
	if faults := x.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	return x
}

func serve(t *testing.T, f http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

func run(t *testing.T, tool *manifest.Tool) tools.Result {
	t.Helper()
	x := New()
	defer x.Close()
	return tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": "x"}, Key: "key"}, tools.Options{Timeout: toolstest.Long})
}

func TestConformance(t *testing.T) {
	toolstest.Run(t, func(t *testing.T, act toolstest.Act, repeat manifest.Repeat) (tools.Executor, *manifest.Tool) {
		if act == toolstest.Panics {
			return nil, nil
		}
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch act {
			case toolstest.Answers:
				var in map[string]any
				_ = json.Unmarshal(body, &in)
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				_ = json.NewEncoder(w).Encode(map[string]any{"said": in["say"], "key": strings.Join(r.Header["Idempotency-Key"], "|")})
			case toolstest.SaysNo:
				http.Error(w, "no", http.StatusTeapot)
			case toolstest.Hangs:
				<-r.Context().Done()
			case toolstest.Floods:
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
						return
					}
				}
			case toolstest.Breaks:
				panic(http.ErrAbortHandler)
			}
		})
		if act == toolstest.Refuses {
			s.Close()
		}
		return New(), toolAt(t, s.URL, repeat, true)
	})
}

// Promise 4: an answer is asked for as it is, and one in an encoding is none. What it says of an error is not quoted then.
func TestEncodedAnswers(t *testing.T) {
	for _, c := range []struct {
		code         int
		coding, body string
		want         string
	}{
		{200, "gzip", "\x1f\x8b\b", "bad_output the answer is encoded, which nobody asked for: gzip"},
		{200, "BR", "{}", "bad_output the answer is encoded, which nobody asked for: br"},
		{200, "identity", "{}", "ok map[]"},
		{204, "gzip", "", "ok <nil>"},
		{418, "gzip", "\x1f\x8b\b", "tool status 418 I'm a teapot: its 3 bytes are encoded (gzip)"},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header["Accept-Encoding"]; len(got) != 1 || got[0] != "identity" {
				t.Errorf("%q", got)
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", c.coding)
			w.WriteHeader(c.code)
			_, _ = io.WriteString(w, c.body)
		})
		r := run(t, toolAt(t, s.URL, manifest.Never, true))
		got := fmt.Sprint("ok ", r.Output)
		if r.Error != nil {
			got = fmt.Sprint(r.Error.Kind, " ", r.Error.Message[strings.Index(r.Error.Message, ": ")+2:])
		}
		if got != c.want {
			t.Errorf("%d %s: %s", c.code, c.coding, got)
		}
	}
}

// A whole number beyond 64 bits is a float; what no float holds leaves the answer a text.
func TestLargeNumbers(t *testing.T) {
	for body, want := range map[string]any{`{"id": 18446744073709551615, "n": 7}`: map[string]any{"id": 1.8446744073709552e19, "n": int64(7)}, `{"n": 1e400}`: `{"n": 1e400}`} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		if r := run(t, toolAt(t, s.URL, manifest.Never, true)); !reflect.DeepEqual(r.Output, want) {
			t.Errorf("%s: %#v", body, r.Output)
		}
	}
}

// What each status means.
func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		code       int
		body       string
		after      string
		status     tools.Status
		kind       protocol.ErrorKind
		retryAfter time.Duration
	}{
		{204, "", "", tools.OK, "", 0},
		{201, "made", "", tools.OK, "", 0},
		{400, "wrong", "", tools.Failed, tools.KindTool, 0},
		{404, "", "", tools.Failed, tools.KindTool, 0},
		{429, "slow down", "7", tools.Failed, tools.KindRateLimited, 7 * time.Second},
		{503, "", "", tools.Failed, protocol.KindTransient, 0},
		{500, "oh", "", tools.Failed, protocol.KindTransient, 0},
		{502, "", "", tools.Failed, protocol.KindTransient, 0},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.code)
			_, _ = io.WriteString(w, c.body)
		})
		r := run(t, toolAt(t, s.URL, manifest.Never, true))
		if r.Status != c.status || c.kind != "" && (r.Error.Kind != c.kind || r.Error.RetryAfter.Std() != c.retryAfter || !strings.Contains(r.Error.Message, c.body)) {
			t.Errorf("%d: %+v %+v", c.code, r, r.Error)
		}
	}
	for text, want := range map[string]time.Duration{time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat): 24 * time.Hour, "99999999999": 24 * time.Hour, "120": 2 * time.Minute} {
		if d := RetryAfter(text, time.Date(2030, 1, 1, 0, 0, 0, 1, time.UTC)); d != want {
			t.Errorf("%s: %s, want %s", text, d, want)
		}
	}
	if d := RetryAfter(time.Date(2030, 1, 1, 0, 0, 9, 0, time.UTC).Format(http.TimeFormat), time.Date(2030, 1, 1, 0, 0, 0, 7, time.UTC)); d != 9*time.Second {
		t.Error(d)
	}
	for _, text := range []string{"", "soon", "-1"} {
		if d := RetryAfter(text, time.Now()); d != 0 {
			t.Error(text, d)
		}
	}
}

// Promise 6.
func TestSwitched(t *testing.T) {
	for _, repeat := range []manifest.Repeat{manifest.Free, manifest.Never} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			_, _ = c.Read(make([]byte, 1)) // until the client closes
		})
		r := run(t, toolAt(t, s.URL, repeat, true))
		if r.Status != tools.Failed || r.Error.Kind != tools.KindTool || !r.Carried || r.Meta.Attempts != 1 || !strings.Contains(r.Error.Message, "status 101 Switching Protocols") {
			t.Errorf("%s: %+v %+v", repeat, r, r.Error)
		}
	}
}

// Promise 1: also if a name leads to the address.
func TestOnlyNamedServersMayBeLocal(t *testing.T) {
	asked := atomic.Int64{}
	s := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, repeat := range []manifest.Repeat{manifest.Free, manifest.Never} {
		for _, address := range []string{s.URL, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port} {
			r := run(t, toolAt(t, address, repeat, false))
			if r.Status != tools.Denied && !(r.Status == tools.Failed && strings.Contains(r.Error.Message, "no such host")) {
				t.Errorf("%s %s: %+v %+v", repeat, address, r, r.Error)
			}
		}
		other := toolAt(t, s.URL, repeat, false)
		if other.Needs = []string{"net:127.0.0.1:1", "net:localhost:" + port}; run(t, other).Status != tools.Denied {
			t.Errorf("%s: another server was named", repeat)
		}
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests arrived", asked.Load())
	}
	// A connection that a tool may use is not there for another.
	x := New()
	defer x.Close()
	for _, c := range []struct {
		named bool
		want  tools.Status
	}{{true, tools.OK}, {false, tools.Denied}} {
		if r := tools.Run(t.Context(), x, &tools.Call{Tool: toolAt(t, s.URL, manifest.Free, c.named)}, tools.Options{}); r.Status != c.want {
			t.Errorf("%+v %+v", r, r.Error)
		}
	}
}

// Promise 2.
func TestRedirections(t *testing.T) {
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/end":
			_, _ = io.WriteString(w, r.Method)
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/named":
			to := url.URL{Scheme: "http", User: url.UserPassword("u", "p"), Host: r.Host, Path: "/end"}
			http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
		case "/choice":
			w.Header().Set("Location", "/end")
			w.WriteHeader(http.StatusMultipleChoices)
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		}
	})
	for path, c := range map[string]struct {
		want tools.Status
		why  string
	}{
		"/here": {tools.OK, ""}, "/away": {tools.Denied, "status 307 leads to another server, and is not followed"}, "/round": {tools.Denied, "status 307 leads on more than 5 times, and is not followed"},
		"/nowhere": {tools.Failed, "status 302 Found"}, "/same": {tools.Failed, "status 304 Not Modified"},
		"/choice": {tools.Failed, "status 300 Multiple Choices"}, "/named": {tools.Denied, "status 307 leads on with a name and a password of its own, and is not followed"},
	} {
		r := run(t, toolAt(t, s.URL+path, manifest.ByKey, true))
		if r.Status != c.want || c.want == tools.OK && r.Output != "POST" || !r.Carried || c.want != tools.OK && !strings.HasSuffix(r.Error.Message, c.why) {
			t.Errorf("%s: %+v %+v", path, r, r.Error)
		}
	}
	for place, secret := range map[string][]string{"headers": {"tok"}, "query": {"tok"}, "body": {"tok"}, "none": {"other"}} {
		tool := toolAt(t, s.URL+"/here", manifest.ByKey, true)
		switch fixed := map[string]any{"Authorization": "Bearer $CONFIG{tok}"}; place {
		case "query":
			tool.Implementation.Query = fixed
		case "body":
			tool.Implementation.Body = fixed
		default:
			tool.Implementation.Headers = fixed
		}
		if faults := tool.Check(); len(faults) > 0 {
			t.Fatal(faults)
		}
		want := map[bool]tools.Status{true: tools.OK, false: tools.Denied}[place == "none"]
		if r := run(t, tool.Configured(map[string]string{"tok": "T0ken"}, secret)); r.Status != want || !r.Carried || want == tools.Denied && !strings.Contains(r.Error.Message, "the request has a secret") {
			t.Errorf("a secret option in %s: %+v %+v", place, r, r.Error)
		}
	}
}

// Promise 3: a connection that the server has closed is a reason for net/http to send a
// request again; not for this one.
func TestAConnectionSendsOnce(t *testing.T) {
	for _, repeat := range []manifest.Repeat{manifest.Never, manifest.ByKey} {
		asked := atomic.Int64{}
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Idempotency-Key") != "key" {
				t.Error(r.Header)
			}
			if asked.Add(1)%2 == 0 {
				panic(http.ErrAbortHandler)
			}
		})
		tool, x := toolAt(t, s.URL, repeat, true), New()
		tool.Implementation.Method = "GET"
		for i, want := range []tools.Status{tools.OK, map[manifest.Repeat]tools.Status{manifest.Never: tools.Unknown, manifest.ByKey: tools.OK}[repeat]} {
			if r := tools.Run(t.Context(), x, &tools.Call{Tool: tool, Key: "key"}, tools.Options{}); r.Status != want {
				t.Errorf("%s, call %d: %+v %+v", repeat, i, r, r.Error)
			}
		}
		if n := asked.Load(); repeat == manifest.Never && n != 2 {
			t.Errorf("%d requests arrived", n)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Promise 5, and what is no JSON.
func TestAnswersAreBounded(t *testing.T) {
	for _, c := range []struct {
		typ, body string
		want      any
	}{
		{"application/json", `{"a": [1, 2.5, null]}`, map[string]any{"a": []any{int64(1), 2.5, nil}}},
		{"application/problem+json", `"x"`, "x"},
		{"text/plain", `{"a": 1}`, `{"a": 1}`},
		{"application/json", `{"a": 1, "a": 2}`, `{"a": 1, "a": 2}`},
		{"application/json", `{"a": `, `{"a": `},
		{"application/json", strings.Repeat("[", 1000), strings.Repeat("[", 1000)},
		{"text/plain", "\x89PNG", "\ufffdPNG"},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.typ)
			_, _ = io.WriteString(w, c.body)
		})
		if r := run(t, toolAt(t, s.URL, manifest.Free, true)); !protocol.Equal(r.Output, c.want) {
			t.Errorf("%s %.40s: %+v, want %v", c.typ, c.body, r.Output, c.want)
		}
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", maxAnswer+maxDropped/2))
	})
	r := run(t, toolAt(t, s.URL, manifest.Free, true))
	if text, _ := r.Output.(string); r.Meta.Bytes != maxAnswer+maxDropped/2 || !strings.Contains(text, "was dropped") {
		t.Errorf("%+v", r.Meta)
	}
}

// An answer that is no text is a file, and one that is too large is none.
func TestFilesInAnswers(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\xff\xfe\xfd\xfc rest"
	for body, c := range map[string]struct {
		typ, want string
		blobs     int
	}{
		png:                                 {"image/png", "[file image/png, 17 bytes: artifact:sha256-", 1},
		png + " ":                           {"", "[file ", 1},
		"plain":                             {"image/png", "plain", 0},
		"\xff\xfe\xfd\xfc":                  {"text/plain; charset=latin1", "\xff\xfe\xfd\xfc", 0},
		strings.Repeat("x", 1<<20-1) + "ää": {"x/y", "xxx", 0},
		strings.Repeat("\xff", 1<<20+1):     {"x/y", "is a file of more than 1048576 bytes", 0},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.typ != "" {
				w.Header().Set("Content-Type", c.typ)
			}
			_, _ = io.WriteString(w, body)
		})
		x := New()
		r := x.Call(t.Context(), &tools.Call{Tool: toolAt(t, s.URL, manifest.Free, true), Params: map[string]any{"say": "x"}})
		text, _ := r.Output.(string)
		if r.Error != nil {
			text = r.Error.Message
		}
		if !strings.Contains(text, c.want) || len(r.Blobs) != c.blobs || c.blobs > 0 && string(r.Blobs[0].Data) != body {
			t.Errorf("%.20q: %.200q, %d files", body, text, len(r.Blobs))
		}
		closed(t, x)
		s.Close()
	}
}

func closed(t *testing.T, x *Executor) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
