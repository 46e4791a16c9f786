package main

import (
	"fmt"
	"io"
	"time"

	"tavernsim/internal/terminal"
)

// reading shows on a terminal how far a long walk over a journal is: after a
// second, five times a second.
type reading struct {
	s     *terminal.Screen
	next  time.Time
	shown bool
}

// newReading is nil where nobody looks.
func newReading(w io.Writer, quiet bool) *reading {
	s, ok := w.(*terminal.Screen)
	if quiet || !ok {
		return nil
	}
	return &reading{s: s, next: time.Now().Add(time.Second)}
}

// read is told how many of how many facts were read.
func (r *reading) read(done, total uint64) {
	now := time.Now()
	if now.Before(r.next) || total == 0 {
		return
	}
	r.next, r.shown = now.Add(terminalEvery), true
	share := min(1, float64(done)/float64(total))
	r.s.Rewrite(fmt.Sprintf("reading the journal  %s %3.0f%%  %s of %s facts", bar(share), 100*share, human(float64(done)), human(float64(total))))
}

// clear takes the line away.
func (r *reading) clear() {
	if r != nil && r.shown {
		r.s.Rewrite("")
	}
}
