package alarm

import (
	"container/heap"
	"os"
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
	at    moments
	timer int      // descriptor of file
	file  *os.File // nil = nobody waits, and no goroutine runs
}

// apart is the least time between two moments at which the system's timer fires: among thousands of answers that are due
// together, it would take more of a processor than they do.
const apart = 50 * time.Microsecond

// Moment is what [Alarm.Set] asked for. A nil one is none.
type Moment struct {
	at    time.Duration // since the alarm was born
	place int           // among the moments; -1 = it is none of them any more
}

// moments are a heap: the earliest is the first.
type moments []*Moment

// Len implements heap.Interface.
func (m moments) Len() int { return len(m) }

// Less implements heap.Interface.
func (m moments) Less(i, j int) bool { return m[i].at < m[j].at }

// Swap implements heap.Interface.
func (m moments) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].place, m[j].place = i, j
}

// Push implements heap.Interface.
func (m *moments) Push(x any) {
	at := x.(*Moment)
	at.place = len(*m)
	*m = append(*m, at)
}

// Pop implements heap.Interface.
func (m *moments) Pop() any {
	last := len(*m) - 1
	at := (*m)[last]
	at.place, (*m)[last] = -1, nil
	*m = (*m)[:last]
	return at
}

// Set asks for the moment d from now, and gives it for [Alarm.End].
func (a *Alarm) Set(d time.Duration) *Moment {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.born.IsZero() {
		a.born = time.Now()
	}
	at := &Moment{at: time.Since(a.born) + d}
	heap.Push(&a.at, at)
	if a.file == nil {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil { // Go's timer is late, no more
			heap.Pop(&a.at) // there is no other
			return at
		}
		a.timer, a.file = fd, os.NewFile(uintptr(fd), "timer")
		go a.ring(a.file)
	}
	if at.place == 0 {
		a.next(0)
	}
	return at
}

// End takes a moment back, if it has not come: nobody waits for it any more.
func (a *Alarm) End(at *Moment) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.place < 0 || at.at <= time.Since(a.born) {
		return // the timer has fired for it, or will
	}
	heap.Remove(&a.at, at.place)
	a.rest()
}

// next sets the timer to the earliest moment, but not sooner than after some time.
func (a *Alarm) next(least time.Duration) {
	d := max(a.at[0].at-time.Since(a.born), least, 1)
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
		for now := time.Since(a.born); len(a.at) > 0 && a.at[0].at <= now; {
			heap.Pop(&a.at)
		}
		if a.rest(); a.file != nil {
			a.next(apart)
		}
		a.mu.Unlock()
	}
}
