package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Promise 3: a client that reads no answer before it has sent all is told, too, that its body is too large.
func TestLargeBodies(t *testing.T) {
	s := New(offer(nil))
	defer s.Close()
	server := httptest.NewServer(s.Handler(""))
	defer server.Close()
	const size = 15 << 20 // more than the system keeps of what nobody reads
	body := strings.Repeat("x", size)
	for name, sent := range map[string]string{
		"with its length":    fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, body),
		"without its length": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, body),
		"which has to wait":  fmt.Sprintf("Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", size),
		"far too large":      fmt.Sprintf("Content-Length: %d\r\n\r\n", 1<<40),
	} {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+sent); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if r.Body.Close(); r.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %s", name, r.Status)
		}
		c.Close()
	}
}
