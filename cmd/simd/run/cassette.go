package run

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/terminal"
	"tavernsim/llm/replay"
	"tavernsim/scenes/run/rundir"
)

type cassetteOptions struct {
	scene, out string
	situations bool
}

// NewCassette is `simd cassette`.
func NewCassette(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "cassette",
		Short: "Recorded answers of models",
		Long:  "The answers of models at endpoints, as a file that other runs can take them from.",
	}
	c.AddCommand(newCassetteExport(e))
	return c
}

func newCassetteExport(e *cli.Env) *cobra.Command {
	var o cassetteOptions
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the answers of a run as a cassette, one a line",
		Long: `Write every answer that an endpoint gave in a run as a line of JSON
(docs/formats/cassette.md). Values of secrets are hidden. Another run takes the answers
with simd run --answers FILE.

Exit codes: 0 written, 1 failure, 2 usage, 4 not found, 6 the file is there already, 8
the run is damaged.`,
		Example: "  simd cassette export runs/latest --out answers.jsonl\n  simd run my-project --model replay:answers.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return o.export(c.Context(), e, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.scene, "scene", "", "only this scene `ID`")
	f.BoolVar(&o.situations, "situations", false, "with what each model read, for surrogates (docs/formats/providers.md); every deliberation is decided again")
	f.StringVar(&o.out, "out", "", "write to this `FILE`; it must be new (default: standard output)")
	return c
}

func (o *cassetteOptions) export(ctx context.Context, e *cli.Env, dir string) (err error) {
	run, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	var situations map[replay.Place]replay.Entry
	if o.situations {
		if situations, err = run.Situations(ctx, o.scene); err != nil {
			return err
		}
	}
	n := 0
	err = cli.WriteNew(e, o.out, func(to io.Writer) (err error) {
		n, err = run.ExportAnswers(o.scene, to, situations)
		return err
	})
	if err == nil {
		fmt.Fprintf(e.Err, "%s answers in %s\n", terminal.Thousands(n), cmp.Or(o.out, "standard output"))
	}
	return err
}
