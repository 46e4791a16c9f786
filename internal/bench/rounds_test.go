package bench

import (
	"runtime"
	"slices"
	"testing"
)

// side is one of several ways to do the same.
type side struct {
	run        func() int // does it and says how often
	cpu, alloc []float64  // nanoseconds of all cores and allocations of one, by round
}

// alternate lets the sides take turns, one in each iteration, so that whatever else
// the machine does meets all of them. Before each turn the garbage of the one before
// is gone, and the first round, which touches all memory, does not count.
func alternate(b *testing.B, sides ...*side) {
	for _, s := range sides {
		s.run()
	}
	for b.Loop() {
		for _, s := range sides {
			s.once()
		}
	}
}

func (s *side) once() {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	n := float64(s.run())
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	s.cpu = append(s.cpu, float64(cpu)/n)
	s.alloc = append(s.alloc, float64(after.Mallocs-before.Mallocs)/n)
}

// report shows what one of a side costs, in CPU time of all cores: wall time tells
// more about who else was at work than about the sides.
func (s *side) report(b *testing.B, name string) {
	b.ReportMetric(median(s.cpu), name+"-cpu-ns")
	b.ReportMetric(median(s.alloc), name+"-allocs")
}

// ratio compares the CPU time of two sides round by round.
func ratio(a, b *side) float64 {
	r := make([]float64, len(a.cpu))
	for i := range r {
		r[i] = a.cpu[i] / b.cpu[i]
	}
	return median(r)
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}
