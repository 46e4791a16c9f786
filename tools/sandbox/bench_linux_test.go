package sandbox

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkBesideAForkBomb is work of the engine (a hash of 64 KiB, about 50 µs, each after a
// pause of 1 ms) while a program forks as much as it may, beside the same work alone; both
// take turns. x-p50 and x-p99 are the medians of the ratios of the rounds.
func BenchmarkBesideAForkBomb(b *testing.B) {
	x, self := box(b), reachable(b)
	var p50, p99 []float64
	for b.Loop() {
		alone := latencies()
		done, started := make(chan error, 1), make(chan struct{})
		go func() {
			r, err := x.Run(b.Context(), Command{
				Argv: []string{"/test/self", "inside", "bomb"}, Mounts: []Mount{{Host: self, Inside: "/test/self"}}, Limits: Limits{Time: 2 * time.Second}, Hard: true,
				Started: func(int) { close(started) },
			})
			if err == nil && r.End != TimedOut {
				err = fmt.Errorf("the bomb ended by itself: %+v", r)
			}
			done <- err
		}()
		<-started
		beside := latencies()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		p50 = append(p50, float64(at(beside, 50))/float64(at(alone, 50)))
		p99 = append(p99, float64(at(beside, 99))/float64(at(alone, 99)))
	}
	slices.Sort(p50)
	slices.Sort(p99)
	b.ReportMetric(p50[len(p50)/2], "x-p50")
	b.ReportMetric(p99[len(p99)/2], "x-p99")
}

// bomb forks for ever, and so does each of its children, which run no Go code but these lines.
//
//go:norace
func bomb() {
	for {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	}
}

// latencies are how long the same work took, many times, from the moment it was due.
func latencies() (list []time.Duration) {
	block := make([]byte, 64<<10)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		due := <-tick.C
		_ = sha256.Sum256(block)
		list = append(list, time.Since(due))
	}
	slices.Sort(list)
	return list
}

func at(list []time.Duration, percent int) time.Duration { return list[len(list)*percent/100] }
