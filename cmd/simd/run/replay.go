package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/metrics"
	"tavernsim/internal/progress"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/verify"
)

type replayOptions struct {
	rundir.ReplayOptions
	json, quiet bool
}

// NewReplay is `simd replay`.
func NewReplay(e *cli.Env) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay DIR",
		Short: "Fold the journal of a run again, without asking any model",
		Long: `Read the journal of a run from the first stored fact, check the digest of every
wave, and fold the facts into the resulting state. The command calls no model
and no tool and writes nothing.

With --verify, make every recorded decision again, from the state before it
and the recorded answers, and compare byte by byte. The first difference is
shown with both sides. Facts that cannot be decided again are counted separately
and never reported as verified.

A place in a run is a time of its scene (2026-01-01T08:00:00Z), an offset from
its start (90s), wave:N, seq:N (the last wave that has ended there) or end.

Exit codes: 0 the digests hold, 2 usage, also an invalid place, 4 not found, 6 the inputs
of the run were changed, 8 the journal does not match its digests or the decisions
of the machines, 130 interrupted.`,
		Example: "  simd replay runs/latest\n  simd replay runs/latest --until 90s --json\n  simd replay runs/latest --verify",
		Args:    cobra.ExactArgs(1),
		RunE:    cli.Interruptible(func(ctx context.Context, args []string) error { return o.run(ctx, e, args[0]) }),
	}
	f := c.Flags()
	f.StringVar(&o.Until, "until", "", "fold up to this `PLACE` (default: the end)")
	f.BoolVar(&o.Verify, "verify", false, "decide everything again and compare")
	f.StringVar(&o.Scene, "scene", "", "this scene `ID` only")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	return c
}

func (o *replayOptions) run(ctx context.Context, e *cli.Env, dir string) error {
	opt := o.ReplayOptions
	opt.Metrics = metrics.New()
	progress, done := progress.Work(e.Err, o.quiet)
	opt.Progress = progress
	sum, err := rundir.Replay(ctx, dir, opt)
	done()
	if err != nil {
		return cli.Given(err)
	}
	if o.json {
		err = show.JSON(e.Out, sum)
	} else {
		for i := range sum.Scenes {
			writeReplayed(e.Out, &sum.Scenes[i])
		}
		if n := len(sum.Missing); n > 0 {
			fmt.Fprintf(e.Out, "artifacts that are not there: %d, which the replay does not need; the first is %s\n", n, sum.Missing[0])
		}
	}
	for i := range sum.Scenes {
		if s := &sum.Scenes[i]; err == nil && s.Differs() {
			err = &cli.Exit{Code: cli.ExitDivergence, Err: protocol.Errorf(protocol.KindCorrupt, "scene %s: wave %d is not what its machines decide", s.Scene, s.Verify.Difference.Wave)}
		}
	}
	return err
}

func writeReplayed(w io.Writer, s *rundir.ReplayedScene) {
	fmt.Fprintf(w, "%s  %s facts in %s waves  %s\n  digest %s\n", s.Scene, terminal.Thousands(s.Facts), terminal.Thousands(s.Waves), s.VirtualTime, s.Digest)
	if s.StateHash != "" {
		fmt.Fprintf(w, "  state  %s\n", s.StateHash)
	}
	if s.From > 0 {
		fmt.Fprintf(w, "  kept from wave %d on: what came before was dropped, and the walk began with the snapshot %s\n", s.From+1, begunAt(s))
	}
	if s.Verify != nil {
		writeVerified(w, s.Verify)
	}
}

func begunAt(s *rundir.ReplayedScene) string {
	if s.Begun == s.From {
		return "there"
	}
	return fmt.Sprintf("of wave %d: that of wave %d is damaged, and facts between them were checked and not folded (simd doctor)", s.Begun, s.From)
}

func writeVerified(w io.Writer, r *verify.Report) {
	fmt.Fprintf(w, "  decided again and the same: %s of %s facts, %s deliberations, %s waves\n",
		terminal.Thousands(r.Verified), terminal.Thousands(r.Facts), terminal.Thousands(r.Deliberations), terminal.Thousands(r.Waves))
	for _, reason := range protocol.SortedKeys(r.Taken) {
		facts := "facts"
		if r.Taken[reason] == 1 {
			facts = "fact"
		}
		fmt.Fprintf(w, "  not decided again: %s %s (%s)\n", terminal.Thousands(r.Taken[reason]), facts, takenText(reason))
	}
	d := r.Difference
	if d == nil {
		return
	}
	fmt.Fprintf(w, "  DIFFERENCE in wave %d at seq %d, %s, %s: %s\n", d.Wave, d.Seq, d.Time, d.Actor, d.Reason)
	writeSide(w, "recorded", d.Recorded)
	writeSide(w, "decided ", d.Decided)
}

func takenText(reason string) string {
	switch reason {
	case verify.TakenFailure:
		return "an actor failed"
	case verify.TakenLetters:
		return "a mailbox did not take something"
	case verify.TakenMiddleware:
		return "the program that ran it had middleware, which simd has not: who hears an event"
	case verify.TakenOutside:
		return "asked for from outside"
	}
	return "not enough was recorded"
}

func writeSide(w io.Writer, name string, s *verify.Side) {
	if s == nil {
		fmt.Fprintf(w, "    %s  nothing\n", name)
		return
	}
	text, err := json.Marshal(s.Fact)
	if err != nil {
		text = fmt.Appendf(nil, "%v", s.Fact)
	}
	_ = terminal.Print(w, fmt.Sprintf("    %s  %s %s %s %s\n", name, s.Time, s.Actor, s.Kind, text)) // as with what is written beside it
}
