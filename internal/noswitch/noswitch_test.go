package noswitch

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

// A 101 is an error at once, and its connection is closed. Another answer stays as it is.
func TestRoundTrip(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed := make(chan error)
	go func() {
		for _, says := range []string{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"} {
			c, err := l.Accept()
			if err != nil {
				closed <- err
				return
			}
			in := bufio.NewReader(c)
			_, err = http.ReadRequest(in)
			_, _ = io.WriteString(c, says)
			if err == nil {
				_, err = in.ReadByte()
			}
			_ = c.Close()
			closed <- err
		}
	}()
	by := &http.Client{Transport: Transport{&http.Transport{DisableKeepAlives: true}}}
	_, err = by.Get("http://" + l.Addr().String()) //nolint:bodyclose // there is none
	if _, ok := errors.AsType[*Switched](err); !ok {
		t.Errorf("error %v", err)
	}
	if err := <-closed; !errors.Is(err, io.EOF) {
		t.Errorf("the server reads %v", err)
	}
	a, err := by.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	a.Body.Close()
	if string(body) != "ok" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	if err := <-closed; !errors.Is(err, io.EOF) {
		t.Errorf("the server reads %v", err)
	}
}
