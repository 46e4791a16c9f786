package mcp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/tools/manifest"
)

// answering is a server in the place of a connection.
type answering func(q *http.Request, times int64) *http.Response

// counted is a RoundTripper that counts.
type counted struct {
	answering
	times atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(q *http.Request) (*http.Response, error) {
	return c.answering(q, c.times.Add(1)), nil
}

// streamOf is a stream with these events, which ends after a time.
func streamOf(q *http.Request, lasts time.Duration, lines string) *http.Response {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, lines)
		select {
		case <-time.After(lasts):
		case <-q.Context().Done():
		}
		_ = w.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {events}}, Body: r, Request: q}
}

// listensFor reads the stream of a server for a time, and counts how often it was opened. late says that the tools may have
// become others before it was opened.
func listensFor(t *testing.T, method string, lasts time.Duration, server answering) (times int64, late bool) {
	synctest.Test(t, func(t *testing.T) {
		below := &counted{answering: server}
		w := &web{of: &manifest.Server{ID: "s"}, below: below}
		ctx, stop := context.WithCancel(t.Context())
		q, err := http.NewRequestWithContext(ctx, method, "http://s", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		a := listen(w, q) //nolint:bodyclose // below
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, a.Body)
		}()
		<-time.After(lasts)
		late = w.changed()
		times = below.times.Load()
		stop()
		<-read
		_ = a.Body.Close()
	})
	return times, late
}

// Promise 8: a stream that says nothing, and ends soon, is opened again after 1, 2, 4 ... s, at most a minute.
func TestPausesOfStreams(t *testing.T) {
	ack, own := "data: "+acknowledged+"\n\n", "data: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/x\"}\n\n"
	for name, c := range map[string]struct {
		method     string
		open, over time.Duration
		says       string
		from, to   int64 // times
	}{
		"acknowledged":           {http.MethodPost, 0, 64 * time.Second, ack, 7, 7},
		"acknowledged, for long": {http.MethodPost, 0, time.Hour, ack, 64, 66},
		"refused":                {http.MethodPost, 0, 64 * time.Second, `data: {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}` + "\n\n", 7, 7},
		"with a short pause":     {http.MethodPost, 0, time.Second + 24*time.Millisecond, "retry: 1\n" + ack, 11, 11},
		"the stream is a beat":   {http.MethodGet, 0, 64 * time.Second, ": here\n\nid: 1\ndata:\n\n", 7, 7},
		"nothing":                {http.MethodGet, 0, 64 * time.Second, "", 7, 7},
		"a message":              {http.MethodPost, 0, 64500 * time.Millisecond, ack + own, 65, 65},
		"a message on a stream":  {http.MethodGet, 0, 64500 * time.Millisecond, own, 65, 65},
		"it lasts":               {http.MethodPost, 5 * time.Second, 10 * time.Minute, ack, 100, 101},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := listensFor(t, c.method, c.over, func(q *http.Request, _ int64) *http.Response { return streamOf(q, c.open, c.says) })
			if n < c.from || n > c.to {
				t.Errorf("it was opened %d times", n)
			}
		})
	}
}

// Promise 8: tools are looked at again only if a server may have said something that nobody heard.
func TestStreamsThatOpenLate(t *testing.T) {
	for _, wait := range []time.Duration{0, maxOpening - 1, maxOpening + 1} {
		_, late := listensFor(t, http.MethodPost, time.Minute, func(q *http.Request, _ int64) *http.Response {
			<-time.After(wait)
			return streamOf(q, time.Hour, "data: "+acknowledged+"\n\n")
		})
		if late != (wait > maxOpening) {
			t.Errorf("%s: %t", wait, late)
		}
	}
}
