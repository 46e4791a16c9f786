package tool

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/protocol"
	"tavernsim/tools/audit"
)

func newToolAudit(e *cli.Env) *cobra.Command {
	var head string
	var asJSON bool
	c := &cobra.Command{
		Use:   "audit [FILE]",
		Short: "Check the audit of calls outside of runs",
		Long: `Check the audit of simd tool call and simd mcp serve: whether each line has the hash of
the line before it (docs/formats/audit.md). Without FILE it is your own.

Exit codes: 0 the chain holds, 1 it breaks (the place is said), 2 usage, 4 no such file.`,
		Example: "  simd tool audit\n  simd tool audit audit.jsonl --head 9f2c…",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := audit.DefaultFile(os.Getenv)
			if len(args) == 1 {
				file = args[0]
			}
			if file == "" || file == audit.Off {
				return protocol.Errorf(protocol.KindNotFound, "you have no audit; name a file")
			}
			r, err := audit.Check(file, head)
			var broken *audit.Broken
			if err != nil && !errors.As(err, &broken) {
				return err
			}
			if asJSON {
				err = errors.Join(err, show.JSON(e.Out, struct {
					*audit.Report
					Broken *audit.Broken `json:"broken"`
				}{r, broken}))
			} else if err == nil {
				_, err = fmt.Fprint(e.Out, r)
			}
			return err
		},
	}
	c.Flags().StringVar(&head, "head", "", "some line must have the `HASH`, which you wrote down before")
	c.Flags().BoolVar(&asJSON, "json", false, "print {files, first, last, head, calls, open, torn, found, broken}")
	return c
}
