package run

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// slow is a run whose scenes never come to rest, and which reads files for ever.
type slow struct {
	did []string // by the goroutine that hears signals
	end chan struct{}
}

func (s *slow) Interrupt()                          { s.did = append(s.did, "interrupted") }
func (s *slow) Continue()                           {}
func (s *slow) Pause(ctx context.Context) bool      { <-ctx.Done(); return false }
func (s *slow) Reload() (changed []string, e error) { <-s.end; return []string{"x"}, nil }

// Ctrl-C is heard while Ctrl-Z or SIGHUP is at work: the first stops the run, the second the process.
func TestSignalsWhileOthersAreAtWork(t *testing.T) {
	for _, first := range []os.Signal{syscall.SIGTSTP, syscall.SIGHUP} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			r := &slow{end: make(chan struct{})}
			c, hangups, ready := make(chan os.Signal, 4), make(chan os.Signal, 1), make(chan running, 1)
			done := watchSignals(ctx, io.Discard, c, hangups, ready, func(io.Writer, running) { r.did = append(r.did, "exit") })
			ready <- r
			synctest.Wait()
			for _, s := range []os.Signal{first, syscall.SIGINT, syscall.SIGINT} {
				if s == syscall.SIGHUP {
					hangups <- s
				} else {
					c <- s
				}
				synctest.Wait()
			}
			if got := strings.Join(r.did, " "); got != "interrupted exit" {
				t.Errorf("%s: %s", first, got)
			}
			close(r.end)
			end()
			<-done
		})
	}
}

// A signal that comes before the run stands counts when it does.
func TestSignalBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		r := &slow{}
		c, ready := make(chan os.Signal, 4), make(chan running, 1)
		done := watchSignals(ctx, io.Discard, c, nil, ready, func(io.Writer, running) { t.Error("exit") })
		c <- syscall.SIGTERM
		synctest.Wait()
		ready <- r
		synctest.Wait()
		if got := strings.Join(r.did, " "); got != "interrupted" {
			t.Error(got)
		}
		end()
		<-done
	})
}

// reloads counts how often files were read again.
type reloads struct {
	slow
	n int
}

func (r *reloads) Reload() (changed []string, err error) { r.n++; return []string{"x"}, nil }

// A hang-up between two lives of a run is heard: the next life reads the files again. One that never stands leaves it.
func TestHangupBetweenLives(t *testing.T) {
	for _, stands := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			r, said := &reloads{}, &strings.Builder{}
			hangups, ready := make(chan os.Signal, 1), make(chan running, 1)
			hangups <- syscall.SIGHUP
			done := watchSignals(ctx, said, nil, hangups, ready, nil)
			synctest.Wait()
			if stands {
				ready <- r
				synctest.Wait()
			}
			end()
			<-done
			unheard(said, hangups)
			if (r.n == 1) != stands || strings.Contains(said.String(), "nothing was read") == stands {
				t.Errorf("%d, %q", r.n, said)
			}
		})
	}
}

// A hang-up that comes while a life of a run is busy and ends is left for the next one, or has its answer at the end.
func TestHangupAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		r, said := &reloads{}, &strings.Builder{}
		c, hangups, ready := make(chan os.Signal, 4), make(chan os.Signal, 1), make(chan running, 1)
		done := watchSignals(ctx, said, c, hangups, ready, nil)
		ready <- r
		synctest.Wait() // else the process itself stops
		c <- syscall.SIGTSTP
		synctest.Wait() // it pauses
		hangups <- syscall.SIGHUP
		synctest.Wait()
		end()
		<-done
		if r.n != 0 || len(hangups) != 1 {
			t.Errorf("read %d times, %d hang-ups are left", r.n, len(hangups))
		}
		if unheard(said, hangups); !strings.Contains(said.String(), "nothing was read again") {
			t.Error(said)
		}
	})
}
