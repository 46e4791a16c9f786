package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/protocol"
)

// UntilSignal runs a command until it ends, or until SIGINT or SIGTERM ends its ctx. A second signal ends the process.
func UntilSignal(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		return run(ctx, args)
	}
}

// Interruptible is UntilSignal for a command of which nothing has to be kept: one that a signal ended has the exit code
// of that. What the command comes to all the same counts.
func Interruptible(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return UntilSignal(func(ctx context.Context, args []string) error {
			err := run(ctx, args)
			if own := (*Exit)(nil); err == nil || ctx.Err() == nil || errors.As(err, &own) {
				return err
			}
			return &Exit{Code: ExitInterrupted, Err: protocol.Errorf(protocol.KindCancelled, "%s: interrupted", cmd.Name())}
		})(cmd, args)
	}
}
