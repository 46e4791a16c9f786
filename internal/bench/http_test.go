package bench

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tavernsim/internal/source"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
)

// Deliberations over HTTP ask the server once each, beside them the bare client asks as often, and nothing is left behind.
func TestDeliberationOverHTTP(t *testing.T) {
	for name, latency := range map[string]time.Duration{"at once": 0, "with latency": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			report := &source.Report{}
			o := mock.Options{Model: scripted.Read("bench.yaml", []byte(MockScript), report)}
			if err := report.Err(); err != nil {
				t.Fatal(err)
			}
			if latency > 0 {
				var err error
				if o.Latency, err = mock.ParseLatency("fixed=" + latency.String()); err != nil {
					t.Fatal(err)
				}
			}
			server, err := mock.New(o)
			if err != nil {
				t.Fatal(err)
			}
			listens := httptest.NewServer(server)
			d, err := RunDeliberation(DeliberationOptions{Agents: 40, Ticks: 2, Over: &OverHTTP{URL: listens.URL + "/v1", Latency: latency, AtOnce: 20}, Dir: t.TempDir()})
			listens.Close()
			if err != nil {
				t.Fatal(err)
			}
			if r := server.Report(0); d.Deliberations != 80 || r.Requests != 160 || r.InFlight != 0 || r.Outcomes["chat/completions"]["ok"] != 160 {
				t.Errorf("%d deliberations, the server has %+v; want 80, and as many requests of theirs as of the bare client", d.Deliberations, r)
			}
			h := d.HTTP
			if h == nil || h.AtOnce != 20 || h.BarePerSecond <= 0 || h.BareCPUNsPer < 0 {
				t.Fatalf("%+v", h)
			}
			if passed := latency > 0; passed != (h.Stretch >= 1) || passed != (h.BareStretch >= 1) {
				t.Errorf("nobody is faster than the server: %+v", h)
			}
			if text := Text(d, Limits{}); !strings.Contains(text, "bare") {
				t.Error(text)
			}
			for until := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
				if err = goleak.Find(before); err == nil || time.Now().After(until) {
					break
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// More requests at once than a process may open files are refused before the run begins.
func TestOverHTTPNeedsFiles(t *testing.T) {
	o := &OverHTTP{AtOnce: 10_000}
	for _, c := range []struct {
		agents int
		files  uint64
		fits   bool
	}{{20_000, 10_000 + spareFiles, true}, {20_000, 10_000 + spareFiles - 1, false}, {100, 1024, true}, {20_000, 0, true}} {
		if err := o.fits(c.agents, c.files); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
