package timing

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Rests are how long the requests of a turn are out, by class of its agent: a moving mean. The stage
// changes them; any goroutine may read them.
type Rests []atomic.Int64

// weight is the share of one turn in the mean, as 1 of so many.
const weight = 8

// Took notes a turn.
func (r Rests) Took(class uint16, d time.Duration) {
	if d > 0 {
		mean := r[class].Load()
		if mean == 0 {
			mean = int64(d)
		}
		r[class].Store(mean + (int64(d)-mean)/weight)
	}
}

// Of is what a turn is expected to take, as a power of two: classes that take about the same leave
// in the order in which they come.
func (r Rests) Of(class uint16) time.Duration {
	if mean := r[class].Load(); mean > 0 {
		return 1 << (bits.Len64(uint64(mean)) - 1)
	}
	return 0
}
