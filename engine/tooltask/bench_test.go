package tooltask

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"tavernsim/protocol"
)

// BenchmarkOpen opens 10,000 tasks and gives the memory that each of them holds.
func BenchmarkOpen(b *testing.B) {
	const n = 10_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var held float64
	for b.Loop() {
		before := heap()
		s := State{}
		for i := range n {
			q := open(fmt.Sprintf("task-%d", i), fmt.Sprintf("agent_%d", i), time.Hour)
			q.Task.Params = protocol.Encode(map[string]any{"q": fmt.Sprintf("owl number %d in the rain", i), "size": int64(i)})
			s.Decide(Rules{Tick: time.Second}, protocol.Time(i), []Request{q}, nil)
		}
		held = float64(heap()-before) / n
		if len(s.Missing(protocol.Time(100*time.Hour), func(string) bool { return false })) != n {
			b.Fatal("tasks are gone")
		}
		runtime.KeepAlive(&s)
	}
	b.ReportMetric(held, "B/task")
}
