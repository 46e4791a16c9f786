package kb

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/internal/show"
	"tavernsim/protocol"
)

type activateOptions struct {
	events, tags []string
	more         string
	seed         uint64
	all, json    bool
}

func newActivate(e *cli.Env) *cobra.Command {
	var o activateOptions
	c := &cobra.Command{
		Use:   "activate PROJECT BASE WORDS...",
		Short: "Show which entries a situation activates, and why",
		Long: `Print of every entry with activation criteria, and of every lesson that the words bring
to mind, whether it is active (+) in a situation with these words, and why. Entries of
which no keyword occurs are shown with --all. Expressions of condition see an empty
world and self.

Exit codes: 0 shown, 2 usage, 3 the project has faults, 4 no such project or base.`,
		Example: "  simd kb activate my-project lore we cross the ford --event travel.begun",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.show(e, args[0], args[1], strings.Join(args[2:], " "))
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.events, "event", nil, "event `TYPES` that are perceived")
	f.StringSliceVar(&o.tags, "tag", nil, "tags of the situation")
	f.Uint64Var(&o.seed, "seed", 1, "`SEED` of chances and groups")
	f.BoolVar(&o.all, "all", false, "also the entries of which no keyword occurs")
	f.BoolVar(&o.json, "json", false, "print a list of {id, in, why}")
	cli.PluginsFlag(f, &o.more)
	return c
}

func (o *activateOptions) show(e *cli.Env, dir, id, text string) error {
	def, err := baseOf(dir, o.more, id)
	if err != nil {
		return err
	}
	base, err := knowledge.New(*def)
	if err != nil {
		return err
	}
	empty := map[string]any{}
	situation := &knowledge.Situation{Text: text, EventTypes: o.events, Tags: o.tags, World: empty, Self: empty, Draw: protocol.NewDraw(o.seed)}
	list := []map[string]any{}
	for _, t := range base.Trace(situation) {
		if !t.In && !o.all && strings.HasPrefix(t.Why, "keywords: none") {
			continue
		}
		if o.json {
			list = append(list, map[string]any{"id": t.Entry.ID, "in": t.In, "why": t.Why})
			continue
		}
		mark := " "
		if t.In {
			mark = "+"
		}
		fmt.Fprintf(e.Out, "%s %-32s %s\n", mark, t.Entry.ID, t.Why)
	}
	if o.json {
		return show.JSON(e.Out, list)
	}
	return nil
}
