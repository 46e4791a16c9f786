package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tavernsim/internal/show"
	"tavernsim/protocol"
	"tavernsim/tools/audit"
)

func auditFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "audit", "", "`FILE` in which calls are noted, or off (default: $SIMD_AUDIT, then simd/audit.jsonl of your data folder)")
}

func newToolAudit(e *env) *cobra.Command {
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
				err = errors.Join(err, show.JSON(e.out, struct {
					*audit.Report
					Broken *audit.Broken `json:"broken"`
				}{r, broken}))
			} else if err == nil {
				_, err = fmt.Fprint(e.out, r)
			}
			return err
		},
	}
	c.Flags().StringVar(&head, "head", "", "some line must have the `HASH`, which you wrote down before")
	c.Flags().BoolVar(&asJSON, "json", false, "print {files, first, last, head, calls, open, torn, found, broken}")
	return c
}
