package endpoint

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

	"tavernsim/llm"
	"tavernsim/protocol"
)

// pipes is a listener without a network.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

// within runs a test in a bubble, against a server whose time is the bubble's.
func within(t *testing.T, d Definition, h http.HandlerFunc, test func(t *testing.T, e *Endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // only then the server sees the client leave
			h(w, r)
		})}
		served := make(chan error)
		go func() { served <- s.Serve(p) }()
		d.BaseURL = "http://cloud"
		e, err := New("cloud", d, "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		e.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			here, there := net.Pipe()
			select {
			case p.conns <- there:
				return here, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		test(t, e)
		_ = e.Close()
		_ = s.Close()
		<-served
		synctest.Wait() // a request that came at the last moment has been handled
	})
}

func seconds(n int) protocol.Duration { return protocol.Duration(time.Duration(n) * time.Second) }

// shortly are bounds that all differ: 10 s to the first byte, 20 s of silence, 50 s in all.
func shortly() Definition {
	return Definition{Timeouts: Timeouts{Connect: seconds(5), FirstByte: seconds(10), Silence: seconds(20), Whole: seconds(50)}}
}

// wait is silent until the time is over or the client is gone.
func wait(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// say sends a part at once.
func say(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// Promise 2: each phase ends at its own bound, and what comes before it is heard.
func TestPhases(t *testing.T) {
	stream := Ask{Path: "/x", Body: []byte("{}"), Stream: true}
	for name, c := range map[string]struct {
		ask    Ask
		server func(w http.ResponseWriter, r *http.Request)
		heard  int           // events
		after  time.Duration // 0 = it ends well
		says   string
	}{
		"first byte":                {stream, func(_ http.ResponseWriter, r *http.Request) { wait(r, time.Hour) }, 0, 10 * time.Second, "timeouts.first_byte"},
		"a first byte just in time": {stream, func(w http.ResponseWriter, r *http.Request) { wait(r, 9*time.Second); say(w, "data: a\n\n") }, 1, 0, ""},
		"headers are no byte":       {stream, func(w http.ResponseWriter, r *http.Request) { say(w, ""); wait(r, time.Hour) }, 0, 10 * time.Second, "timeouts.first_byte"},
		"silence":                   {stream, func(w http.ResponseWriter, r *http.Request) { say(w, "data: a\n\n"); wait(r, time.Hour) }, 1, 20 * time.Second, "timeouts.silence"},
		"half a line is no silence": {stream, func(w http.ResponseWriter, r *http.Request) {
			say(w, "data: a\n\nda")
			wait(r, 19*time.Second)
			say(w, "ta: b\n\n")
			wait(r, 19*time.Second)
		}, 2, 0, ""},
		"a comment is no silence": {stream, func(w http.ResponseWriter, r *http.Request) {
			say(w, ": x\n")
			wait(r, 15*time.Second)
			say(w, "data: b\n\n")
		}, 1, 0, ""},
		"the whole of a stream":       {stream, dripping, 5, 50 * time.Second, "no answer in time"},
		"no stream has the whole":     {Ask{Path: "/x", Body: []byte("{}")}, func(_ http.ResponseWriter, r *http.Request) { wait(r, time.Hour) }, 0, 50 * time.Second, "no answer in time"},
		"a request's own time-out":    {Ask{Path: "/x", Timeout: 7 * time.Second}, func(_ http.ResponseWriter, r *http.Request) { wait(r, time.Hour) }, 0, 7 * time.Second, "no answer in time"},
		"it does not lengthen":        {Ask{Path: "/x", Timeout: time.Hour}, func(_ http.ResponseWriter, r *http.Request) { wait(r, time.Hour) }, 0, 50 * time.Second, "no answer in time"},
		"it shortens the first byte":  {Ask{Path: "/x", Timeout: 3 * time.Second, Stream: true}, func(_ http.ResponseWriter, r *http.Request) { wait(r, time.Hour) }, 0, 3 * time.Second, "no answer in time"},
		"an error that does not come": {stream, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); say(w, ""); wait(r, time.Hour) }, 0, 10 * time.Second, "timeouts.first_byte"},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, shortly(), c.server, func(t *testing.T, e *Endpoint) {
				began, heard := time.Now(), 0
				reply, err := e.Do(context.Background(), c.ask)
				if err == nil {
					for _, broken := range reply.Events() {
						if err = broken; err == nil {
							heard++
						}
					}
					reply.Close()
				}
				if heard != c.heard {
					t.Errorf("heard %d events, want %d", heard, c.heard)
				}
				if c.after == 0 && err == nil {
					return
				}
				if err == nil {
					t.Fatal("it ended well")
				}
				if f := outcome(t, err); f.Outcome != llm.OutcomeTimeout || !strings.Contains(f.Message, c.says) || time.Since(began) != c.after {
					t.Errorf("%s: %v after %s, want %q after %s", f.Outcome, err, time.Since(began), c.says, c.after)
				}
			})
		})
	}
}

// dripping says something every nine seconds, for ever.
func dripping(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		wait(r, 9*time.Second)
		say(w, "data: a\n\n")
	}
}

// A server that does not stream although asked has the time of the whole, also when its body is long
// in coming.
func TestNoStreamAlthoughAsked(t *testing.T) {
	within(t, shortly(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		say(w, "")
		wait(r, 20*time.Second)
		say(w, "{")
		wait(r, 20*time.Second)
		say(w, "}")
	}, func(t *testing.T, e *Endpoint) {
		reply, err := e.Do(context.Background(), Ask{Path: "/x", Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Close()
		if reply.streams(true) {
			t.Error("it streams")
		}
		if data, err := reply.ReadAll(); err != nil || string(data) != "{}" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

// Nobody listens: the error is the caller's context, if that ended.
func TestConnect(t *testing.T) {
	within(t, shortly(), nil, func(t *testing.T, e *Endpoint) {
		e.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, err := e.Do(ctx, Ask{Path: "/x"}); outcome(t, err).Outcome != llm.OutcomeCancelled {
			t.Errorf("cancelled: %v", err)
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := e.Do(ctx, Ask{Path: "/x"}); outcome(t, err).Outcome != llm.OutcomeTimeout {
			t.Errorf("deadline: %v", err)
		}
		if _, err := e.Do(ctx, Ask{Path: "/x"}); outcome(t, err).Outcome != llm.OutcomeTimeout {
			t.Errorf("a deadline that is over: %v", err)
		}
	})
	dead, err := New("dead", Definition{BaseURL: "http://127.0.0.1:1"}, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	if _, err := dead.Do(context.Background(), Ask{Path: "/x"}); outcome(t, err).Outcome != llm.OutcomeServerError || !strings.HasPrefix(err.Error(), "dead: ") {
		t.Errorf("no server: %v", err)
	}
	if dead.transport.TLSHandshakeTimeout != defaultConnect {
		t.Errorf("TLS has %s", dead.transport.TLSHandshakeTimeout)
	}
}

// A closed endpoint asks nothing; a request that runs may end.
func TestClosed(t *testing.T) {
	within(t, shortly(), func(w http.ResponseWriter, r *http.Request) {
		say(w, "data: a\n\n")
		wait(r, time.Second)
		say(w, "data: b\n\n")
	}, func(t *testing.T, e *Endpoint) {
		reply, err := e.Do(context.Background(), Ask{Path: "/x", Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Close()
		_ = e.Close()
		if _, err := e.Do(context.Background(), Ask{Path: "/x"}); outcome(t, err).Outcome != llm.OutcomeClosed {
			t.Errorf("closed: %v", err)
		}
		n := 0
		for _, err := range reply.Events() {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

// Promise 4: bodies, lines and all lines together are bounded.
func TestBounds(t *testing.T) {
	line := "data: " + strings.Repeat("x", MaxLine/2) + "\n\n"
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/many":
			for range 2*MaxAnswer/MaxLine + 1 {
				_, _ = io.WriteString(w, line)
			}
		case "/fits":
			_, _ = io.WriteString(w, strings.Repeat("x", MaxAnswer))
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", MaxAnswer+1))
		case "/error":
			w.WriteHeader(500)
			_, _ = io.WriteString(w, strings.Repeat("e", 1<<20))
		}
	})
	get := func(path string) *Reply {
		t.Helper()
		reply, err := e.Do(context.Background(), Ask{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(reply.Close)
		return reply
	}
	if data, err := get("/fits").ReadAll(); err != nil || len(data) != MaxAnswer {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := get("/large").ReadAll(); outcome(t, err).Outcome != llm.OutcomeBadOutput {
		t.Errorf("a large body: %v", err)
	}
	var last error
	for _, err := range get("/many").Events() {
		last = err
	}
	if last == nil || outcome(t, last).Outcome != llm.OutcomeBadOutput || !strings.Contains(last.Error(), "the stream has more than 16777216 bytes") {
		t.Errorf("many lines: %v", last)
	}
	if _, err := e.Do(context.Background(), Ask{Path: "/error"}); len(err.Error()) > 1000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// A loop over events may end early, and the events have no part of each other.
func TestEventsOneByOne(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "event: one\nid: 7\nretry: 9\nnonsense\ndata: long data\n\nevent: lost\n\ndata: b\n\ndata: c\n\n")
	})
	reply, err := e.Do(context.Background(), Ask{Path: "/", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	var got []string
	for event, err := range reply.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, event.Type+"="+string(event.Data)); len(got) == 2 {
			break
		}
	}
	if strings.Join(got, " ") != "one=long data =b" {
		t.Errorf("%q", got)
	}
}

// A connection that breaks within a stream is a failure that may be asked again.
func TestBroken(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		say(w, "data: a\n\n")
		panic(http.ErrAbortHandler)
	})
	reply, err := e.Do(context.Background(), Ask{Path: "/", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	var last error
	for _, err := range reply.Events() {
		last = err
	}
	if last == nil || outcome(t, last).Outcome != llm.OutcomeServerError || !errors.Is(last, io.ErrUnexpectedEOF) {
		t.Errorf("%v", last)
	}
}
