package httpcall

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"time"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// BenchmarkThousandCalls makes 1,000 calls at once to a server that answers after 100 ms,
// and as many bare requests: ratio is wall time to wall time, at most 1.3. Goroutines and memory
// of a call are counted while all are out, with those of the server: at most 2 beside its own,
// and KiB/call, which is the heap and the stacks, at most 32 beside the KiB of a bare request.
func BenchmarkThousandCalls(b *testing.B) {
	const calls, delay = 1000, 100 * time.Millisecond
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(delay) //nolint:forbidigo // a server that takes its time
		_, _ = io.WriteString(w, "done")
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		b.Fatal(err)
	}
	tool := &manifest.Tool{ID: "t", Implementation: manifest.Implementation{Type: manifest.HTTP, URL: s.URL + "/"}, Execution: manifest.Execution{Repeat: manifest.Free}, Needs: []string{"net:" + u.Host}}
	tool.Check()
	x := New()
	defer x.Close()
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer bare.CloseIdleConnections()
	var own, other time.Duration
	var goroutines, kib, kibBare float64
	for b.Loop() {
		before := held()
		other += together(calls, func() { kibBare = max(kibBare, (held()-before)/calls/1024) }, func() {
			r, err := bare.Get(s.URL)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		})
		before = held()
		were := runtime.NumGoroutine()
		own += together(calls, func() {
			goroutines = max(goroutines, float64(runtime.NumGoroutine()-were)/calls)
			kib = max(kib, (held()-before)/calls/1024)
		}, func() {
			if r := tools.Run(b.Context(), x, &tools.Call{Tool: tool, Key: "k"}, tools.Options{}); r.Status != tools.OK {
				b.Errorf("%+v", r.Error)
			}
		})
	}
	b.ReportMetric(own.Seconds()/other.Seconds(), "ratio")
	b.ReportMetric(goroutines, "goroutines/call")
	b.ReportMetric(kib, "KiB/call")
	b.ReportMetric(kibBare, "KiB/bare")
}

// held is what the heap and the stacks have, in bytes.
func held() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

func together(n int, halfway, f func()) time.Duration {
	begun := time.Now()
	var all sync.WaitGroup
	for range n {
		all.Go(f)
	}
	if halfway != nil {
		time.AfterFunc(70*time.Millisecond, halfway)
	}
	all.Wait()
	return time.Since(begun)
}
