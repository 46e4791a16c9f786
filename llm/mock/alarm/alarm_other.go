//go:build !linux

package alarm

import "time"

// Alarm is not known on this system: Go's timers may be late.
type Alarm struct{}

// Moment is none.
type Moment struct{}

// Set does nothing.
func (*Alarm) Set(time.Duration) *Moment { return nil }

// End does nothing.
func (*Alarm) End(*Moment) {}
