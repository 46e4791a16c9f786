package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/control"
	"tavernsim/internal/flagvalue"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/orders"
)

type controlOptions struct {
	control.Command
	length, until time.Duration
	wait          time.Duration
	json          bool
}

// NewControl is `simd control`.
func NewControl(e *cli.Env) *cobra.Command {
	var o controlOptions
	c := &cobra.Command{
		Use:   "control DIR [status|pause|resume|step|pace N|break|reload]",
		Short: "Pause, step and pace a run under way, read its grants again",
		Long: `Say when the next wave of a run may begin that another process carries out. Nothing of
it is a fact: the history is that of a run that nobody held.

  pause     no wave begins any more; orders are carried out all the same
  resume    waves begin again
  step      one wave, or --waves, --for, --until, --turns, whichever ends first; then a pause
  pace N    at most N seconds of scene time in a second, on the virtual clock; 0 = as fast as it goes
  break     a pause after the wave in which --when becomes true, or a fact of --kind,
            of --agent, or of both, is kept; --clear removes all
  status    how things stand (also without a word)
  reload    the operator's files are read again: grants, secrets, keys of endpoints. They
            count for calls that begin from then on. Scenes on the realtime clock go on
            with changed tools of plugins. What the run is decided by stays as it began:
            all other files of the project and its plugins, values of options; if they
            differ, the command names them and exits with 6. SIGHUP to simd run does
            the same, unless its messages go to a terminal

A pause and a step return when the scene stands and everything is durable, or after
--wait. On the realtime clock scene time goes on during a pause: agents that are due
in it are woken at its end. Ctrl-C stops a paused run as any other.

Exit codes: 0 done, 1 nobody took the command within --wait, 2 usage, also a faulty
expression, 3 a file that reload reads has faults, 4 no such run or scene, 6 the run has
ended, or the scene does not run, or files differ from those that the run began with.`,
		Example: `  simd control runs/latest pause
  simd control runs/latest step --waves 3
  simd control runs/latest step --until 1h30m
  simd control runs/latest pace 60
  simd control runs/latest break --when 'world.stock < 5'
  simd control runs/latest break --kind agent.turn_failed
  simd control runs/latest resume
  simd control runs/latest reload`,
		Args: cobra.RangeArgs(1, 3),
		RunE: cli.UntilSignal(func(ctx context.Context, args []string) error { return o.run(ctx, e, args) }),
	}
	f := c.Flags()
	f.Int64Var(&o.Waves, "waves", 0, "step: waves")
	f.DurationVar(&o.length, "for", 0, "step: scene time")
	f.DurationVar(&o.until, "until", 0, "step: up to this scene time since the start of the scene")
	f.Int64Var(&o.Turns, "turns", 0, "step: deliberations; the wave in which they end is the last")
	f.StringVar(&o.When, "when", "", "break: `EXPR` over world and scene, for example 'world.day >= 3'")
	f.StringVar(&o.Kind, "kind", "", "break: `KIND` of facts, for example agent.turn_failed")
	f.StringVar(&o.Agent, "agent", "", "break: `ID` of whoever decided the fact")
	f.BoolVar(&o.Clear, "clear", false, "break: remove all breakpoints")
	f.StringVar(&o.Scene, "scene", "", "`ID` of the scene, if the run has several")
	f.DurationVar(&o.wait, "wait", 30*time.Second, "how long to wait")
	f.BoolVar(&o.json, "json", false, "print how things stand as JSON")
	cli.Least(f, 1, "waves", "for", "until", "turns", "wait")
	return c
}

func (o *controlOptions) run(ctx context.Context, e *cli.Env, args []string) error {
	if err := o.read(args[1:]); err != nil {
		return cli.Usage(err)
	}
	if err := underWay(args[0]); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(o.wait, o.wait+answerTime)) // the largest duration has no more
	defer cancel()
	stand, err := orders.Command(ctx, args[0], &o.Command, o.wait)
	if err == nil && o.Do == orders.Reload && !o.json && (len(stand.Changed) > 0 || stand.Refused == "") {
		fmt.Fprintln(e.Out, cli.Reread(stand.Changed))
	}
	switch {
	case err != nil:
		return err
	case stand.Refused != "" && o.Do == orders.Reload: // a file that was read again has faults
		return protocol.Errorf(stand.Kind, "%s", stand.Refused)
	case stand.Refused != "":
		return cli.Given(protocol.Errorf(stand.Kind, "%s", stand.Refused))
	case o.json:
		return show.JSON(e.Out, stand)
	case o.Do == orders.Reload:
		return nil
	}
	fmt.Fprintln(e.Out, standLine(&stand))
	return nil
}

// answerTime is how much longer than the run the command waits.
const answerTime = 5 * time.Second

// read takes the words of the command line.
func (o *controlOptions) read(words []string) (err error) {
	o.Do, o.For, o.Until = control.Status, protocol.Duration(o.length), protocol.Duration(o.until)
	if len(words) > 0 {
		o.Do = words[0]
	}
	switch {
	case o.Do == control.Pace && len(words) != 2:
		return fmt.Errorf("pace wants a number: simd control DIR pace 60")
	case o.Do == control.Pace:
		var pace flagvalue.Pace
		if err = pace.Set(words[1]); err != nil {
			err = fmt.Errorf("pace %q: %w", words[1], err)
		}
		o.Pace = float64(pace)
	case len(words) > 1:
		return fmt.Errorf("%s has no %q behind it", o.Do, words[1])
	}
	if err != nil {
		return err
	}
	if o.Do != orders.Reload {
		return o.Check()
	}
	if o.Command != (control.Command{Do: o.Do}) {
		return fmt.Errorf("reload is for the run, and has nothing beside it")
	}
	return nil
}

// standLine says in one line how a scene stands.
func standLine(s *orders.Stand) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s after wave %s at %s", terminal.Plain(s.Scene), s.State, terminal.Thousands(s.Wave), s.At.Std())
	if s.Why != "" {
		fmt.Fprintf(&b, ": %s", terminal.Plain(s.Why))
	}
	if s.Pace > 0 {
		fmt.Fprintf(&b, "  pace ×%v", s.Pace)
	}
	for _, x := range s.Breaks {
		fmt.Fprintf(&b, "\n  breakpoint %s", terminal.Plain(x))
	}
	return b.String()
}
