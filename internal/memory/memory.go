// Package memory sets how far the heap grows before the garbage collector runs.
//
// # Promises
//
//  1. A small heap may grow fourfold, or by 32 MiB, so that the collector is not the bottleneck; a
//     large one, of many agents or of many requests in flight, by 384 MiB or half of itself.
//  2. The collector runs while no goroutine runs, twice in a row: a process that waits for answers of
//     models collects once it has used a quarter of its allowed growth, so that there is memory for the answers. A process
//     that waits in system calls, as for a disk, looks the same, and collects more often than necessary.
package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// What the heap may grow by before the collector works again: percent of what is in use, and bytes.
const (
	tinyGrowth  = 800
	mostGrowth  = 300
	leastGrowth = 50
	spareGrowth = 32 << 20
	freeGrowth  = 384 << 20

	paceEvery = 100 * time.Millisecond
)

// What Pace reads, by its place in the samples.
const (
	liveBytes = iota // what the last collection left
	stackBytes
	heapBytes // now, with garbage
	goalBytes // at which the next collection begins
	running   // goroutines, of which Pace is one
	runnable
)

// Pace sets the garbage collector's percentage by what is in use, for as long as the process
// lives. Setting it stops all goroutines for a moment; therefore a small change is none.
func Pace() {
	samples := []metrics.Sample{
		liveBytes: {Name: "/gc/heap/live:bytes"}, stackBytes: {Name: "/gc/scan/stack:bytes"},
		heapBytes: {Name: "/memory/classes/heap/objects:bytes"}, goalBytes: {Name: "/gc/heap/goal:bytes"},
		running: {Name: "/sched/goroutines/running:goroutines"}, runnable: {Name: "/sched/goroutines/runnable:goroutines"},
	}
	read := func(i int) uint64 { return samples[i].Value.Uint64() }
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	rested := false // at the last tick, too
	for now := 0; ; <-tick.C {
		metrics.Read(samples)
		if next := growth(read(liveBytes) + read(stackBytes)); next < now-now/8 || next > now+now/8 {
			debug.SetGCPercent(next)
			now = next
		}
		rests := read(running) <= 1 && read(runnable) == 0
		if rests && rested && used(read(liveBytes), read(heapBytes), read(goalBytes)) {
			runtime.GC()
		}
		rested = rests
	}
}

// used reports whether a heap has used a quarter of the room between what was left and its goal.
func used(live, heap, goal uint64) bool {
	return heap > live && goal > live && heap-live > (goal-live)/4
}

func growth(inUse uint64) int {
	inUse = max(inUse, 1)
	return int(max(leastGrowth, min(mostGrowth, freeGrowth*100/inUse), min(tinyGrowth, spareGrowth*100/inUse)))
}
