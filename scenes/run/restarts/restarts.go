// Package restarts continues a run after failures that it can survive: of a stage, or of a disk that
// was full. The caller of [Plan.Run] says how a run is started and resumed.
//
// # Promises
//
//  1. [Plan] restarts a failed scene after its backoff, at most max_restarts times without a wave of
//     that scene between two failures. The failures of another scene do not count. The caller that
//     starts a run stops the other scenes together with one that will be restarted (runner.Options.Restarted).
//  2. If the journal cannot be written, [Plan] tries the disk after 1 s, 2 s, up to [MaxPause], and
//     continues from the end of the journal. It waits at most Plan.DiskWait since the last stored
//     wave. Interrupting a wait leaves the run resumable.
//  3. If a run could not start the first time, [Plan] does not try again. A run has started when one
//     of its scenes runs.
//
// # Not here
//
// What runs a scene and closes everything (scenes/run/runner).
package restarts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/disk"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/run/room"
	"tavernsim/scenes/run/rundir"
)

// Forever is a wait for the disk without end.
const Forever = time.Duration(math.MaxInt64)

const (
	firstPause = time.Second
	// MaxPause bounds the time between two looks at the disk.
	MaxPause = 30 * time.Second
	// maxBackoffDoublings bounds the wait before a restart to 64 times the first.
	maxBackoffDoublings = 6
)

// Plan is how a run is continued. Each attempt continues from the journal.
type Plan struct {
	// Attempt runs until the run stops for some reason; resume is its directory, ""
	// the first time. The crashes are those since the last wave, by scene.
	Attempt func(resume string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error)
	// DiskWait is how long to wait for the disk; 0 = not at all.
	DiskWait time.Duration
	Tell     func(text string)
	Metrics  *metrics.Set
	// Guard gives the context that ends when a wait is interrupted, and is undone
	// by its second result; nil = nobody interrupts.
	Guard func(context.Context) (context.Context, context.CancelFunc)
	// Probe finds out whether a folder can be written; nil = room.Probe.
	Probe func(dir string) error
}

// attempts is the state between two attempts.
type attempts struct {
	Plan
	resume string
	sum    *rundir.Summary   // of the last attempt that came to one
	failed map[string]*row   // by scene
	waves  map[string]uint64 // durable ones, by scene: the most that an attempt came to
	outage *outage           // of the disk; nil = it works, as far as known
}

// row are the crashes of a scene without a wave between them.
type row struct {
	crashes []*scenes.Crash
	wave    uint64 // of the scene, at the first of them
}

// outage is a time in which the disk could not be written.
type outage struct {
	since time.Time
	pause time.Duration
}

// Run runs to the end, in any number of attempts.
func (p Plan) Run(ctx context.Context) (*rundir.Summary, error) {
	if p.Probe == nil {
		p.Probe = room.Probe
	}
	l := &attempts{Plan: p, waves: map[string]uint64{}, failed: map[string]*row{}}
	for {
		sum, err := p.Attempt(l.resume, l.crashes())
		if sum != nil {
			l.sum, l.resume = sum, sum.RunDir
		}
		switch {
		case err == nil || l.sum == nil:
			return l.sum, err
		case l.ofDisk(sum, err):
			if again, err := l.waitForDisk(ctx, err); !again {
				return l.sum, err
			}
		case sum != nil && l.restart(ctx, crashesIn(err)):
		default:
			return l.sum, err
		}
	}
}

// ofDisk reports whether the disk is to blame: the journal or the summary could
// not be written, or an attempt after such a failure could not begin.
func (l *attempts) ofDisk(sum *rundir.Summary, err error) bool {
	if _, ok := errors.AsType[*scenes.DiskFailure](err); ok {
		return true
	}
	if room.OfDisk(err) {
		return true
	}
	kind := protocol.KindOf(err)
	return sum == nil && l.outage != nil && (kind == protocol.KindLimit || kind == protocol.KindTransient)
}

// crashes are those in a row, by scene. A scene that has kept a wave since has kept its own.
func (l *attempts) crashes() map[string][]*scenes.Crash {
	var list map[string][]*scenes.Crash
	for id, r := range l.failed {
		if l.sum.WavesOf(id) > r.wave {
			delete(l.failed, id)
			continue
		}
		if list == nil {
			list = map[string][]*scenes.Crash{}
		}
		list[id] = r.crashes
	}
	return list
}

// crashesIn are the failures of scenes in an error.
func crashesIn(err error) (list []*scenes.Crash) {
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		for _, err := range all.Unwrap() {
			list = append(list, crashesIn(err)...)
		}
		return list
	}
	if c, ok := errors.AsType[*scenes.Crash](err); ok {
		list = append(list, c)
	}
	return list
}

// restart waits as long as the scenes that failed have to; false = one is given up, or none failed.
func (l *attempts) restart(ctx context.Context, crashed []*scenes.Crash) bool {
	var longest time.Duration
	for _, c := range crashed {
		r := l.failed[c.Scene]
		if now := l.sum.WavesOf(c.Scene); r == nil || now > r.wave {
			r = &row{wave: now}
			l.failed[c.Scene] = r
		}
		if len(r.crashes) >= c.MaxRestarts {
			return false
		}
		r.crashes = append(r.crashes, c)
		pause := c.Backoff << min(len(r.crashes)-1, maxBackoffDoublings)
		longest = max(longest, pause)
		l.Tell(fmt.Sprintf("%v\nrestarting it from the journal in %s (%d of %d)", c, pause, len(r.crashes), c.MaxRestarts))
	}
	if len(crashed) == 0 {
		return false
	}
	ctx, done := l.guard(ctx)
	defer done()
	return sleep(ctx, longest)
}

// waitForDisk returns true when the disk can be written again. When it is
// interrupted a run that can be resumed is no failure.
func (l *attempts) waitForDisk(ctx context.Context, cause error) (again bool, err error) {
	l.notice(cause)
	if l.DiskWait <= 0 {
		return false, cause
	}
	ctx, done := l.guard(ctx)
	defer done()
	for o := l.outage; ; o.pause = min(2*o.pause, MaxPause) {
		left := l.DiskWait - time.Since(o.since)
		if left <= 0 {
			l.Tell(fmt.Sprintf("the disk could not be written for %s (--disk-wait); go on later with: simd run --resume %s", l.DiskWait, l.resume))
			return false, cause
		}
		if !sleep(ctx, min(o.pause, left)) {
			if l.sum.Resumable {
				return false, nil
			}
			return false, cause
		}
		if l.Probe(l.journal()) == nil {
			l.Tell("the disk can be written again after " + time.Since(o.since).Round(time.Second).String() + "; going on from the journal")
			o.pause = min(2*o.pause, MaxPause) // for the next time, if no wave comes between
			return true, nil
		}
	}
}

// notice begins an outage, or continues the one before if no wave was kept since.
func (l *attempts) notice(cause error) {
	if came := l.further(); l.outage == nil || came {
		l.outage = &outage{since: time.Now(), pause: firstPause}
		l.tellOutage(cause)
	}
	for _, scene := range l.sum.IDs() {
		l.Metrics.Run("").Waits(scene)
	}
	l.Metrics.NotReady("waiting for the disk")
}

// further reports whether some scene has kept a wave since the last call. It compares
// scene by scene, because the summary lacks the waves of a scene that could not begin.
func (l *attempts) further() (came bool) {
	for _, scene := range l.sum.IDs() {
		if now := l.sum.WavesOf(scene); now > l.waves[scene] {
			l.waves[scene], came = now, true
		}
	}
	return came
}

func (l *attempts) tellOutage(cause error) {
	first, _, _ := strings.Cut(cause.Error(), "\n")
	text := first
	if free, total, ok := disk.Space(l.journal()); ok {
		text += fmt.Sprintf("\n%s: %s free of %s", l.journal(), room.Size(free), room.Size(total))
	}
	if l.DiskWait > 0 {
		text += "\nthe run waits, and nothing that was kept is lost: make room or repair the disk, and it goes on by itself; Ctrl-C ends it, to go on later"
	}
	l.Tell(text)
}

func (l *attempts) journal() string { return filepath.Join(l.resume, rundir.JournalDir) }

func (l *attempts) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Guard == nil {
		return ctx, func() {}
	}
	return l.Guard(ctx)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
