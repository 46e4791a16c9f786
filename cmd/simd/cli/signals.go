package cli

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tavernsim/protocol"
)

// Interruptible runs a command of which nothing has to be kept: the first SIGINT or SIGTERM ends
// its ctx, the second one the process. What the command comes to all the same counts.
func Interruptible(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		err := run(ctx, args)
		if own := (*Exit)(nil); err == nil || ctx.Err() == nil || errors.As(err, &own) {
			return err
		}
		return &Exit{Code: ExitInterrupted, Err: protocol.Errorf(protocol.KindCancelled, "%s: interrupted", cmd.Name())}
	}
}
