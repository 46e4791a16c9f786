package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/verify"
)

// deaf is a host's rule by which nobody hears anything.
func deaf() delivery.Chain {
	return delivery.Chain{delivery.Func(func(_ delivery.Message, v delivery.Verdict) delivery.Verdict { return v.Drop("nobody hears") })}
}

// A host's middleware is asked after a resume as before: whoever goes on gives it again.
func TestResumeAsksTheMiddleware(t *testing.T) {
	opt := Options{Ticks: 60, Middleware: deaf()}
	want := run(t, loadTown(t), opt)
	for ended := true; ended; {
		opt.Dir = filepath.Join(t.TempDir(), "run")
		ended = stopped(t, opt)
	}
	r, err := Resume(opt.Dir, Options{Middleware: deaf()})
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r); got.Digests() != want.Digests() {
		t.Errorf("digest %s, want %s", got.Digests(), want.Digests())
	}
}

// The manifest says that a run had middleware, so whoever decides again without
// it finds no false difference, and says what was not checked.
func TestVerifyWithAndWithoutTheMiddleware(t *testing.T) {
	opt := Options{Ticks: 60, Middleware: deaf(), Dir: filepath.Join(t.TempDir(), "run")}
	run(t, loadTown(t), opt)
	for _, given := range []delivery.Chain{nil, deaf()} {
		r, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true, Middleware: given})
		if err != nil {
			t.Fatal(err)
		}
		one := r.Scenes[0].Verify
		if one.Difference != nil || one.Taken[verify.TakenMiddleware] > 0 != (given == nil) || one.Deliberations == 0 {
			t.Errorf("%d middlewares: %+v, difference %+v", len(given), one, one.Difference)
		}
	}
}

// A run does not go on by other rules than it began with; a fork is the same run.
func TestMiddlewareCannotBeLeftOut(t *testing.T) {
	opt := Options{Ticks: 60, Middleware: deaf(), Dir: filepath.Join(t.TempDir(), "run")}
	want := run(t, loadTown(t), opt)
	fork := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), opt.Dir, fork, rundir.ForkOptions{At: "wave:5"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(fork, Options{}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "it began with middleware") {
		t.Errorf("without it: %v", err)
	}
	r, err := Resume(fork, Options{Middleware: deaf()})
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r); got.Digests() != want.Digests() {
		t.Errorf("digest %s, want %s", got.Digests(), want.Digests())
	}
	plain := Options{Ticks: 60}
	for ended := true; ended; {
		plain.Dir = filepath.Join(t.TempDir(), "run")
		ended = stopped(t, plain)
	}
	if _, err := Resume(plain.Dir, Options{Middleware: deaf()}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "it began without middleware") {
		t.Errorf("with some: %v", err)
	}
}

// A place of the chain with nothing in it is refused before anything is written, and before a run goes on.
func TestMiddlewareThatIsNil(t *testing.T) {
	for _, nobody := range []delivery.Middleware{nil, delivery.Func(nil), delivery.Chain{deaf()[0], nil}} {
		opt := Options{Ticks: 5, Middleware: append(deaf(), nobody), Dir: filepath.Join(t.TempDir(), "run")}
		mustRefuse := func(err error) {
			t.Helper()
			if protocol.KindOf(err) != protocol.KindInvalid || !strings.Contains(err.Error(), "middleware 2 of 2 is nil; want") {
				t.Error(err)
			}
		}
		_, err := Start(loadTown(t), opt)
		mustRefuse(err)
		if _, err := os.Stat(opt.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the run directory is there: %v", err)
		}
		begun := Options{Ticks: 5, Middleware: deaf(), Dir: opt.Dir}
		run(t, loadTown(t), begun)
		_, err = Resume(opt.Dir, Options{Middleware: opt.Middleware})
		mustRefuse(err)
	}
}

// A middleware that panics while a run is decided again is an error of its caller, which names it.
func TestMiddlewareThatPanics(t *testing.T) {
	opt := Options{Ticks: 60, Middleware: deaf(), Dir: filepath.Join(t.TempDir(), "run")}
	run(t, loadTown(t), opt)
	broken := delivery.Func(func(delivery.Message, delivery.Verdict) delivery.Verdict { panic("no table") })
	_, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true, Middleware: delivery.Chain{delivery.Depth{}, broken}})
	if err == nil || !strings.Contains(err.Error(), "wave ") || !strings.Contains(err.Error(), "middleware 2 of 2 (delivery.Func) panics: no table") {
		t.Error(err)
	}
	_, err = rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true, Middleware: delivery.Chain{nil}})
	if err == nil || !strings.Contains(err.Error(), "middleware 1 of 1 (<nil>) panics: ") {
		t.Error(err)
	}
}
