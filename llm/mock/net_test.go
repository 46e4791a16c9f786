package mock

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// came is an answer as it came over a connection.
type came struct {
	status int
	length int64 // as announced
	text   string
	err    error
}

// listen serves on a real connection; the returned function asks.
func listen(t *testing.T, o Options) (*Server, func(body string) came) {
	t.Helper()
	s := serve(t, o)
	h := httptest.NewUnstartedServer(nil)
	h.Config = s.HTTP()
	h.Start()
	t.Cleanup(h.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return s, func(body string) came {
		resp, err := client.Post(h.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			return came{err: err}
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return came{resp.StatusCode, resp.ContentLength, string(text), err}
	}
}

func only(fault string) Options {
	return Options{Seed: 7, Faults: Faults{Rates: map[string]float64{fault: 1}}}
}

// A reset is one: the client learns of it at once, before the answer or within it.
func TestResetsOnAConnection(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the servers have ended
	for _, body := range []string{chatBody("x"), strings.Replace(chatBody("x"), "{", `{"stream":true,`, 1)} {
		_, ask := listen(t, only("reset"))
		if got := ask(body); !errors.Is(got.err, syscall.ECONNRESET) && !errors.Is(got.err, io.EOF) {
			t.Errorf("reset: %+v", got)
		}
		_, ask = listen(t, only("reset_within"))
		if got := ask(body); got.status != 200 || got.text == "" || !errors.Is(got.err, syscall.ECONNRESET) && !errors.Is(got.err, io.ErrUnexpectedEOF) {
			t.Errorf("reset_within: %+v", got)
		}
	}
}

// A huge answer is whole JSON of more than 64 MiB, and the server does not hold it.
func TestAHugeAnswerOnAConnection(t *testing.T) {
	_, ask := listen(t, only("huge"))
	if got := ask(chatBody("x")); got.err != nil || len(got.text) < fillSize || got.length != int64(len(got.text)) || !strings.HasSuffix(got.text, "}}") {
		t.Errorf("%d bytes of %d, %v", len(got.text), got.length, got.err)
	}
}

// Every event of a stream arrives by itself when tokens take time.
func TestAStreamIsNotHeldBack(t *testing.T) {
	latency, err := ParseLatency("per_token=1h")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{Latency: latency})
	h := httptest.NewServer(s)
	defer h.Close()
	resp, err := http.Post(h.URL+"/chat/completions", "", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: " {
		t.Errorf("%q %v", first, err)
	}
	resp.Body.Close()
	h.CloseClientConnections()
}

// Promises 1 and 2: many clients at once get the answers that one gets.
func TestManyAtOnce(t *testing.T) {
	o := Options{Seed: 7, Faults: Faults{Rates: map[string]float64{"rate_limited": 0.2, "server_error": 0.2, "length": 0.1}}}
	one, want := serve(t, o), map[string]string{}
	for i := range 200 {
		for try := range 3 {
			w := ask(one, "/chat/completions", chatBody(fmt.Sprint(i)))
			want[fmt.Sprint(i, try)] = fmt.Sprint(w.Code, w.Body.String())
		}
	}
	s, ask := listen(t, o)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < 200; i += 8 {
				for try := range 3 {
					got := ask(chatBody(fmt.Sprint(i)))
					if fmt.Sprint(got.status, got.text) != want[fmt.Sprint(i, try)] || got.err != nil {
						t.Errorf("question %d, attempt %d: %+v", i, try, got)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if got, want := s.Report(0), one.Report(0); fmt.Sprint(got.Outcomes, got.Faults, got.Output) != fmt.Sprint(want.Outcomes, want.Faults, want.Output) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// Options that make no sense are errors.
func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{{RPM: -1}, {TPM: maxLimit + 1}, only("flood"), {Faults: Faults{Rates: map[string]float64{"slow": 1.5}}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
