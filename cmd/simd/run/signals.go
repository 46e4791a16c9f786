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
// the run is paused or reads files again. A hang-up stays in its channel until the run stands, and if ctx ends
// before it is heard: the next life of the run hears it, or unheard answers it.
func watchSignals(ctx context.Context, w io.Writer, c <-chan os.Signal, hangups chan os.Signal, ready <-chan running, atOnce func(io.Writer, running)) <-chan struct{} {
	done, pauses, stands, worked := make(chan struct{}), make(chan func(), 1), make(chan running, 1), make(chan struct{})
	go func() {
		defer close(worked)
		work(ctx, w, pauses, hangups, stands)
	}()
	go func() {
		defer close(done)
		defer func() { <-worked }()
		var r running
		stopping := false
		goesOn, stop := context.WithCancel(ctx) // until it is stopping
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case r = <-ready:
				stands <- r
				if stopping {
					r.Interrupt()
				}
			case s := <-c:
				now := r
				switch {
				case s == syscall.SIGTSTP:
					select {
					case pauses <- func() { pauseProcess(goesOn, w, now) }:
					default: // one waits
					}
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

// work does what takes time, one thing after the other, until ctx ends: then the run gives its directory back.
func work(ctx context.Context, w io.Writer, pauses <-chan func(), hangups chan os.Signal, stands <-chan running) {
	var r running
	var heard <-chan os.Signal // nil until the run stands
	for {
		select {
		case <-ctx.Done():
			return
		case r = <-stands:
			heard = hangups
		case pause := <-pauses:
			if ctx.Err() == nil {
				pause()
			}
		case s := <-heard:
			if ctx.Err() == nil {
				reload(w, r)
				continue
			}
			select {
			case hangups <- s:
			default: // another one came, which is as good
			}
			return
		}
	}
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

// unheard answers a hang-up that no life of a run has heard. No other one may come any more.
func unheard(w io.Writer, hangups <-chan os.Signal) {
	select {
	case <-hangups:
		cli.Warn(w, "nothing was read again: the run is not under way")
	default:
	}
}
