//go:build !linux

package alarm

import "time"

// Alarm is not known on this system: Go's timers may be late.
type Alarm struct{}

// Set does nothing.
func (*Alarm) Set(time.Duration) (at time.Duration) { return 0 }

// End does nothing.
func (*Alarm) End(time.Duration) {}
