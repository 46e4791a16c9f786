package mock

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A connection whose answers took longer than any bound of the server is still good
// for the next one: every bound is of a part, not of the connection.
func TestAConnectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		latency, err := ParseLatency("fixed=5m,per_token=2m")
		if err != nil {
			t.Fatal(err)
		}
		h, l, dials := serve(t, Options{Latency: latency}).HTTP(), make(pipes, 1), 0
		served := make(chan error)
		go func() { served <- h.Serve(l) }()
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			ours, theirs := net.Pipe()
			l <- theirs
			return ours, nil
		}}}
		for i := range 6 {
			body := chatBody("x")
			if i%2 == 0 {
				body = strings.Replace(body, "{", `{"stream":true,`, 1)
			}
			resp, err := client.Post("http://mock/v1/chat/completions", "", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !strings.Contains(string(text), `"finish_reason":"stop"`) {
				t.Errorf("answer %d: %v %s", i, err, text)
			}
			time.Sleep(90 * time.Second) //nolint:forbidigo // the time of a bubble
		}
		if dials != 1 {
			t.Errorf("%d connections", dials)
		}
		client.CloseIdleConnections()
		close(l)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
