package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/bus/delivery"
	"tavernsim/scenes/run/runner"
)

// simd knows no middleware: of a run that had some it says what it cannot decide
// again, names it as what two runs do not share, and does not go on with it.
func TestARunWithMiddleware(t *testing.T) {
	dir := t.TempDir()
	if err := unpack(postArchive, dir); err != nil {
		t.Fatal(err)
	}
	p, err := runner.Load(filepath.Join(dir, "post"), false)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "run")
	r, err := runner.Start(p, runner.Options{Dir: out, Middleware: delivery.Chain{
		delivery.Func(func(_ delivery.Message, v delivery.Verdict) delivery.Verdict { return v.Drop("nobody hears") }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	const says = "(the program that ran it had middleware, which simd has not: who hears an event)"
	if text, _ := inspected(t, 0, "replay", out, "--verify"); !strings.Contains(text, says) || strings.Contains(text, "DIFFERENCE") {
		t.Error(text)
	}
	plain := filepath.Join(dir, "plain")
	inspected(t, 0, "run", filepath.Join(dir, "post"), "--out", plain, "-q", "--summary", "none")
	if text, _ := inspected(t, cli.ExitDivergence, "diff", out, plain); !strings.Contains(text, "  middleware: true | false\n") {
		t.Error(text)
	}
	fork := filepath.Join(dir, "fork")
	inspected(t, 0, "fork", out, fork, "--at", "wave:1", "-q")
	if _, errs := inspected(t, cli.ExitConflict, "run", "--resume", fork); !strings.Contains(errs, "it began with middleware of the program that embeds it") {
		t.Error(errs)
	}
}
