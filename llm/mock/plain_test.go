package mock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// begin serves a listener, with plain questions beside net/http or without.
func begin(t *testing.T, o Options, plain bool) (s *Server, l net.Listener) {
	t.Helper()
	s = serve(t, o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if plain {
		l = s.Plain(l)
	}
	h, ended := s.HTTP(), make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	t.Cleanup(func() {
		_ = h.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("it ended with %v", err)
		}
	})
	return s, l
}

// What is said on a connection, with and without plain questions: the same answers come back,
// in one order, and the counts are the same.
func TestPlainIsAsNetHTTP(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the servers have ended
	post := func(path, more, body string) string {
		return fmt.Sprintf("POST /v1/%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, more, len(body), body)
	}
	chat := post("chat/completions", "", chatBody("a"))
	bare := strings.Replace(chatBody("a"), "{", `{"stream":true,`, 1)
	large := chatBody(strings.Repeat("a", plainBody))
	for name, c := range map[string]struct {
		answers int // -1 = the client closes its side, and hears all; -2 = when it has heard one
		said    string
	}{
		"one":                   {1, chat},
		"two together":          {2, chat + post("messages", "X-Attempt: 3\r\n", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]}`)},
		"vectors":               {2, post("embeddings", "", `{"model":"m","input":["a","b"]}`) + chat},
		"no question":           {2, "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n" + chat},
		"a stream between":      {3, chat + post("chat/completions", "", bare) + chat},
		"large":                 {3, chat + post("chat/completions", "", large) + chat},
		"a large header":        {3, chat + post("chat/completions", "X-A: "+strings.Repeat("a", plainHeader)+"\r\n", chatBody("b")) + chat},
		"in chunks":             {3, chat + "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(chatBody("c")), chatBody("c")) + chat},
		"old":                   {1, strings.Replace(chat, "HTTP/1.1", "HTTP/1.0", 1)},
		"and closes":            {2, chat + strings.Replace(chat, "Host: x", "Host: x\r\nConnection: close", 1)},
		"continues":             {1, strings.Replace(chat, "Host: x", "Host: x\r\nExpect: 100-continue", 1)},
		"no such path":          {3, chat + post("x", "", "{}") + chat},
		"no question in it":     {2, post("chat/completions", "", "{") + chat},
		"no host":               {1, strings.Replace(chat, "Host: x\r\n", "", 1)},
		"no HTTP":               {2, chat + "x\r\n\r\n"},
		"TLS":                   {1, "\x16\x03\x01\x00\x05\x01\n"}, // who says https here hears at once that it is wrong
		"cut in the header":     {-2, chat + "POST /v1/cha"},
		"cut in the body":       {-2, chat + chat[:len(chat)-1]},
		"nothing":               {-1, ""},
		"an escaped stream":     {3, chat + post("chat/completions", "", strings.Replace(bare, "stream", `stre\u0061m`, 1)) + chat},
		"no stream":             {2, chat + post("chat/completions", "", strings.Replace(bare, "true", "false", 1))},
		"no member of its own":  {2, chat + post("chat/completions", "", strings.Replace(bare, `"stream":true`, `"x":{"stream":true}`, 1))},
		"an empty line behind":  {2, chat + "\r\n" + chat},
		"two empty lines":       {2, chat + "\r\n\r\n" + chat},
		"more ends of lines":    {2, chat + "\r\n\r\n\n" + chat},
		"an empty line first":   {1, "\r\n" + chat},
		"an empty line and end": {-2, chat + "\r\n"},
		"a wrong header behind": {2, chat + strings.Replace(chat, "Host: x", "Host: x\r\n: x", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			var got [2]string
			var counts [2]string
			for i := range got {
				s, l := begin(t, Options{Seed: 7, Model: script(t, "otherwise: I wait.")}, i == 0)
				got[i] = converse(t, l.Addr().String(), c.said, c.answers)
				r := s.Report(0)
				for begun := time.Now(); r.InFlight > 0 && time.Since(begun) < 5*time.Minute; r = s.Report(0) {
					runtime.Gosched() // an answer is counted when it has been sent
				}
				counts[i] = fmt.Sprint(r.Requests, r.Outcomes, r.Questions, r.Repeated, r.Input, r.Output)
			}
			if got[0] != got[1] || counts[0] != counts[1] {
				t.Errorf("%s\n%.2000s\nnet/http: %s\n%.2000s", counts[0], got[0], counts[1], got[1])
			}
		})
	}
}

// converse says all at once and gives so many answers, without dates.
func converse(t *testing.T, addr, said string, answers int) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, said); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for in := bufio.NewReader(c); answers != 0; {
		if answers == -1 {
			_ = c.(*net.TCPConn).CloseWrite()
		}
		if _, err := in.Peek(1); err != nil {
			return all.String()
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return all.String() + err.Error()
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		if answers > 0 {
			answers--
		} else {
			answers = -1
		}
		fmt.Fprintln(&all, resp.Status, resp.Header.Get("Content-Type"), resp.Close, string(body), err)
	}
	return all.String()
}

// Who leaves while the answer takes its time is gone at once, and a server that ends waits for nobody.
func TestPlainTakesTime(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := serve(t, Options{Seed: 7, Model: script(t, "otherwise: I wait."), Latency: scripted.Latency{Fixed: protocol.Duration(100 * time.Millisecond)}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, h, ended := s.Plain(l), s.HTTP(), make(chan error, 1)
	go func() { ended <- h.Serve(p) }()
	question := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(chatBody("a")), chatBody("a"))
	if got := converse(t, l.Addr().String(), question+question, 2); strings.Count(got, "200 OK") != 2 {
		t.Errorf("it says %s", got)
	}
	s.opts.Latency.Fixed = protocol.Duration(time.Hour)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, question)
	_ = c.Close()
	for begun := time.Now(); s.Report(0).Requests < 3 && time.Since(begun) < 5*time.Minute; {
		runtime.Gosched() // a request is counted when it has ended
	}
	if r := s.Report(0); fmt.Sprint(r.Outcomes) != "map[chat/completions:map[gone:1 ok:2]]" {
		t.Errorf("outcomes %v", r.Outcomes)
	}
	if c, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, question)
	for begun := time.Now(); s.Report(0).InFlight == 0 && time.Since(begun) < 5*time.Minute; {
		runtime.Gosched()
	}
	_ = h.Close()
	<-ended
	goleak.VerifyNone(t, before)
}

// The server ends while questions come in.
func TestPlainEnds(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := serve(t, Options{Seed: 7, Model: script(t, "otherwise: I wait.")})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, h := s.Plain(l), s.HTTP()
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(p) }()
	transport := &http.Transport{}
	client, many, first := &http.Client{Transport: transport}, sync.WaitGroup{}, make(chan struct{}, 1)
	for range 8 {
		many.Go(func() {
			for {
				resp, err := client.Post("http://"+l.Addr().String()+"/v1/chat/completions", "", strings.NewReader(chatBody("a")))
				if err != nil {
					return
				}
				if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
					t.Errorf("status %d, %q, %v", resp.StatusCode, body, err)
				}
				resp.Body.Close()
				select {
				case first <- struct{}{}:
				default:
				}
			}
		})
	}
	<-first
	_ = h.Close()
	<-ended
	many.Wait()
	transport.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// full is a listener of a process that has no descriptor left, at first.
type full struct {
	net.Listener
	fails int
}

// Accept implements net.Listener.
func (f *full) Accept() (net.Conn, error) {
	if f.fails--; f.fails >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return f.Listener.Accept()
}

// A server that cannot accept for want of descriptors does so later, as net/http does.
func TestPlainAcceptsAgain(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := serve(t, Options{Seed: 7, Model: script(t, "otherwise: I wait.")})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, h, ended := s.Plain(&full{l, 2}), s.HTTP(), make(chan error, 1)
	h.ErrorLog = log.New(io.Discard, "", 0)
	go func() { ended <- h.Serve(p) }()
	question := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(chatBody("a")), chatBody("a"))
	if got := converse(t, l.Addr().String(), question, 1); !strings.Contains(got, "200 OK") {
		t.Errorf("it says %s", got)
	}
	_ = h.Close()
	<-ended
	goleak.VerifyNone(t, before)
}
