package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"tavernsim/protocol"
)

// An interrupted command that gives up ends with the code of that; whatever it comes to all the same keeps its own.
func TestInterruptible(t *testing.T) {
	no := errors.New("no")
	for _, c := range []struct {
		name        string
		interrupted bool
		run         func(ctx context.Context) error
		code        int
	}{
		{"obeys", true, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, ExitInterrupted},
		{"ends all the same", true, func(context.Context) error { return nil }, ExitOK},
		{"finds something all the same", true, func(context.Context) error { return &Exit{Code: ExitDivergence, Err: no} }, ExitDivergence},
		{"fails", false, func(context.Context) error { return &Exit{Code: ExitDivergence, Err: no} }, ExitDivergence},
		{"ends", false, func(context.Context) error { return nil }, ExitOK},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		cmd := &cobra.Command{Use: "look DIR", RunE: Interruptible(func(ctx context.Context, _ []string) error {
			if c.interrupted {
				interrupt()
			}
			return c.run(ctx)
		})}
		cmd.SetArgs(nil)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.ExecuteContext(ctx)
		interrupt()
		code := ExitOK
		if err != nil {
			code = CodeOf(err)
		}
		if code != c.code || c.code == ExitInterrupted && (protocol.KindOf(err) != protocol.KindCancelled || err.Error() != "look: interrupted") {
			t.Errorf("%s: exit code %d, %v", c.name, code, err)
		}
	}
}
