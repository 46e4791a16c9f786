package direct

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is read as a plain answer, net/http reads as the same. What is none is left to it.
func TestPlain(t *testing.T) {
	for text, plainly := range map[string]bool{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP":                                                                                 true,
		"HTTP/1.1 200 OK\r\ncontent-length:2\r\nx-a: \tb c \t\r\nX-Empty:\r\nconnection: Keep-Alive\r\nx-\u00fc: 1\r\n\r\nok":                false,
		"HTTP/1.1 200 OK\r\ncontent-length:2\r\nx-a: \tb \u00fc \t\r\nX-Empty:\r\nconnection: Keep-Alive\r\nKeep-Alive: timeout=5\r\n\r\nok": true,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok":                                                                                     true,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok":                                                                false,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                                                false,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok":                                                                false,
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":                                                                                       false,
		"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok":                                                                                    false,
		"HTTP/1.1 200 OK\r\nX-A\r\nContent-Length: 2\r\n\r\nok":                                                                              false,
		"HTTP/1.1 200 OK\r\n\r\nok":                                                                                                          false,
		"HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok":                                                                     false,
		"HTTP/1.1 200 OK\r\nX-A: b\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nok":                                                        false,
		"HTTP/1.1 200 OK\r\nX-A: b\n\nContent-Length: 2\r\n\r\nok":                                                                           false,
		"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok":                                                                                       false,
		"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok":                                                                                    false,
		"HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nok":                                                                               false,
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\nok":                                                                      false,
		"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok":                                                                                     false,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n":                                                                                           false,
	} {
		if got := samePlain(t, text); got != plainly {
			t.Errorf("%q is plain: %t", text, got)
		}
	}
	part := rapid.SampledFrom([]string{"\r\n", "\n", ":", ": ", " ", "\t", "HTTP/1.1 200 OK\r\n", "Content-Length", "content-length: ", "2", "10", "X-A", "Connection: ", "keep-alive", "close", "Pragma: no-cache", "\x00", "\u00fc", "\r\n\r\n"})
	rapid.Check(t, func(r *rapid.T) {
		head := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(r, "parts"), "")
		samePlain(r, "HTTP/1.1 200 OK\r\n"+head+"\r\nContent-Length: 4\r\n\r\nbody and more")
	})
}

// samePlain reports whether an answer is read as a plain one. If it is not, nothing of it has been read.
func samePlain(t rapid.TB, text string) bool {
	asked := &http.Request{Method: http.MethodPost}
	reader := func() *bufio.Reader {
		in := bufio.NewReader(strings.NewReader(text))
		_, _ = in.Peek(1)
		return in
	}
	var p plain
	in, theirs := reader(), reader()
	if !p.read(in, asked) {
		if rest, _ := io.ReadAll(in); string(rest) != text {
			t.Fatalf("of %q the rest is %q", text, rest)
		}
		return false
	}
	want, err := http.ReadResponse(theirs, asked)
	if err != nil {
		t.Fatalf("%q is read, and net/http says %v", text, err)
	}
	defer want.Body.Close()
	body, failed := io.ReadAll(&p)
	wanted, err := io.ReadAll(want.Body)
	want.Body, p.Body = nil, nil
	if !reflect.DeepEqual(&p.Response, want) || string(body) != string(wanted) || !errors.Is(failed, err) {
		t.Fatalf("%q is %+v with %q, %v; net/http reads %+v with %q, %v", text, p.Response, body, failed, want, wanted, err)
	}
	return true
}
