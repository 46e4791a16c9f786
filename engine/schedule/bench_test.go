package schedule

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

type plainHeap []Tick

func (h plainHeap) Len() int           { return len(h) }
func (h plainHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h plainHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *plainHeap) Push(x any)        { *h = append(*h, x.(Tick)) }
func (h *plainHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// BenchmarkTurn is a whole turn in a town of walkers, as dense as the town of `simd
// bench schedule`: handed out, ended, committed. heap-ns is a push and a pop of Go's
// heap with as many entries, in the same run.
func BenchmarkTurn(b *testing.B) {
	for _, mode := range []Mode{Tracked, Speculative} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("mode=%d/agents=%d", mode, n), func(b *testing.B) {
				cfg, agents := walkers(n, 4, 1)
				cfg.Mode = mode
				r := rand.New(rand.NewPCG(1, 1))
				side := int32(24)
				for side*side < int32(n)*560 {
					side++
				}
				for i := range agents {
					agents[i].Place = Cell{r.Int32N(side), r.Int32N(side)}
				}
				s, err := New(cfg, agents)
				if err != nil {
					b.Fatal(err)
				}
				var out []Turn
				done, first, count := make([]int, n), 0, map[int]int{0: n}
				b.ResetTimer()
				for range b.N {
					for t, ok := s.Next(); ok; t, ok = s.Next() {
						out = append(out, t)
					}
					i := r.IntN(len(out))
					t := out[i]
					out[i] = out[len(out)-1]
					out = out[:len(out)-1]
					to := t.Place
					if r.IntN(4) == 0 {
						to.X = min(max(to.X+r.Int32N(3)-1, 0), side-1)
					}
					if err := s.Ended(t.Agent, End{Next: t.At + 1, Place: to}); err != nil {
						b.Fatal(err)
					}
					for c, ok := s.Check(); ok; c, ok = s.Check() {
						if _, _, err := s.Checked(c, true); err != nil {
							b.Fatal(err)
						}
					}
					count[done[t.Agent]]--
					done[t.Agent]++
					count[done[t.Agent]]++
					for ; count[first] == 0; first++ {
						for a := range n {
							next, place := s.after(uint32(a))
							if err := s.Committed(uint32(a), Tick(first), End{Next: next, Place: place}); err != nil {
								b.Fatal(err)
							}
						}
					}
				}
				b.StopTimer()
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				h := make(plainHeap, 0, n)
				for range n {
					heap.Push(&h, Tick(r.Int64N(1e9)))
				}
				began := time.Now()
				for range b.N {
					heap.Push(&h, heap.Pop(&h).(Tick)+Tick(r.Int64N(1e6)))
				}
				beside := float64(time.Since(began).Nanoseconds()) / float64(b.N)
				b.ReportMetric(beside, "heap-ns")
				b.ReportMetric(ns/beside, "x-heap")
			})
		}
	}
}
