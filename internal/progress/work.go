package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/run/rundir"
)

// Work shows on w how far a long step is, from its second second on: on a terminal a
// line that rewrites itself, elsewhere a line now and then. done clears the line.
func Work(w io.Writer, quiet bool) (say rundir.Progress, done func()) {
	if quiet {
		return nil, func() {}
	}
	l := &workLine{w: w, began: time.Now(), every: plainEvery / 5}
	if s, ok := w.(*terminal.Screen); ok {
		l.screen, l.every = s, terminalEvery
	}
	return l.say, l.done
}

// Reading is Work of who reads a journal: for a terminal alone.
func Reading(w io.Writer, quiet bool) (read func(done, total uint64), clear func()) {
	_, seen := w.(*terminal.Screen)
	say, clear := Work(w, quiet || !seen)
	if say == nil {
		return nil, clear
	}
	return func(done, total uint64) { say("", "reading the journal", done, total) }, clear
}

type workLine struct {
	w           io.Writer
	screen      *terminal.Screen // nil: w is none
	every       time.Duration
	mu          sync.Mutex
	what        string
	began, last time.Time
	shown       bool
}

// quietFor is how long a step may take without a word.
const quietFor = time.Second

func (l *workLine) say(scene, doing string, done, total uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	what := doing
	if scene != "" {
		what = scene + ": " + doing
	}
	if what != l.what {
		l.what, l.began = what, now
	}
	if now.Sub(l.began) < quietFor || now.Sub(l.last) < l.every {
		return
	}
	l.last = now
	share := min(1, float64(done)/float64(max(1, total)))
	line := fmt.Sprintf("%s  %s %3.0f%%  fact %s of %s", l.what, bar(share), 100*share, terminal.Short(float64(done)), terminal.Short(float64(total)))
	if share > 0 {
		left := time.Duration(float64(now.Sub(l.began)) * (1 - share) / share)
		line += fmt.Sprintf("  ETA %s", left.Round(time.Second))
	}
	if l.screen != nil {
		l.screen.Rewrite(line)
		l.shown = true
		return
	}
	fmt.Fprintln(l.w, line)
}

func (l *workLine) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		l.screen.Rewrite("")
	}
}
