package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/tools"
)

// calling is a call of a tool without arguments.
func calling(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": %q, "arguments": {}}}`, id, tool)
}

// web plays clients over HTTP, in a bubble.
type web struct {
	t *testing.T
	s *Server
	h http.Handler
}

func newWeb(t *testing.T, o Offer) *web {
	s := New(o)
	return &web{t, s, s.Handler("")}
}

func (w *web) do(ctx context.Context, method, session, body string) (int, string) {
	r := httptest.NewRecorder()
	q := sent(w.t, method, session, http.NoBody).WithContext(ctx)
	if body != "" {
		q.Body = io.NopCloser(strings.NewReader(body))
	}
	w.h.ServeHTTP(r, q)
	return r.Code, r.Body.String()
}

func (w *web) begin() (session string) {
	r := httptest.NewRecorder()
	w.h.ServeHTTP(r, sent(w.t, http.MethodPost, "", strings.NewReader(beginning)))
	return r.Header().Get(sessionHeader)
}

// ended expects that so many calls have ended, and given their places back.
func (w *web) ended(calls int, cancelled <-chan error) {
	w.t.Helper()
	synctest.Wait()
	for range calls {
		select {
		case err := <-cancelled:
			if err == nil {
				w.t.Error("the call ended by itself")
			}
		default:
			w.t.Error("a call goes on")
		}
	}
	if n := len(w.s.slots); n != 0 {
		w.t.Errorf("%d places are taken", n)
	}
}

// Promise 9: who ends its session ends its calls with it, and waits for nothing else.
func TestEndOfASessionEndsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan error, 2*AtOnce)
		w := newWeb(t, offer(cancelled))
		defer w.s.Close()
		gone, stays := w.begin(), w.begin()
		for i := range AtOnce - 1 {
			go w.do(t.Context(), http.MethodPost, gone, calling(10+i, "wait"))
			<-cancelled // it has begun
		}
		answer := make(chan string, 1)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		go func() {
			_, said := w.do(ctx, http.MethodPost, stays, calling(9, "wait"))
			answer <- said
		}()
		<-cancelled
		begun := time.Now()
		if code, said := w.do(t.Context(), http.MethodDelete, gone, ""); code != http.StatusNoContent || time.Since(begun) > 0 {
			t.Errorf("DELETE: %d %s after %s", code, said, time.Since(begun))
		}
		synctest.Wait()
		if n := len(w.s.slots); n != 1 || len(cancelled) != AtOnce-1 {
			t.Errorf("%d places are taken, %d calls were cancelled", n, len(cancelled))
		}
		if code, _ := w.do(t.Context(), http.MethodPost, gone, calling(3, "say")); code != http.StatusNotFound {
			t.Errorf("a call of a session that has ended: %d", code)
		}
		if code, said := w.do(t.Context(), http.MethodPost, stays, calling(3, "say")); code != http.StatusOK || !strings.Contains(said, "héllo") {
			t.Errorf("another session: %d %s", code, said)
		}
		for len(cancelled) > 0 {
			<-cancelled
		}
		w.do(t.Context(), http.MethodPost, stays, `{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}`)
		if w.ended(1, cancelled); len(answer) != 1 {
			t.Error("a call that its client cancelled goes on")
		}
	})
}

// Promise 9: a client that hangs up has not cancelled its call. It ends with its session, when that was idle.
func TestIdleSessionsEndTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan error, 4)
		w := newWeb(t, offer(cancelled))
		defer w.s.Close()
		id := w.begin()
		ctx, leave := context.WithCancel(t.Context())
		go w.do(ctx, http.MethodPost, id, calling(3, "wait"))
		<-cancelled
		<-time.After(3 * idle) // the client is there
		leave()
		<-time.After(idle - time.Second)
		if synctest.Wait(); len(cancelled) > 0 {
			t.Error("the call ended before its session")
		}
		if code, _ := w.do(t.Context(), http.MethodPost, id, calling(4, "say")); code != http.StatusOK {
			t.Errorf("the session has ended: %d", code)
		}
		<-time.After(idle - time.Second)
		if synctest.Wait(); len(cancelled) > 0 {
			t.Error("the call ended although its client was there")
		}
		<-time.After(time.Second)
		w.ended(1, cancelled)
		if code, _ := w.do(t.Context(), http.MethodPost, id, calling(5, "say")); code != http.StatusNotFound {
			t.Errorf("an idle session: %d", code)
		}
	})
}

// Promise 9: a session ends also if its client never heard that it has begun.
func TestSessionsOfClientsThatLeaveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		o := offer(nil)
		o.Asked = func(string, string) {
			leave()
			<-time.After(time.Second) // the request has ended before the answer is written
		}
		w := newWeb(t, o)
		defer w.s.Close()
		if _, said := w.do(ctx, http.MethodPost, "", beginning); said != "" {
			t.Errorf("the client heard %q", said)
		}
		sessions := func() (n int) {
			for range w.s.sdk.Sessions() {
				n++
			}
			return n
		}
		if n := sessions(); n != 1 {
			t.Errorf("%d sessions", n)
		}
		<-time.After(idle)
		if synctest.Wait(); sessions() != 0 {
			t.Error("the session has not ended")
		}
	})
}

// Promise 9: the end of the server ends all calls, also those without a session.
func TestEndOfTheServerEndsAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan error, 8)
		w := newWeb(t, offer(cancelled))
		for range 2 {
			id := w.begin()
			go w.do(t.Context(), http.MethodPost, id, calling(3, "wait"))
			<-cancelled
		}
		go w.h.ServeHTTP(httptest.NewRecorder(), asked(t.Context(), "http://127.0.0.1/", "tools/call", "wait", `"name": "wait", "arguments": {},`))
		<-cancelled
		begun := time.Now()
		if w.s.Close(); time.Since(begun) > 0 {
			t.Errorf("Close took %s", time.Since(begun))
		}
		w.ended(3, cancelled)
	})
}

// Promise 9: so it is over stdio.
func TestEndOfStdioEndsItsCalls(t *testing.T) {
	for _, how := range []string{"the client leaves", "the server is told to end"} {
		synctest.Test(t, func(t *testing.T) {
			cancelled, ended := make(chan error, 2), make(chan error, 1)
			theirs, in := io.Pipe()
			out, mine := io.Pipe()
			go io.Copy(io.Discard, out)
			defer out.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go func() { ended <- New(offer(cancelled)).Stdio(ctx, theirs, mine) }()
			io.WriteString(in, beginning+"\n"+`{"jsonrpc": "2.0", "method": "notifications/initialized"}`+"\n"+calling(3, "wait")+"\n")
			<-cancelled
			if how == "the client leaves" {
				in.Close()
			} else {
				stop()
			}
			synctest.Wait()
			if len(ended) != 1 || len(cancelled) != 1 {
				t.Errorf("%s: the call goes on", how)
				in.Close() // it ends it
			}
			<-ended
			in.Close()
		})
	}
}

// Promise 9: a tool that does not heed the end of its call keeps its place, and nobody waits for it.
func TestCallsThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, end := offer(nil), make(chan struct{})
		o.Tools = append(o.Tools, Tool{Name: "deaf", Parameters: map[string]any{"type": "object"}, Call: func(ctx context.Context, _ map[string]any) tools.Result {
			<-end
			if tell := tools.ToProgress(ctx); tell != nil {
				tell("deaf", tools.Progress{Done: 1})
			}
			return tools.Output("late")
		}})
		w := newWeb(t, o)
		defer w.s.Close()
		id := w.begin()
		go w.do(t.Context(), http.MethodPost, id, `{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "deaf", "arguments": {}, "_meta": {"progressToken": 1}}}`)
		synctest.Wait()
		begun := time.Now()
		if code, said := w.do(t.Context(), http.MethodDelete, id, ""); code != http.StatusNoContent || time.Since(begun) != lingers {
			t.Errorf("DELETE: %d %s after %s", code, said, time.Since(begun))
		}
		if n := len(w.s.slots); n != 1 {
			t.Errorf("%d places are taken", n)
		}
		close(end)
		w.ended(0, nil)
	})
}
