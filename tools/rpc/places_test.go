package rpc

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/child"
)

// within is a service within the process: it takes some time for each request, and works on
// some at once.
type within struct {
	take  atomic.Int64  // ns
	works chan struct{} // holds an element for each request that it works on
	deaf  bool          // it answers no ping

	out  chan jsonrpc.Message
	gone chan struct{} // closed at the end of the session
	mu   sync.Mutex    // guards the following fields
	now  int           // requests that were written and not answered
	most int
	said []string // methods
}

func (w *within) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-w.out:
		return m, nil
	case <-w.gone:
		return nil, io.EOF
	}
}

func (w *within) Write(_ context.Context, m jsonrpc.Message) error {
	q, ok := m.(*jsonrpc.Request)
	if !ok {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, q.Method)
	switch {
	case !q.IsCall() || q.Method == "ping" && w.deaf:
	case q.Method == "ping":
		w.out <- &jsonrpc.Response{ID: q.ID, Result: json.RawMessage(`{}`)}
	default:
		w.now++
		w.most = max(w.most, w.now)
		go w.answer(q.ID)
	}
	return nil
}

func (w *within) answer(id jsonrpc.ID) {
	w.works <- struct{}{}
	<-time.After(time.Duration(w.take.Load()))
	<-w.works
	w.mu.Lock()
	w.now--
	w.mu.Unlock()
	w.out <- &jsonrpc.Response{ID: id, Result: json.RawMessage(`"done"`)}
}

func (w *within) Close() error      { return nil }
func (w *within) SessionID() string { return "" }

// keeping is an executor with this service alone.
func keeping(w *within, concurrency int) (*Executor, *service) {
	w.out, w.gone = make(chan jsonrpc.Message, 5000), make(chan struct{})
	x := &Executor{map[string]*service{}}
	s := &service{Service: Service{Name: "s", Concurrency: concurrency}, opt: Options{Ping: 5 * time.Second}, all: x}
	s.Keeper = child.Keep(child.Of[*session]{
		Name: "the service s", Start: time.Second, Pause: time.Minute, Final: final,
		Open: func(context.Context) (*session, error) {
			o := &session{wire: w, program: &child.Process{}, done: make(chan struct{}), places: make(chan struct{}, concurrency), waiting: map[jsonrpc.ID]waiter{}}
			o.ctx, o.stop = context.WithCancel(context.Background())
			go o.read(s)
			return o, nil
		},
		End: func(o *session, _ time.Time) {
			o.stop()
			close(w.gone)
			<-o.done
			o.beside.Wait()
		},
	})
	x.services["s"] = s
	return x, s
}

// Promise 6: a thousand requests at once are no reason for a time-out, for the time of each
// begins when it is written; a service that says so works on many of them.
func TestPlaces(t *testing.T) {
	for concurrency, want := range map[int]time.Duration{1: 30 * time.Second, 50: 600 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			w := &within{works: make(chan struct{}, concurrency)}
			w.take.Store(int64(30 * time.Millisecond))
			x, s := keeping(w, concurrency)
			begun := time.Now()
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() {
					if raw, failed := x.Ask(t.Context(), &Request{Service: "s", Method: "hook/call", Answer: 100 * time.Millisecond}); failed != nil || string(raw) != `"done"` {
						t.Errorf("%s %+v", raw, failed)
					}
				})
			}
			all.Wait()
			if took := time.Since(begun); took != want || w.most != concurrency {
				t.Errorf("%d at once: %s, at most %d", concurrency, took, w.most)
			}
			s.Close()
		})
	}
}

// Promise 6: what waits too long was not sent; the place of what was sent and left is free
// when the service answers it late, or a ping after it.
func TestPlacesOfThoseWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &within{works: make(chan struct{}, 1), deaf: true}
		w.take.Store(int64(time.Minute))
		x, s := keeping(w, 1)
		ask := func(turn, answer time.Duration) *tools.Result {
			_, failed := x.Ask(t.Context(), &Request{Service: "s", Method: "tool/call", Turn: turn, Answer: answer})
			return failed
		}
		slow := make(chan *tools.Result)
		go func() { slow <- ask(0, 2*time.Minute) }()
		synctest.Wait()
		if r := ask(time.Second, time.Hour); r == nil || !r.Unsent || r.Error.Kind != protocol.KindTimeout || !strings.Contains(r.Error.Message, "it works on 1 requests, as many as its concurrency says") {
			t.Errorf("%+v", r)
		}
		if r := <-slow; r != nil {
			t.Errorf("%+v", r.Error)
		}
		w.take.Store(int64(3 * time.Second))
		if r := ask(0, time.Second); r == nil || r.Unsent || !r.Lost || r.Error.Kind != protocol.KindTimeout {
			t.Errorf("%+v", r)
		}
		begun := time.Now()
		if r := ask(0, 4*time.Second); r != nil || time.Since(begun) != 5*time.Second { // two of the one before, three of its own
			t.Errorf("%+v after %s", r, time.Since(begun))
		}
		ended, leave := context.WithTimeout(t.Context(), 2*time.Minute)
		w.take.Store(int64(time.Hour))
		go func() {
			<-time.After(time.Minute)
			leave()
		}()
		if _, r := x.Ask(ended, &Request{Service: "s", Method: "tool/call"}); r == nil || r.Error.Kind != protocol.KindCancelled {
			t.Errorf("%+v", r)
		}
		begun = time.Now()
		if r := ask(0, 0); r == nil || !strings.Contains(r.Error.Message, "nor a ping within 1m5s") || time.Since(begun) < time.Minute+5*time.Second {
			t.Errorf("%+v after %s", r.Error, time.Since(begun))
		}
		<-time.After(2 * time.Hour) // what it works on ends
		s.Close()
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = slices.DeleteFunc(w.said, func(m string) bool { return m == "$/cancel" }) // they have goroutines of their own
		if got := strings.Join(w.said, " "); got != "tool/call tool/call ping tool/call tool/call ping" {
			t.Error(got)
		}
	})
}
