package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"tavernsim/tools/toolstest"
)

const beginning = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`

// sent is a request of the form with sessions.
func sent(t *testing.T, method, session string, body io.Reader) *http.Request {
	q := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", body)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		q.Header.Set(sessionHeader, session)
		q.Header.Set(versionHeader, "2025-11-25")
	}
	return q
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("the body was read")
}

// Promise 2: what the header decides is answered before the body is read.
func TestBodiesOfWhatIsRefused(t *testing.T) {
	s := New(offer(nil))
	defer s.Close()
	h := s.Handler("")
	begun := httptest.NewRecorder()
	h.ServeHTTP(begun, sent(t, http.MethodPost, "", strings.NewReader(beginning)))
	known := begun.Header().Get(sessionHeader)
	for _, c := range []struct {
		method, session, version string
		code                     int
	}{
		{http.MethodPost, "none", "", 404}, {http.MethodGet, "none", "", 404}, {http.MethodDelete, "none", "", 404},
		{http.MethodGet, known, "", 400}, {http.MethodDelete, known, "", 400}, {http.MethodGet, "", "", 400}, {http.MethodPut, "", "", 400},
		{http.MethodGet, "", statelessFrom, 400}, {http.MethodDelete, "none", statelessFrom, 400},
	} {
		q, w := sent(t, c.method, c.session, unread{t}), httptest.NewRecorder()
		if c.version != "" {
			q.Header.Set(versionHeader, c.version)
		}
		if h.ServeHTTP(w, q); w.Code != c.code {
			t.Errorf("%s, session %q, version %q: %d %s; want %d", c.method, c.session, c.version, w.Code, w.Body, c.code)
		}
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, sent(t, http.MethodPost, known, strings.NewReader(`{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`))); w.Code != http.StatusOK {
		t.Errorf("the session has ended: %d %s", w.Code, w.Body)
	}
}

// Promise 2: only what begins a session ends another one for it.
func TestRequestsWithoutSessions(t *testing.T) {
	s := New(offer(nil))
	defer s.Close()
	h := s.Handler("")
	open := func() (ids []string) {
		for x := range s.sdk.Sessions() {
			if x.ID() != "" {
				ids = append(ids, x.ID())
			}
		}
		return ids
	}
	for range MaxClients {
		h.ServeHTTP(httptest.NewRecorder(), sent(t, http.MethodPost, "", strings.NewReader(beginning)))
	}
	if n := len(open()); n != MaxClients {
		t.Fatalf("%d sessions", n)
	}
	before := map[string]bool{}
	for _, id := range open() {
		before[id] = true
	}
	for _, q := range []*http.Request{
		sent(t, http.MethodPost, "", strings.NewReader(`{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`)),
		sent(t, http.MethodPost, "", strings.NewReader("{")),
		sent(t, http.MethodPost, "", strings.NewReader("["+beginning+"]")),
		sent(t, http.MethodGet, "", http.NoBody),
		asked(t.Context(), "http://127.0.0.1/", "tools/list", "", ""),
	} {
		h.ServeHTTP(httptest.NewRecorder(), q)
	}
	for _, id := range open() {
		delete(before, id)
	}
	if len(before) > 0 {
		t.Errorf("%d sessions were ended for requests that begin none", len(before))
	}
}

// Promise 2: what requests hold at a time is bounded, also those of sessions.
func TestHeldMessages(t *testing.T) {
	s := New(offer(nil))
	defer s.Close()
	h := s.Handler("")
	begun := httptest.NewRecorder()
	h.ServeHTTP(begun, sent(t, http.MethodPost, "", strings.NewReader(beginning)))
	known := begun.Header().Get(sessionHeader)
	held := func() int64 {
		s.clients.mu.Lock()
		defer s.clients.mu.Unlock()
		return s.clients.held
	}
	bodies, ended := []*io.PipeWriter{}, make(chan struct{})
	for i := range int(maxHeld / MaxMessage) {
		r, w := io.Pipe()
		q := sent(t, http.MethodPost, known, r)
		if i%2 == 0 {
			q.ContentLength = MaxMessage // of the others nobody knows
		}
		bodies = append(bodies, w)
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), q)
			ended <- struct{}{}
		}()
	}
	for deadline := time.Now().Add(toolstest.Long); held() < maxHeld; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are held", held())
		}
	}
	list := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, sent(t, http.MethodPost, known, strings.NewReader(`{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`)))
		return w.Code
	}
	if code := list(); code != http.StatusServiceUnavailable {
		t.Errorf("%d although there is no room", code)
	}
	for _, w := range bodies {
		w.CloseWithError(io.ErrUnexpectedEOF)
		<-ended
	}
	if code := list(); code != http.StatusOK || held() != 0 {
		t.Errorf("%d, and %d bytes are held", code, held())
	}
}

// Promise 2: a session whose request comes slowly is one in use.
func TestSlowRequestsKeepTheirSession(t *testing.T) {
	s := New(offer(nil))
	defer s.Close()
	h := s.Handler("")
	begin := func() string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, sent(t, http.MethodPost, "", strings.NewReader(beginning)))
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Header().Get(sessionHeader)
	}
	oldest := begin()
	for range MaxClients - 1 {
		begin()
	}
	const list = `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`
	r, body := io.Pipe()
	w, ended := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(w, sent(t, http.MethodPost, oldest, r))
	}()
	_, _ = io.WriteString(body, list[:20]) // now it is read
	begin()
	_, _ = io.WriteString(body, list[20:])
	body.Close()
	if <-ended; w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	begin()
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, sent(t, http.MethodPost, oldest, strings.NewReader(list))); w.Code != http.StatusOK {
		t.Errorf("the session that was used last has ended: %d %s", w.Code, w.Body)
	}
}

// Promise 2: a message counts as what it has once it is read, also if nobody has said its length.
func TestReadMessagesCountAsTheyAre(t *testing.T) {
	cancelled := make(chan error, 2*AtOnce)
	s := New(offer(cancelled))
	defer s.Close()
	h := s.Handler("")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, sent(t, http.MethodPost, "", strings.NewReader(beginning)))
	known := w.Header().Get(sessionHeader)
	post := func(session, body string) int {
		q, w := sent(t, http.MethodPost, session, strings.NewReader(body)), httptest.NewRecorder()
		q.ContentLength = -1
		h.ServeHTTP(w, q)
		return w.Code
	}
	ended := make(chan int, AtOnce)
	for i := range AtOnce {
		go func() {
			ended <- post(known, fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}`, 10+i))
		}()
	}
	for range AtOnce {
		<-cancelled // it is carried out
	}
	s.clients.mu.Lock()
	held := s.clients.held
	s.clients.mu.Unlock()
	if held != AtOnce*leastHeld {
		t.Errorf("%d bytes are held", held)
	}
	if code := post(known, `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`); code != http.StatusOK {
		t.Errorf("tools/list: %d", code)
	}
	if code := post("", beginning); code != http.StatusOK {
		t.Errorf("initialize: %d", code)
	}
	for i := range AtOnce {
		cancel := fmt.Sprintf(`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": %d}}`, 10+i)
		if code := post(known, cancel); code != http.StatusAccepted {
			t.Errorf("notifications/cancelled: %d", code)
			s.clients.mu.Lock()
			s.clients.held = 0 // else the calls would not end
			s.clients.mu.Unlock()
			post(known, cancel)
		}
		<-cancelled
		<-ended
	}
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	if s.clients.held != 0 || s.clients.passing != 0 {
		t.Errorf("%d bytes and %d requests are held in the end", s.clients.held, s.clients.passing)
	}
}
