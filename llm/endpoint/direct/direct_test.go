package direct

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// general is a transport as endpoints have it.
func general() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 8 << 10,
	}
}

func at(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func transport(t *testing.T, base string) *Transport {
	t.Helper()
	x := New(at(t, base), general())
	t.Cleanup(x.CloseIdleConnections)
	return x
}

// ask makes a request and reads its answer.
func ask(ctx context.Context, by http.RoundTripper, method, to, body string, header http.Header) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, to, nil)
	if err != nil {
		return 0, "", err
	}
	if method == http.MethodPost {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
	maps.Copy(r.Header, header)
	resp, err := by.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// A server sees the same request as from net/http.
func TestRequests(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintln(w, r.Method, r.URL, r.Host, r.ContentLength, r.TransferEncoding, r.Header, string(body))
	}))
	defer s.Close()
	own, theirs := transport(t, s.URL), general()
	defer theirs.CloseIdleConnections()
	for _, c := range []struct {
		method, path, body string
		header             http.Header
	}{
		{"GET", "/", "", nil},
		{"GET", "", "", nil},
		{"GET", "/v1/models?api-version=2&x=a%20b", "", http.Header{"Authorization": {"Bearer ü"}}},
		{"POST", "/v1/chat%2Fcompletions", `{"a":"ü"}`, http.Header{"Content-Type": {"application/json"}, "X-Two": {"a", "b\tc"}, "X-Empty": {""}}},
		{"POST", "/", strings.Repeat("x", MaxBody), http.Header{"User-Agent": {"other"}}},
		{"POST", "/", strings.Repeat("x", MaxBody+1), nil},
		{"HEAD", "/", "", nil},
	} {
		status, got, err := ask(t.Context(), own, c.method, s.URL+c.path, c.body, c.header)
		_, want, wrong := ask(t.Context(), theirs, c.method, s.URL+c.path, c.body, c.header)
		if err != nil || wrong != nil || status != 200 || got != want {
			t.Errorf("%s %s: status %d, errors %v and %v\n%.300s\n%.300s", c.method, c.path, status, err, wrong, got, want)
		}
	}
	for name, header := range map[string]http.Header{
		"a line in a value": {"X-A": {"b\r\nX-C: d"}}, "a line in a name": {"X-A\r\nX-B": {"c"}}, "no name": {"": {"a"}}, "a colon": {"X:": {"a"}}, "a zero": {"X-A": {"\x00"}},
	} {
		if _, got, err := ask(t.Context(), own, "GET", s.URL, "", header); err == nil {
			t.Errorf("%s was sent: %s", name, got)
		}
	}
	r, _ := http.NewRequest(http.MethodPost, s.URL, nil)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader("abc")), 2
	if resp, err := own.RoundTrip(r); err == nil {
		resp.Body.Close()
		t.Error("a body that is longer than announced was sent")
	}
}

// script is a server that says what it is told, request by request; "" = it closes the
// connection. It counts connections and requests.
type script struct {
	net.Listener
	says         []string
	conns, asked atomic.Int64
}

func scripted(t *testing.T, says ...string) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{Listener: l, says: says}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go s.serve(c)
		}
	}()
	return s
}

func (s *script) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		n := int(s.asked.Add(1)) - 1
		say := s.says[min(n, len(s.says)-1)]
		closes := strings.HasSuffix(say, "\x00")
		_, _ = io.WriteString(c, strings.TrimSuffix(say, "\x00"))
		if closes {
			return
		}
	}
}

func (s *script) url() string { return "http://" + s.Addr().String() }

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// Promises 2 and 3, and how an answer may end: each case asks twice, and nothing is sent twice.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		first  string // \x00 at the end: the server closes
		status int
		body   string
		fails  string // of the first request
		conns  int64  // after the second
	}{
		"with a length":      {fine, 200, "ok", "", 1},
		"in chunks":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", 200, "ok", "", 1},
		"in chunks, cut":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n\x00", 200, "o", "unexpected EOF", 2},
		"nothing":            {"HTTP/1.1 204 No Content\r\n\r\n", 204, "", "", 1},
		"empty":              {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", "", 1},
		"to the end":         {"HTTP/1.1 200 OK\r\n\r\nok\x00", 200, "ok", "", 2},
		"old, to the end":    {"HTTP/1.0 200 OK\r\n\r\nok\x00", 200, "ok", "", 2},
		"and closes":         {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok\x00", 200, "ok", "", 2},
		"closes, and lies":   {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\x00", 200, "ok", "", 2},
		"more than it says":  {fine + "HTTP/1.1 500 No\r\n", 200, "ok", "", 2},
		"interim":            {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + fine, 200, "ok", "", 1},
		"interim for ever":   {strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 6), 0, "", "interim answers", 2},
		"switched":           {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 0, "", "status 101 Switching Protocols", 2},
		"cut":                {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\x00", 200, "ok", "unexpected EOF", 2},
		"cut in the header":  {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\x00", 0, "", "closed the connection", 2},
		"none":               {"\x00", 0, "", "closed the connection", 2},
		"HTTP/2":             {"\x00\x00\x12\x04\x00\x00\x00\x00\x00", 0, "", "speaks HTTP/2 alone", 2},
		"TLS":                {"\x15\x03\x01\x00\x02\x02\x46", 0, "", "speaks TLS; base_url has to begin with https", 2},
		"no HTTP":            {"SSH-2.0\r\n\r\n", 0, "", "its answer begins with \"SSH-\"", 2},
		"a header too large": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", 0, "", "too large", 2},
		"refused":            {"HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\nx", 503, "x", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, c.first, fine)
			by := transport(t, s.url())
			status, body, err := ask(t.Context(), by, "POST", s.url(), "{}", nil)
			if status != c.status || body != c.body || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("status %d, body %q, error %v", status, body, err)
			}
			if strings.HasSuffix(c.first, "\x00") { // so that the end has come
				for s := time.Now(); by.unused() == 1 && time.Since(s) < 5*time.Minute; {
					if c := by.take(); !c.alive() {
						_ = c.Close()
					} else {
						by.keep(c)
					}
				}
			}
			if status, body, err = ask(t.Context(), by, "POST", s.url(), "{}", nil); status != 200 || body != "ok" || err != nil {
				t.Errorf("the second: status %d, body %q, error %v", status, body, err)
			}
			if got := s.conns.Load(); got != c.conns || s.asked.Load() != 2 {
				t.Errorf("%d connections, want %d; %d requests, want 2", got, c.conns, s.asked.Load())
			}
		})
	}
}

func (t *Transport) unused() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.idle)
}

// Promise 2: an answer that was not read to its end takes the connection along, unless little of it
// is left, and that is there.
func TestUnread(t *testing.T) {
	stream := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n[DONE]\n\n\r\n"
	for name, c := range map[string]struct {
		says string
		kept int
	}{
		"little":         {fine, 1},
		"a stream's end": {stream + "0\r\n\r\n", 1},
		"a stream":       {stream, 0},
		"closes":         {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 0},
		"much":           {fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", maxLeft+2, strings.Repeat("x", maxLeft+2)), 0},
	} {
		s := scripted(t, c.says)
		by := transport(t, s.url())
		r, _ := http.NewRequest(http.MethodGet, s.url(), nil)
		resp, err := by.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%s: a closed body gave %d bytes, error %v", name, n, err)
		}
		if by.unused() != c.kept {
			t.Errorf("%s: %d connections are kept, want %d", name, by.unused(), c.kept)
		}
	}
}

// Promise 2: who has been closed while it was unused carries no request.
func TestClosedByServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer s.Close()
	by := transport(t, s.URL)
	for i := range 5 {
		if _, body, err := ask(t.Context(), by, "POST", s.URL, "{}", nil); body != "ok" || err != nil {
			t.Fatalf("request %d: %q, %v", i, body, err)
		}
		if by.unused() != 1 {
			t.Fatalf("%d connections are kept", by.unused())
		}
		s.CloseClientConnections()
	}
}

// Promise 1: while it connects, waits, and is read.
func TestContextEnds(t *testing.T) {
	var arrived, left atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		if r.URL.Path == "/part" {
			_, _ = io.WriteString(w, "part")
			w.(http.Flusher).Flush()
		}
		arrived.Add(1)
		<-r.Context().Done()
		left.Add(1)
	}))
	defer s.Close()
	by := transport(t, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ask(ctx, by, "POST", s.URL, "{}", nil); !errors.Is(err, context.Canceled) || arrived.Load() > 0 {
		t.Errorf("before: %v", err)
	}
	for _, path := range []string{"/wait", "/part"} {
		ctx, cancel := context.WithCancel(t.Context())
		was := arrived.Load()
		go func() {
			for arrived.Load() == was {
				runtime.Gosched()
			}
			cancel()
		}()
		if _, got, err := ask(ctx, by, "POST", s.URL+path, "{}", nil); err == nil {
			t.Errorf("%s gave %q", path, got)
		}
	}
	for begun := time.Now(); left.Load() < 2 && time.Since(begun) < 5*time.Minute; {
		runtime.Gosched()
	}
	if left.Load() != 2 || by.unused() != 0 {
		t.Errorf("the server saw %d leave, want 2; %d connections are kept", left.Load(), by.unused())
	}
	stuck := general()
	stuck.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := ask(ctx, New(at(t, s.URL), stuck), "POST", s.URL, "{}", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it connects: %v", err)
	}
}

// Many at once, some of whom leave: everybody gets the own answer.
func TestCrowd(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer s.Close()
	by := transport(t, s.URL)
	seed := uint64(time.Now().UnixNano())
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range 16 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for k := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if rng.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rng.IntN(500))*time.Microsecond, cancel)
				}
				body := fmt.Sprintf("%d/%d %s", i, k, strings.Repeat("x", rng.IntN(3000)))
				_, got, err := ask(ctx, by, "POST", s.URL, body, nil)
				if err == nil && got != body || err != nil && ctx.Err() == nil {
					t.Errorf("seed %d: %.20q got %.20q, error %v", seed, body, got, err)
				} else if err == nil {
					answered.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if answered.Load() < 100 || by.unused() > 4 {
		t.Errorf("%d answers; %d connections are kept, want at most 4", answered.Load(), by.unused())
	}
}

// Promise 4, and what this transport leaves to the one behind.
func TestKept(t *testing.T) {
	s := scripted(t, fine)
	g := general()
	g.IdleConnTimeout = time.Millisecond
	by := New(at(t, s.url()), g)
	if _, _, err := ask(t.Context(), by, "GET", s.url(), "", nil); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); by.unused() > 0 && time.Since(begun) < 5*time.Minute; {
		runtime.Gosched()
	}
	if by.unused() > 0 {
		t.Error("a connection that nobody uses is kept")
	}
	by = transport(t, s.url())
	if _, _, err := ask(t.Context(), by, "GET", s.url(), "", nil); err != nil || by.unused() != 1 {
		t.Fatalf("%v; %d connections are kept", err, by.unused())
	}
	by.CloseIdleConnections()
	if by.unused() != 0 {
		t.Error("connections are kept after the end")
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "secure") }))
	defer secure.Close()
	g = general()
	g.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	defer g.CloseIdleConnections()
	if _, got, err := ask(t.Context(), New(at(t, secure.URL), g), "GET", secure.URL, "", nil); got != "secure" || err != nil {
		t.Errorf("TLS: %q, %v", got, err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "proxy for "+r.URL.String()) }))
	defer proxy.Close()
	g = general()
	g.Proxy = http.ProxyURL(at(t, proxy.URL))
	defer g.CloseIdleConnections()
	if _, got, err := ask(t.Context(), New(at(t, "http://far"), g), "GET", "http://far/x", "", nil); got != "proxy for http://far/x" || err != nil {
		t.Errorf("a proxy: %q, %v", got, err)
	}
	for base, want := range map[string]string{"http://a": "a:80", "http://a:8/v1": "a:8", "http://[::1]:8/v1": "[::1]:8", "https://a": "", "http://ü": "", "http://": ""} {
		if got := New(at(t, base), general()).addr; got != want {
			t.Errorf("%s is reached at %q, want %q", base, got, want)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	}))
	defer s.Close()
	body := bytes.Repeat([]byte("x"), 2<<10)
	g := general()
	u, _ := url.Parse(s.URL)
	for name, by := range map[string]http.RoundTripper{"direct": New(u, g), "net/http": g} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := ask(b.Context(), by, "POST", s.URL, string(body), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Promise 2. Some servers (llama.cpp) close a connection after each stream, and do not say so. A request that
// follows at once does not meet that.
func TestClosedAfterAStream(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n\r\n2\r\nok\r\n0\r\n\r\n")
		<-time.After(2 * time.Millisecond) // it goes on to something else first
	}))
	defer s.Close()
	x := transport(t, s.URL)
	for i := range 20 {
		if _, answer, err := ask(t.Context(), x, "POST", s.URL, "{}", nil); err != nil || answer != "ok" {
			t.Fatalf("request %d: %q, %v", i, answer, err)
		}
	}
}

// Promise 2. A connection is not used again when the server is about to close it.
func TestKeptForAsLongAsTheServerSays(t *testing.T) {
	for says, want := range map[string]int64{"timeout=1": 5, "max=3, timeout=1": 5, "timeout=60, max=100": 1, "": 1, "timeout=0": 1, "timeout=x": 1} {
		var made atomic.Int64
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if says != "" {
				w.Header().Set("Keep-Alive", says)
			}
			_, _ = io.WriteString(w, "ok")
		}))
		s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
			if st == http.StateNew {
				made.Add(1)
			}
		}
		s.Start()
		x := transport(t, s.URL)
		for range 5 {
			if _, answer, err := ask(t.Context(), x, "POST", s.URL, "{}", nil); err != nil || answer != "ok" {
				t.Fatalf("%q: %q, %v", says, answer, err)
			}
		}
		if made.Load() != want {
			t.Errorf("Keep-Alive: %q: %d connections for 5 requests, want %d", says, made.Load(), want)
		}
		s.Close()
	}
}

// A request that net/http carries has no goroutine more for its trace: its context calls functions at its end, as that of the asker does.
func TestTheTraceHidesNoEnd(t *testing.T) {
	for name, parent := range map[string]context.Context{"ender": endless{t.Context()}, "other": t.Context()} {
		general := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) {
			if _, got := r.Context().(ender); got != (name == "ender") {
				t.Errorf("%s: AfterFunc is there: %t", name, got)
			}
			return nil, errors.New("no way")
		}}
		_, _, err := ask(parent, New(at(t, "https://far"), general), "GET", "https://far/x", "", nil)
		if connected := (*Unconnected)(nil); !errors.As(err, &connected) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type endless struct{ context.Context }

func (endless) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }
