package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"tavernsim/cmd/simd/cli"
	"tavernsim/scenes/run/runner"
)

// running is what signals do to a run.
type running interface {
	Interrupt()
	Pause(ctx context.Context) bool
	Continue()
	Reload() (changed []string, err error)
}

// watchSignals stops gracefully at the first signal and at once at the second,
// from before the run stands, which comes through ready, until ctx ends. Both are heard while
// the run is paused or reads files again. A hang-up that came before the run stands, or between two
// lives of it, counts when it does.
func watchSignals(ctx context.Context, w io.Writer, c, hangups <-chan os.Signal, ready <-chan running, atOnce func(io.Writer, running)) <-chan struct{} {
	done, work, worked := make(chan struct{}), make(chan func(), cap(c)), make(chan struct{})
	go func() {
		defer close(worked)
		for do := range work {
			if ctx.Err() == nil { // else the run has given its directory back
				do()
			}
		}
	}()
	go func() {
		defer close(done)
		defer func() { close(work); <-worked }()
		var r running
		stopping, again := false, false
		goesOn, stop := context.WithCancel(ctx) // until it is stopping
		defer stop()
		later := func(do func()) {
			select {
			case work <- do:
			default: // so much waits that once more changes nothing
			}
		}
		for {
			select {
			case <-ctx.Done():
				if again && r == nil {
					reload(w, nil)
				}
				return
			case r = <-ready:
				if stopping {
					r.Interrupt()
				} else if now := r; again {
					later(func() { reload(w, now) })
				}
			case <-hangups:
				if again = true; r != nil {
					now := r
					later(func() { reload(w, now) })
				}
			case s := <-c:
				now := r
				switch {
				case s == syscall.SIGTSTP:
					later(func() { pauseProcess(goesOn, w, now) })
				case stopping:
					atOnce(w, r)
				default:
					stopping = true
					stop()
					fmt.Fprintln(w, "\nstopping after the current moment; press Ctrl-C again to stop at once")
					if r != nil {
						r.Interrupt()
					}
				}
			}
		}
	}()
	return done
}

func stopAtOnce(w io.Writer, r running) {
	if r, is := r.(*runner.Runner); is {
		fmt.Fprintf(w, "\nstopped at once; what was kept is safe: simd run --resume %s\n", r.Dir)
	}
	os.Exit(cli.ExitInterrupted)
}

// pauseProcess pauses the scenes, then the process as Ctrl-Z asked; when the
// shell continues it, the scenes go on.
func pauseProcess(ctx context.Context, w io.Writer, r running) {
	fmt.Fprintln(w, "\npausing")
	if r != nil && !r.Pause(ctx) {
		return
	}
	fmt.Fprintln(w, "paused; everything is durable. Continue with fg")
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	if r != nil {
		r.Continue()
	}
}
