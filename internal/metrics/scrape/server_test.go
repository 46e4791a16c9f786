package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/goleak"

	"tavernsim/internal/metrics"
	"tavernsim/protocol"
)

// protobuf is what Prometheus asks for when it scrapes native histograms.
const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

func ask(t *testing.T, h http.Handler, method, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEndpoints(t *testing.T) {
	s := metrics.New(metrics.Version("1.2.3"))
	var free func()
	h := Handler(s, Options{})
	for _, c := range []struct {
		do           func()
		method, path string
		status       int
		body         string
	}{
		{nil, "GET", "/metrics", 200, `simd_build_info{goversion="go`},
		{nil, "GET", "/metrics", 200, `version="1.2.3"} 1`},
		{nil, "HEAD", "/metrics", 200, ""},
		{nil, "POST", "/metrics", 405, ""},
		{nil, "GET", "/livez", 200, "alive\n"},
		{nil, "GET", "/readyz", 503, "not ready: starting\n"},
		{func() { s.NotReady("replaying wave 7 of 100") }, "GET", "/readyz", 503, "not ready: replaying wave 7 of 100\n"},
		{s.Ready, "GET", "/readyz", 200, "ready\n"},
		{func() { s.Stuck(metrics.KindAgent, "a_1 does not return") }, "GET", "/livez", 200, "alive\n"},
		{func() { free = s.Stuck("events", "$events does not return") }, "GET", "/livez", 503, "not alive: $events does not return\n"},
		{nil, "GET", "/metrics", 200, `simd_stuck_actors{kind="events"} 1`},
		{func() { free(); free() }, "GET", "/livez", 200, "alive\n"},
		{nil, "GET", "/metrics", 200, `simd_stuck_actors{kind="events"} 0`},
		{nil, "GET", "/metrics", 200, `simd_stuck_actors{kind="agent"} 1`},
		{nil, "GET", "/", 200, "/metrics"},
		{nil, "GET", "/nothing", 404, ""},
		{nil, "GET", "/debug/pprof/", 404, ""},
	} {
		if c.do != nil {
			c.do()
		}
		w := ask(t, h, c.method, c.path, "")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s %s: %d %.200q, want %d %q", c.method, c.path, w.Code, w.Body, c.status, c.body)
		}
	}
	if w := ask(t, Handler(s, Options{Pprof: true}), "GET", "/debug/pprof/goroutine?debug=1", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "goroutine profile") {
		t.Errorf("pprof: %d %.100q", w.Code, w.Body)
	}
}

// native scrapes with the protobuf format and returns one histogram.
func native(t *testing.T, s *metrics.Set, name string) *dto.Histogram {
	t.Helper()
	w := ask(t, Handler(s, Options{}), "GET", "/metrics", protobuf)
	d := expfmt.NewDecoder(w.Body, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for {
		var f dto.MetricFamily
		if err := d.Decode(&f); errors.Is(err, io.EOF) {
			t.Fatalf("%s is not in the answer (%s)", name, w.Header().Get("Content-Type"))
		} else if err != nil {
			t.Fatal(err)
		}
		if f.GetName() == name {
			return f.GetMetric()[0].GetHistogram()
		}
	}
}

// Promise 1: native histograms too, for a scraper that asks for them.
func TestNativeHistograms(t *testing.T) {
	s := metrics.New()
	for i := range 100 {
		s.Scene("tavern").Took("trader", time.Duration(i)*time.Millisecond)
	}
	const name = "simd_agent_deliberation_duration_seconds"
	h := native(t, s, name)
	if len(h.GetPositiveSpan()) == 0 || h.GetSchema() != 3 || len(h.GetBucket()) != 23 || h.GetSampleCount() != 100 {
		t.Errorf("schema %d, %d spans, %d classic buckets, %d samples: want native and classic", h.GetSchema(), len(h.GetPositiveSpan()), len(h.GetBucket()), h.GetSampleCount())
	}
	text := ask(t, Handler(s, Options{}), "GET", "/metrics", "").Body.String()
	if !strings.Contains(text, name+`_bucket{profile="trader",le="0.08192"} 82`) {
		t.Error("the text format has no fixed buckets")
	}
	if w := ask(t, Handler(s, Options{}), "GET", "/metrics", "application/openmetrics-text;version=1.0.0"); !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Error("OpenMetrics was asked for and not given")
	}
}

func TestAddr(t *testing.T) {
	for in, want := range map[string]string{
		"9100": "127.0.0.1:9100", ":9100": "127.0.0.1:9100", "0": "127.0.0.1:0", "0.0.0.0:9100": "0.0.0.0:9100", "localhost:1": "localhost:1", "[::1]:9100": "[::1]:9100",
	} {
		if got, err := Addr(in); err != nil || got != want {
			t.Errorf("Addr(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "here", "localhost", "1.2.3.4:", ":-1", ":65536", "::1"} {
		if got, err := Addr(in); err == nil {
			t.Errorf("Addr(%q) = %q, want an error", in, got)
		}
	}
}

// Profiles show memory: nobody outside gets them by accident.
func TestPprofStaysOnLoopback(t *testing.T) {
	if srv, err := Listen(metrics.New(), Options{Addr: "0.0.0.0:0", Pprof: true}); err == nil || protocol.KindOf(err) != protocol.KindInvalid {
		srv.Close()
		t.Errorf("error %v, want a refusal", err)
	}
}

func get(t *testing.T, ctx context.Context, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

// Promise 2: a server that is closed leaves no goroutine and frees its port. Another
// process may take that port at once, but not three times.
func TestServerLifecycle(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var err error
	for range 3 {
		if err = liveAndFree(t); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("the port was not freed: %v", err)
	}
	goleak.VerifyNone(t, before)
}

// liveAndFree is the life of a server, and another one at its port.
func liveAndFree(t *testing.T) error {
	t.Helper()
	s := metrics.New()
	srv, err := Listen(s, Options{Addr: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(srv.Addr(), "127.0.0.1:") {
		t.Errorf("it listens on %s", srv.Addr())
	}
	if code, body := get(t, t.Context(), srv.URL()); code != 200 || !strings.Contains(body, "simd_ready 0") {
		t.Errorf("%d %.200q", code, body)
	}
	if _, err := Listen(s, Options{Addr: srv.Addr()}); err == nil || !strings.Contains(err.Error(), srv.Addr()) {
		t.Errorf("the port is taken and the error is %v", err)
	}
	for range 2 {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}
	again, err := Listen(s, Options{Addr: srv.Addr()})
	if err != nil {
		return err
	}
	return again.Close()
}

// A profile that would take minutes does not hold the end of a run up. The least of
// three counts: a machine that stands still for two seconds is no fault of the server.
func TestCloseEndsProfiles(t *testing.T) {
	before := goleak.IgnoreCurrent()
	least := time.Hour
	for n := 0; n < 3 && least > closeTimeout; n++ {
		least = min(least, closeProfiled(t))
	}
	if least > closeTimeout {
		t.Errorf("Close took %s", least)
	}
	goleak.VerifyNone(t, before)
}

// closeProfiled is how long Close takes while a profile is taken.
func closeProfiled(t *testing.T) time.Duration {
	t.Helper()
	srv, err := Listen(metrics.New(), Options{Addr: "0", Pprof: true})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	ctx, begun := context.WithTimeout(t.Context(), 2*time.Minute)
	defer begun()
	go func() {
		defer close(ended)
		get(t, ctx, "http://"+srv.Addr()+"/debug/pprof/trace?seconds=300")
	}()
	index := ""
	for !strings.Contains(index, "runtime/trace.Start") && !strings.Contains(index, "pprof.Trace") {
		_, index = get(t, ctx, "http://"+srv.Addr()+"/debug/pprof/goroutine?debug=2")
		if ctx.Err() != nil {
			t.Fatal("the profile never began")
		}
	}
	start := time.Now()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	took := time.Since(start)
	<-ended
	return took
}

func ExampleListen() {
	set := metrics.New(metrics.Version("1.2.3"))
	srv, err := Listen(set, Options{Addr: ":0"}) // a port of loopback
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	scene := set.Scene("tavern")
	scene.Became(metrics.SceneRunning)
	set.Ready()
	// Output:
}
