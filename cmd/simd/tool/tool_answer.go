package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"tavernsim/cmd/simd/cli"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/answer"
	"tavernsim/tools"
)

// callText is a text with calls, for simd tool call.
type callText struct {
	tam, toolsxml string // files
	files         string // folder of the agent
	text          string
	given         bool
}

func (t *callText) flags(f *pflag.FlagSet) {
	f.StringVar(&t.tam, "tam", "", "carry out the TAM blocks in `FILE` (- = standard input)")
	f.StringVar(&t.toolsxml, "toolsxml", "", "carry out the ToolsXML in `FILE` (- = standard input)")
	f.StringVar(&t.files, "files", "", "`FOLDER` that is fam://agent/ and where commands run (default: an empty one, deleted afterwards)")
}

// read reads the text that is given, if one is.
func (t *callText) read(e *cli.Env) (err error) {
	if t.tam != "" && t.toolsxml != "" {
		return cli.Usage(errors.New("give --tam or --toolsxml; one text may have calls of both"))
	}
	if t.given = t.tam+t.toolsxml != ""; t.given {
		t.text, err = cli.ReadInput(e, []string{cmp.Or(t.tam, t.toolsxml)})
	}
	return err
}

// answer carries out the calls of a text.
func (o *toolCallOptions) answer(ctx context.Context, end func(), e *cli.Env, opt answer.Options) error {
	a, err := answer.Run(ctx, opt, o.text.text)
	end()
	if a == nil {
		return err
	}
	if shown := o.showAnswer(e, a); shown != nil {
		return shown
	}
	for i := range a.Steps {
		if r := &a.Steps[i].Result; r.Error != nil {
			return &cli.Exit{Code: callCode(r), Err: fmt.Errorf("%d.%d %s: %w", a.Steps[i].Block, a.Steps[i].Index, a.Steps[i].Tool, r.Err())}
		}
	}
	if err == nil && len(a.Problems) > 0 {
		err = protocol.Errorf(protocol.KindInvalid, "%s", a.Problems[0])
	}
	return err
}

// callCode is the exit code of a call that failed. What a tool itself does not find is a
// failure like any other.
func callCode(r *tools.Result) int {
	switch {
	case r.Error.Kind == protocol.KindInvalid:
		return cli.ExitInvalid
	case r.Error.Kind == protocol.KindNotFound && r.Meta.Attempts == 0:
		return cli.ExitNotFound
	}
	return cli.ExitFailure
}

func (o *toolCallOptions) showAnswer(e *cli.Env, a *answer.Answer) error {
	if o.json {
		return show.JSON(e.Out, a)
	}
	for _, p := range a.Problems {
		fmt.Fprintln(e.Err, "simd: "+p)
	}
	return terminal.Print(e.Out, fmt.Sprint(a))
}
