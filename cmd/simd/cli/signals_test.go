package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"tavernsim/protocol"
)

// An interrupted command ends with its exit code, whether it hears of that or not; one that ends before keeps its own.
func TestInterruptible(t *testing.T) {
	stuck, no := make(chan struct{}), errors.New("no")
	defer close(stuck)
	for _, c := range []struct {
		name        string
		interrupted bool
		run         func(ctx context.Context) error
		code        int
	}{
		{"obeys", true, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, ExitInterrupted},
		{"is deaf", true, func(context.Context) error { <-stuck; return nil }, ExitInterrupted},
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
		if code != c.code || c.interrupted && (protocol.KindOf(err) != protocol.KindCancelled || err.Error() != "look: interrupted") {
			t.Errorf("%s: exit code %d, %v", c.name, code, err)
		}
	}
}
