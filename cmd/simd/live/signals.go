package live

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// untilSignal runs a command until it ends, or until SIGINT or SIGTERM ends its ctx: it takes back what it asked of
// a run. A second signal ends the process.
func untilSignal(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		return run(ctx, args)
	}
}
