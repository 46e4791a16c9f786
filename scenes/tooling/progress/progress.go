// Package progress has the progress of the calls of a scene that are in flight.
//
// The executor of the scene owns a [Board] and calls [Board.Open] for each call. Reports of the
// call are accepted until the end function that Open returns is called, which it must be.
//
// # Promises
//
//  1. A call is reported at most once a second, with its last report, and once more at its end.
//     Reports that fall, or are no number, are ignored.
//  2. Nothing is kept of a call that has ended.
//
// # Not here
//
// The source of reports (tools/rpc, tools/mcp), secrets in them (scenes/tooling), and their
// display.
package progress

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"tavernsim/tools"
)

// Report is how far a call is that is out.
type Report struct {
	Agent, Tool string
	Begun, At   time.Time
	tools.Progress
}

// Board has the calls that are out and have said how far they are.
type Board struct {
	mu  sync.Mutex // guards out
	out map[*reporter]Report
}

// List is what the calls have said, the newest report first.
func (b *Board) List() (list []Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.out {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Report) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Agent, b.Agent))
	})
	return list
}

// perReport is how often a call is heard at most; what it says between is lost, but for the
// last.
const perReport = time.Second

// reporter hears how far one call is, and tells it at most once in a while.
type reporter struct {
	tell func(tools.Progress)

	mu    sync.Mutex // guards the following fields
	last  tools.Progress
	timer *time.Timer // runs after what was told; nil = nothing was
	waits bool        // last was not told yet
	ended bool
}

func (r *reporter) hear(p tools.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || p.Done < r.last.Done || !p.Tame() {
		return
	}
	if r.last = p; r.waits {
		return
	}
	if r.timer != nil {
		r.waits = true
		return
	}
	r.now()
}

// now tells the last report, and lets nothing be told for a while.
func (r *reporter) now() {
	r.waits = false
	r.tell(r.last)
	r.timer = time.AfterFunc(perReport, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer = nil; r.waits && !r.ended {
			r.now()
		}
	})
}

// end tells what waits. Nothing is heard after it.
func (r *reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits {
		r.tell(r.last)
	}
	if r.ended = true; r.timer != nil {
		r.timer.Stop()
	}
}

// Open lets a call say how far it is, by hear, until end. shown is told what is heard, and
// may change it.
func (b *Board) Open(agent, tool string, shown func(*tools.Progress)) (hear func(tools.Progress), end func()) {
	begun, r := time.Now(), &reporter{}
	r.tell = func(p tools.Progress) {
		shown(&p)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.out == nil {
			b.out = map[*reporter]Report{}
		}
		b.out[r] = Report{Agent: agent, Tool: tool, Begun: begun, At: time.Now(), Progress: p}
	}
	return r.hear, func() {
		r.end()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.out, r)
	}
}
