package bench

import (
	"runtime"
	"slices"
	"time"
)

// Spread is what several rounds gave: nanoseconds, the median counts.
type Spread struct {
	Median float64 `json:"median_ns"`
	Min    float64 `json:"min_ns"`
	Max    float64 `json:"max_ns"`
	CPU    float64 `json:"cpu_ns"` // of all cores, the median
	Allocs float64 `json:"allocs"` // of one, the median
}

// side is one of several ways to do the same.
type side struct {
	run              func() int // does it and says how often
	wall, cpu, alloc []float64
}

// alternate lets the sides take turns, so that whatever else the machine does
// meets all of them. Before each turn the garbage of the one before is gone.
func alternate(rounds int, sides ...*side) {
	for range rounds {
		for _, s := range sides {
			s.once()
		}
	}
}

func (s *side) once() {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	n := float64(s.run())
	wall := time.Since(start)
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	s.wall = append(s.wall, float64(wall)/n)
	s.cpu = append(s.cpu, float64(cpu)/n)
	s.alloc = append(s.alloc, float64(after.Mallocs-before.Mallocs)/n)
}

func (s *side) spread() Spread {
	return Spread{Median: median(s.wall), Min: slices.Min(s.wall), Max: slices.Max(s.wall), CPU: median(s.cpu), Allocs: median(s.alloc)}
}

// ratio compares the CPU time of all cores round by round: wall time tells more
// about who else was at work than about the two sides.
func ratio(a, b *side) float64 { return median(ratios(a, b)) }

// ratioRange is the smallest and the largest of the rounds.
func ratioRange(a, b *side) [2]float64 {
	r := ratios(a, b)
	return [2]float64{slices.Min(r), slices.Max(r)}
}

func ratios(a, b *side) []float64 {
	r := make([]float64, len(a.cpu))
	for i := range r {
		r[i] = a.cpu[i] / b.cpu[i]
	}
	return r
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// percentile of durations, in nanoseconds.
func percentile(list []time.Duration, p float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return float64(list[min(len(list)-1, int(p*float64(len(list))))])
}
