package tool

import (
	"time"

	"tavernsim/protocol"
)

// Kinds of errors that calls of a project's tools have.
const (
	KindRateLimited protocol.ErrorKind = "rate_limited" // too many calls
	KindBadOutput   protocol.ErrorKind = "bad_output"   // the output breaks its schema
)

// Bounds of repetitions.
const (
	MaxRetries = 10 // of a call, after its first attempt
	firstPause = 200 * time.Millisecond
	maxPause   = 10 * time.Second
)

// MayPass reports whether a failure of this kind may pass by itself, so that a call which asks
// for repetitions (protocol.Call.Retry) is made again.
func MayPass(kind protocol.ErrorKind) bool {
	return kind == protocol.KindTransient || kind == KindRateLimited || kind == protocol.KindTimeout
}

// Attempts are those of a call that is repeated.
type Attempts struct {
	Retries int           // that the call asks for
	Timeout time.Duration // that is left for all attempts; 0 = there is no bound
	Draw    protocol.Draw // of the pauses
	Made    int           // that have failed
}

// Again takes the failure of an attempt that took so long, and gives the pause before the next
// one; false = there is none.
func (a *Attempts) Again(kind protocol.ErrorKind, took time.Duration) (pause time.Duration, again bool) {
	if a.Made++; a.Made > min(a.Retries, MaxRetries) || !MayPass(kind) {
		return 0, false
	}
	pause = Pause(a.Made, &a.Draw)
	if a.Timeout == 0 {
		return pause, true
	}
	a.Timeout -= took + pause
	return pause, a.Timeout > 0
}

// Pause is the time before the next attempt of a call that was made so often: 200 ms, doubled
// each time up to 10 s, ±20 %.
func Pause(attempts int, draw *protocol.Draw) time.Duration {
	d := min(firstPause<<min(attempts-1, 10), maxPause)
	return time.Duration(float64(d) * (0.8 + 0.4*draw.Float64()))
}
