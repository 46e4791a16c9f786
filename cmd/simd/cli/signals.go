package cli

import (
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/protocol"
)

// toEnd is how long an interrupted command may take to end by itself.
const toEnd = 500 * time.Millisecond

// Interruptible runs a command of which nothing has to be kept: SIGINT or SIGTERM ends its ctx. What does not end soon
// after that is left behind, for the process ends.
func Interruptible(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, args) }()
		select {
		case err := <-ended:
			if err == nil || ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			late := time.NewTimer(toEnd)
			defer late.Stop()
			select {
			case <-ended:
			case <-late.C:
			}
		}
		return &Exit{Code: ExitInterrupted, Err: protocol.Errorf(protocol.KindCancelled, "%s: interrupted", cmd.Name())}
	}
}
