package direct

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// An answer whose header came before is read as it was the first time, and as net/http reads it.
func TestTheSameHeader(t *testing.T) {
	const typed = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-one: a\r\nX-One: b\r\n"
	for name, c := range map[string]struct {
		says       string // \x00 at the end: the server closes
		method     string
		remembered int
	}{
		"with a length":           {typed + "Content-Length: 2\r\n\r\nok", "POST", 1},
		"to another method":       {typed + "Content-Length: 2\r\n\r\nok", "GET", 1},
		"without a body":          {typed + "Content-Length: 2\r\n\r\n", "HEAD", 1},
		"cut":                     {typed + "Content-Length: 3\r\n\r\nok\x00", "POST", 1},
		"none of it":              {typed + "Content-Length: 3\r\n\r\n\x00", "POST", 1},
		"longer than a buffer":    {typed + "Content-Length: 9000\r\n\r\n" + strings.Repeat("x", 9000), "POST", 1},
		"the end of the header":   {"HTTP/1.1 200 OK\nContent-Length: 8\n\nok\r\n\r\nok", "POST", 0},
		"in chunks":               {typed + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "POST", 0},
		"a length without need":   {typed + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "POST", 0},
		"to the end":              {typed + "\r\nok\x00", "POST", 0},
		"and closes":              {typed + "Connection: close\r\nContent-Length: 2\r\n\r\nok\x00", "POST", 0},
		"refused":                 {"HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\nx", "POST", 0},
		"empty":                   {typed + "Content-Length: 0\r\n\r\n", "POST", 0},
		"behind an interim":       {"HTTP/1.1 103 Early Hints\r\n\r\n" + typed + "Content-Length: 2\r\n\r\nok", "POST", 1},
		"a header for the buffer": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 5000) + "\r\nContent-Length: 2\r\n\r\nok", "POST", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, c.says)
			own, theirs := transport(t, s.url()), general()
			defer theirs.CloseIdleConnections()
			want := said(t, theirs, c.method, s.url())
			for i := range 3 {
				if got := said(t, own, c.method, s.url()); got != want {
					t.Errorf("time %d: %s; want %s", i+1, got, want)
				}
			}
			if n := len(own.heads.known); n != c.remembered {
				t.Errorf("%d headers are remembered, want %d", n, c.remembered)
			}
		})
	}
}

// said is an answer as a text.
func said(t *testing.T, by http.RoundTripper, method, to string) string {
	t.Helper()
	r, err := http.NewRequest(method, to, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := by.RoundTrip(r)
	if err != nil {
		return "failed"
	}
	defer resp.Body.Close()
	var body strings.Builder
	for b := make([]byte, 300); err == nil; {
		var n int
		n, err = resp.Body.Read(b)
		body.Write(b[:n])
	}
	text := fmt.Sprint(resp.Status, resp.Proto, resp.ContentLength, resp.TransferEncoding, resp.Close, resp.Request == r, err, body.String())
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		text += fmt.Sprint(name, resp.Header[name])
	}
	return text
}

// A server that never says the same twice is remembered no further than a bound.
func TestOtherHeaders(t *testing.T) {
	var says []string
	for i := range 2 * mostHeads {
		says = append(says, fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Id: %d\r\nContent-Length: 2\r\n\r\nok", i))
	}
	s := scripted(t, says...)
	by := transport(t, s.url())
	for range says {
		if status, body, err := ask(t.Context(), by, "POST", s.url(), "{}", nil); status != 200 || body != "ok" || err != nil {
			t.Fatal(status, body, err)
		}
	}
	if n := len(by.heads.known); n == 0 || n > mostHeads {
		t.Errorf("%d headers are remembered, want at most %d", n, mostHeads)
	}
}
