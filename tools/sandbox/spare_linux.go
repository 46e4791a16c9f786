//go:build amd64 || arm64

package sandbox

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// spareFor is how long a worker waits for a job. It sees the mounts that the host had when
// it started, and has some 20 MiB.
const spareFor = 30 * time.Second

// spare is the worker that was started ahead: it is in its namespaces and has read nothing,
// and knows nothing of any call. The zero value has none.
type spare struct {
	started chan *process // gets it once it is started; nil = none was
	old     *time.Timer   // ends it
}

// toStart is about what a worker needs to start on a machine that others use, too.
const toStart = 30 * time.Millisecond

// atOnce reports whether a call with Command.More begins so soon after another one that a worker
// which was started between them may not be ready. The worker for the call after it starts beside
// it. Other calls start it at their end, where it takes no processor from the program.
func (b *Box) atOnce(began time.Time) bool {
	b.spareMu.Lock()
	defer b.spareMu.Unlock()
	return !began.Before(b.ended) && began.Sub(b.ended) < toStart // a call that began before the other one ended overlaps it
}

// moreEnded notes the end of a call with Command.More.
func (b *Box) moreEnded() {
	b.spareMu.Lock()
	defer b.spareMu.Unlock()
	b.ended = time.Now()
}

// keepSpare starts a worker for the call after one that has begun, unless there is a worker or no call will follow. It
// asks under the lock: a Rest behind the answer finds the worker.
func (b *Box) keepSpare(ctx context.Context, o outer, c *Command) {
	if c.More == nil || !o.plain() {
		return
	}
	b.spareMu.Lock()
	defer b.spareMu.Unlock()
	if b.spare.started != nil || ctx.Err() != nil || !c.More() {
		return
	}
	started := make(chan *process, 1)
	b.spare = spare{started: started, old: time.AfterFunc(spareFor, func() { b.endSpare(started) })}
	go func() {
		// Where it fails the next call will say why.
		p, _ := newProcess(o, nil, &Command{})
		started <- p
	}()
}

// takeSpare gives the worker that was started ahead to a call; nil = there is none.
func (b *Box) takeSpare(o outer, c *Command) *process {
	if !o.plain() || c.In != nil || c.Out != nil || c.Terminal != nil || c.Proxy != nil {
		return nil
	}
	b.spareMu.Lock()
	s := b.spare
	b.spare = spare{}
	b.spareMu.Unlock()
	if s.started == nil {
		return nil
	}
	s.old.Stop()
	p := <-s.started
	if p != nil && !p.waits() {
		p.end()
		return nil
	}
	return p
}

// waits reports whether a worker that got no job is still there.
func (p *process) waits() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == 0
}

// Rest ends the worker that waits for the next call, if there is one. A call whose Command.More
// reports true leaves one again.
func (b *Box) Rest() { b.endSpare(nil) }

// endSpare ends the worker that comes from a channel; nil = whichever there is.
func (b *Box) endSpare(which chan *process) {
	b.spareMu.Lock()
	s := b.spare
	if s.started == nil || which != nil && which != s.started {
		b.spareMu.Unlock()
		return
	}
	b.spare = spare{}
	b.spareMu.Unlock()
	s.old.Stop()
	if p := <-s.started; p != nil {
		p.end()
	}
}
