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

// BenchmarkWave opens tasks of as many agents in one wave.
func BenchmarkWave(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("opens=%d", n), func(b *testing.B) {
			requests := make([]Request, n)
			for i := range requests {
				requests[i] = open(fmt.Sprintf("task-%d", i), fmt.Sprintf("agent_%d", i), time.Hour)
				requests[i].Most = 32
			}
			b.ReportAllocs()
			for b.Loop() {
				s := State{}
				s.Decide(Rules{Tick: time.Second}, 1, requests, nil)
				if s.Len() != n {
					b.Fatal("tasks are gone")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// BenchmarkRound: beside more and more open tasks, an agent counts its own and finds one, which ends, and another
// is opened.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{100, 1000, 9000} {
		b.Run(fmt.Sprintf("open=%d", n), func(b *testing.B) {
			s := State{}
			for i := range n {
				s.Apply(&Opened{Task: open(fmt.Sprintf("task-%d", i), fmt.Sprintf("agent_%d", i), time.Hour).Task})
			}
			again := open("task-50", "agent_50", time.Hour).Task
			b.ReportAllocs()
			for b.Loop() {
				if s.OpenOf("agent_50") != 1 || s.Task("task-50") == nil {
					b.Fatal("a task is gone")
				}
				s.Apply(&Ended{ID: "task-50", Agent: "agent_50"})
				s.Apply(&Opened{Task: again})
			}
		})
	}
}

// BenchmarkLeave: an agent without tasks leaves, beside more and more tasks between others.
func BenchmarkLeave(b *testing.B) {
	for _, n := range []int{100, 1000, 9000} {
		b.Run(fmt.Sprintf("open=%d", n), func(b *testing.B) {
			s := State{}
			for i := range n {
				q := open(fmt.Sprintf("task-%d", i), fmt.Sprintf("agent_%d", i), time.Hour)
				to := Assignment{Type: "job", To: []string{fmt.Sprintf("agent_%d", i+1)}}
				q.Task.Kind, q.Task.Params = KindAgent, to.Encode()
				s.Apply(&Opened{Task: q.Task})
			}
			for b.Loop() {
				if facts := s.Decide(Rules{}, 1, []Request{{Leave: true, Task: Task{Agent: "nobody"}}}, nil); len(facts) != 0 {
					b.Fatal(facts)
				}
			}
		})
	}
}
