package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// reading shows on a terminal how far a long walk over a journal is: after a
// second, five times a second.
type reading struct {
	w     io.Writer
	next  time.Time
	shown bool
}

// newReading is nil where nobody looks.
func newReading(w io.Writer, quiet bool) *reading {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &reading{w: w, next: time.Now().Add(time.Second)}
}

// read is told how many of how many facts were read.
func (r *reading) read(done, total uint64) {
	now := time.Now()
	if now.Before(r.next) || total == 0 {
		return
	}
	r.next, r.shown = now.Add(terminalEvery), true
	share := min(1, float64(done)/float64(total))
	fmt.Fprintf(r.w, "\r\x1b[Kreading the journal  %s %3.0f%%  %s of %s facts", bar(share), 100*share, human(float64(done)), human(float64(total)))
}

// clear takes the line away.
func (r *reading) clear() {
	if r != nil && r.shown {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
}
