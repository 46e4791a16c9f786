package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tavernsim/tools/child"
	"tavernsim/tools/mcp/sound"
)

// lastEvent is the header by which a stream is gone on with.
const lastEvent = "Last-Event-ID"

// Times of the stream of what a server says by itself.
const (
	maxOpening = 500 * time.Millisecond // a server that says nothing yet may not even answer
	minPause   = time.Second            // before the stream is opened again, doubled each time up to maxPause
	maxPause   = time.Minute
	maxRefused = 5 // times in a row that the server could not be asked for it
)

// listening is the stream on which a server over HTTP says what belongs to no call: questions
// to persons, and that its tools are others. It is asked for by GET, or without sessions by a subscription (POST). It lasts as long as the session: when it breaks
// off it is opened again, and a server that has none only ends it with the session, while the
// library would end the session with it. It hands on whole events, within the bounds for what
// nobody asked for. Only who reads it uses it, after listen.
type listening struct {
	of      *web
	q       *http.Request
	stop    context.CancelFunc
	unasked child.Unasked

	first   <-chan *http.Response // of the first opening; nil = it is over
	from    *bufio.Reader         // nil = it is to be opened
	body    io.Closer
	refused int           // times in a row
	missed  bool          // something may have been said while it was not open
	least   time.Duration // of the pauses: what the server wants, or minPause
	pause   time.Duration // that comes next; least again after a stream that lasted longer, or said more than an acknowledgement
	since   time.Time     // when it was opened
	lastID  string
	pending []byte // of the event that is read
}

// listen opens the stream, and does not wait long for the server.
func listen(w *web, q *http.Request) *http.Response {
	ctx, stop := context.WithCancel(q.Context())
	l := &listening{of: w, q: q.Clone(ctx), stop: stop, unasked: child.NewUnasked(), least: minPause, pause: minPause}
	first, opened := make(chan *http.Response, 1), make(chan struct{})
	go func() {
		defer close(opened)
		first <- l.open() //nolint:bodyclose // Close and leave do
	}()
	l.first = first
	late := time.NewTimer(maxOpening)
	defer late.Stop()
	select {
	case <-opened:
	case <-late.C:
		l.missed = true
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {events}}, Body: l, ContentLength: -1, Request: q}
}

// open asks the server for the stream; nil = it could not be reached.
func (l *listening) open() *http.Response {
	q := l.q.Clone(l.q.Context())
	switch {
	case q.GetBody != nil:
		var err error
		if q.Body, err = q.GetBody(); err != nil {
			return nil
		}
	case l.lastID != "":
		q.Header.Set(lastEvent, l.lastID)
	}
	a, err := l.of.below.RoundTrip(q)
	if err != nil {
		return nil
	}
	return a
}

// Close implements io.Closer.
func (l *listening) Close() error {
	l.stop()
	if l.first != nil {
		if a := <-l.first; a != nil {
			a.Body.Close()
		}
		l.first = nil
	}
	l.leave()
	return nil
}

// leave closes what is open.
func (l *listening) leave() {
	if l.from != nil {
		if time.Since(l.since) > l.pause {
			l.pause = l.least
		}
		l.body.Close()
		l.from = nil
	}
}

// Read implements io.Reader.
func (l *listening) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		if err := l.begin(); err != nil {
			return 0, err
		}
		if err := l.next(); err != nil {
			return 0, l.of.breaks(err)
		}
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

// begin returns when the stream is open, or the session at its end.
func (l *listening) begin() error {
	for l.from == nil {
		var a *http.Response
		if l.first != nil {
			a, l.first = <-l.first, nil
		} else {
			l.missed = true
			if l.refused >= maxRefused {
				<-l.q.Context().Done()
			}
			if err := l.wait(); err != nil {
				return err
			}
			a = l.open()
		}
		if err := l.q.Context().Err(); err != nil {
			if a != nil {
				a.Body.Close()
			}
			return err
		}
		l.refused++
		if a == nil {
			continue
		}
		if kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); a.StatusCode != http.StatusOK || kind != events {
			a.Body.Close()
			if a.StatusCode < http.StatusInternalServerError {
				l.refused = maxRefused // it has none
			}
			continue
		}
		if l.refused = 0; l.missed {
			l.of.other.Store(true)
		}
		l.since = time.Now()
		l.from, l.body = bufio.NewReaderSize(a.Body, 4<<10), a.Body
	}
	return nil
}

// wait passes the time until the stream is opened again.
func (l *listening) wait() error {
	t := time.NewTimer(l.pause)
	defer t.Stop()
	l.pause = min(2*l.pause, maxPause)
	select {
	case <-t.C:
		return nil
	case <-l.q.Context().Done():
		return l.q.Context().Err()
	}
}

// next reads an event. One that breaks off is dropped with the stream; an error is one of the
// server's ways.
func (l *listening) next() error {
	event, err := rawEvent(l.from)
	if errors.Is(err, errTooLarge) {
		return err
	}
	if err != nil {
		l.leave()
		return nil
	}
	l.heed(event)
	method := ""
	if l.pending, method, err = l.of.heardEvent(event); err != nil {
		return err
	}
	switch {
	case method == sound.NoMethod && l.q.Method == http.MethodPost: // the server ends the subscription; for the library it goes on
		l.pending = nil
		l.leave()
	case method != "" && method != acknowledges:
		l.pause = l.least
	}
	return l.unasked.More(len(event))
}

// heed looks at the fields of an event.
func (l *listening) heed(event []byte) {
	for line := range strings.Lines(string(event)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "id":
			l.lastID = value
		case "retry":
			ms, err := strconv.Atoi(value)
			if wants := time.Duration(min(ms, int(maxPause/time.Millisecond))) * time.Millisecond; err == nil && ms > 0 && wants != l.least {
				l.least, l.pause = wants, wants
			}
		}
	}
}
