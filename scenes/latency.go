package scenes

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is how long deliberations took on the wall clock, 1 µs to 60 s with
// three digits.
type Latency struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

// NewLatency makes an empty histogram.
func NewLatency() *Latency {
	return &Latency{h: hdrhistogram.New(1, int64(60*time.Second/time.Microsecond), 3)}
}

func (l *Latency) record(d time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.h.RecordValue(max(1, min(d.Microseconds(), l.h.HighestTrackableValue()))) // in range by construction
}

// Quantile is the latency below which q percent of the deliberations stayed.
func (l *Latency) Quantile(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.h.ValueAtQuantile(q)) * time.Microsecond
}
