package endpoint

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/llm/endpoint/direct"
)

// forgetful serves a listener: it reads each request to its end, answers the first ones and closes the connection in place
// of another answer. has counts the requests.
func forgetful(t *testing.T, l net.Listener, answers int64) (has *atomic.Int64) {
	t.Helper()
	has = new(atomic.Int64)
	serves(t, l, func(c net.Conn) {
		defer c.Close()
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil || has.Add(1) > answers {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	return has
}

// A request that the server has read is not unsent, and its failure has no advice about the address, however the connection
// ends: the server may have done the work, and charge for it.
func TestReadAndNotAnswered(t *testing.T) {
	dir := t.TempDir()
	good := certificate(t, time.Now().Add(time.Hour), "localhost")
	_ = secure(t, &tls.Config{Certificates: []tls.Certificate{good}}, filepath.Join(dir, "good.pem")) // it writes the file
	for name, c := range map[string]struct {
		tls     uint16 // the version; 0 = plain
		answers int64  // before the one that does not come
		body    int
	}{
		"plain":              {0, 0, 2},
		"plain, used":        {0, 1, 2},
		"plain, large":       {0, 0, direct.MaxBody + 1},
		"plain, large, used": {0, 1, direct.MaxBody + 1},
		"TLS 1.2":            {tls.VersionTLS12, 0, 2},
		"TLS 1.2, used":      {tls.VersionTLS12, 1, 2},
		"TLS 1.3":            {tls.VersionTLS13, 0, 2},
		"TLS 1.3, used":      {tls.VersionTLS13, 1, 2},
		"TLS 1.3, large":     {tls.VersionTLS13, 0, direct.MaxBody + 1},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		if c.tls != 0 {
			url = "https://" + l.Addr().String()
			l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{good}, MaxVersion: c.tls})
		}
		has := forgetful(t, l, c.answers)
		failsUnanswered(t, name, url, dir, c.answers, c.body)
		if n := has.Load(); n != c.answers+1 {
			t.Errorf("%s: the server has %d requests, want %d", name, n, c.answers+1)
		}
	}
	var has atomic.Int64
	two := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.ProtoMajor == 2 {
			has.Add(1)
		}
		panic(http.ErrAbortHandler)
	}))
	two.Config.ErrorLog = log.New(io.Discard, "", 0)
	two.EnableHTTP2, two.TLS = true, &tls.Config{Certificates: []tls.Certificate{good}}
	two.StartTLS()
	t.Cleanup(two.Close)
	failsUnanswered(t, "HTTP/2", two.URL, dir, 0, 2)
	if has.Load() != 1 {
		t.Errorf("HTTP/2: the server has %d requests, want 1", has.Load())
	}
}

// failsUnanswered makes requests one after the other, of which the last has no answer. dir has the certificate.
func failsUnanswered(t *testing.T, name, url, dir string, answers int64, body int) {
	t.Helper()
	e, err := New("cloud", Definition{BaseURL: strings.Replace(url, "127.0.0.1", "localhost", 1), CAFile: "good.pem"}, dir, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ask := Ask{Path: "/v1/x", Body: []byte(strings.Repeat("x", body))}
	for range answers {
		reply, err := e.Do(t.Context(), ask)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if _, err := reply.ReadAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		reply.Close()
	}
	reply, err := e.Do(t.Context(), ask)
	if err == nil {
		reply.Close()
		t.Errorf("%s: there is an answer", name)
		return
	}
	if f := outcome(t, err); f.Unsent || strings.Contains(err.Error(), "base_url") {
		t.Errorf("%s: unsent is %v: %v", name, f.Unsent, err)
	}
}

// A request over TLS whose proxy refuses the way, or is not there, is unsent, and the error has no advice about the address.
func TestUnsentBehindAProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	e, err := New("cloud", Definition{BaseURL: "https://cloud.example"}, "", nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	by, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	e.transport.Proxy = http.ProxyURL(by)
	for _, name := range []string{"refuses", "is not there"} {
		reply, err := e.Do(t.Context(), Ask{Path: "/v1/x", Body: []byte("{}")})
		if err == nil {
			reply.Close()
		}
		if f := outcome(t, err); !f.Unsent || strings.Contains(err.Error(), "base_url") {
			t.Errorf("%s: unsent is %v: %v", name, f.Unsent, err)
		}
		proxy.Close()
	}
}
