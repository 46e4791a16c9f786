package alarm

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Alarm wakes the process at the moments for which answers wait. In a process that does nothing else, Go waits for its
// timers and for the network together, in whole milliseconds, and timers fire half a millisecond late. A timer
// of the system is as exact as its clock, and Go's own are looked at when it fires. The zero Alarm waits for nothing;
// a nil one does nothing.
type Alarm struct {
	mu    sync.Mutex
	born  time.Time
	at    []time.Duration // since it was born; the earliest is the last
	timer int             // descriptor of file
	file  *os.File        // nil = nobody waits, and no goroutine runs
}

// Set asks for a moment; its end takes that back.
func (a *Alarm) Set(d time.Duration) (end func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.born.IsZero() {
		a.born = time.Now()
	}
	at := time.Since(a.born) + d
	i, _ := a.find(at)
	a.at = slices.Insert(a.at, i, at)
	if a.file == nil {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil { // Go's timer is late, no more
			a.at = a.at[:0]
			return func() {}
		}
		a.timer, a.file = fd, os.NewFile(uintptr(fd), "timer")
		go a.ring(a.file)
	}
	if i == len(a.at)-1 {
		a.next()
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if i, found := a.find(at); found {
			a.at = slices.Delete(a.at, i, i+1)
			a.rest()
		}
	}
}

func (a *Alarm) find(at time.Duration) (int, bool) {
	return slices.BinarySearchFunc(a.at, at, func(x, at time.Duration) int { return int(at - x) })
}

// next sets the timer to the earliest moment.
func (a *Alarm) next() {
	d := max(a.at[len(a.at)-1]-time.Since(a.born), 1)
	_ = unix.TimerfdSettime(a.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil) // or Go's timer is late
}

// rest closes the timer if nobody waits.
func (a *Alarm) rest() {
	if len(a.at) == 0 && a.file != nil {
		_ = a.file.Close()
		a.file = nil
	}
}

// ring goes from moment to moment until nobody waits.
func (a *Alarm) ring(file *os.File) {
	var fired [8]byte
	for {
		if _, err := file.Read(fired[:]); err != nil {
			return // it was closed
		}
		a.mu.Lock()
		if a.file != file {
			a.mu.Unlock()
			return
		}
		for now := time.Since(a.born); len(a.at) > 0 && a.at[len(a.at)-1] <= now; {
			a.at = a.at[:len(a.at)-1]
		}
		if a.rest(); a.file != nil {
			a.next()
		}
		a.mu.Unlock()
	}
}
