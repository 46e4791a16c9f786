// Package memory chooses how much the garbage collector lets the heap grow.
//
// # Promises
//
//  1. A small heap may grow fourfold, or by 32 MiB, so that the collector is not the wall; a
//     large one, of many agents or of many requests in flight, by 384 MiB or half of itself.
package memory

import (
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

// Pace sets the garbage collector's percentage by what is in use, for as long as the process
// lives. Setting it stops all goroutines for a moment; therefore a small change is none.
func Pace() {
	inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	for now := 0; ; <-tick.C {
		metrics.Read(inUse)
		if next := growth(inUse[0].Value.Uint64() + inUse[1].Value.Uint64()); next < now-now/8 || next > now+now/8 {
			debug.SetGCPercent(next)
			now = next
		}
	}
}

func growth(inUse uint64) int {
	inUse = max(inUse, 1)
	return int(max(leastGrowth, min(mostGrowth, freeGrowth*100/inUse), min(tinyGrowth, spareGrowth*100/inUse)))
}
