package timing

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Serial adds up what of a scene runs on one core whatever the number of cores: its stage, and its
// services, which decide one after the other.
type Serial struct {
	Clock    func() time.Duration // processor time of the calling thread
	turns    atomic.Int64         // the stage, while agents deliberate
	early    atomic.Int64         // a service beside both
	services atomic.Int64         // services, and the stage while they decide
}

// Began is when a part begins that runs alone; nil measures nothing.
func (s *Serial) Began() time.Duration {
	if s == nil {
		return 0
	}
	runtime.LockOSThread() // the clock is of a thread
	return s.Clock()
}

// Turn ends a part of the stage's work while agents deliberate.
func (s *Serial) Turn(began time.Duration) {
	if s != nil {
		s.turns.Add(int64(s.Clock() - began))
		runtime.UnlockOSThread()
	}
}

// Service ends a part of a service's work, or of the stage's while it decides.
func (s *Serial) Service(began time.Duration) {
	if s != nil {
		s.services.Add(int64(s.Clock() - began))
		runtime.UnlockOSThread()
	}
}

// Early ends a part of a service's work while agents deliberate.
func (s *Serial) Early(began time.Duration) {
	if s != nil {
		s.early.Add(int64(s.Clock() - began))
		runtime.UnlockOSThread()
	}
}

// Took is what each took.
func (s *Serial) Took() (turns, early, services time.Duration) {
	return time.Duration(s.turns.Load()), time.Duration(s.early.Load()), time.Duration(s.services.Load())
}
