package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/inspect"
)

type diffOptions struct {
	scene string
	json  bool
	quiet bool
}

func newDiff(e *env) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff DIR DIR",
		Short: "Find where two runs diverge, and what differs at their ends",
		Long: `Compare two runs of a scene: their inputs, the first fact that differs, with both
sides, then the world and every agent at the end. The command compares the digests
of waves by bisection; before it reports two runs as equal, it checks all their
facts against the digests. If the runs have dropped facts (simd run --keep), it
compares the part that both still have and says where it begins.

Exit codes: 0 equal, 2 usage, 4 not found, 8 different, or a journal is
damaged.`,
		Example: `  simd diff runs/a runs/b
  simd diff runs/a runs/b --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asUsage(o.run(cmd.Context(), e, args[0], args[1]))
		},
	}
	f := c.Flags()
	f.StringVar(&o.scene, "scene", "", "`ID` of the scene, if the runs have several")
	f.BoolVar(&o.json, "json", false, "print the comparison as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	return c
}

func (o *diffOptions) run(ctx context.Context, e *env, a, b string) error {
	c, err := o.compare(ctx, e, a, b)
	if err != nil {
		return err
	}
	if o.json {
		err = writeJSON(e.out, c)
	} else {
		err = showComparison(e.out, c)
	}
	if err == nil && !c.Equal {
		err = &exit{code: exitDivergence}
	}
	return err
}

func (o *diffOptions) compare(ctx context.Context, e *env, a, b string) (c *compare.Comparison, err error) {
	x, err := o.open(e, a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.run.Close()) }()
	y := x
	if !sameDir(a, b) {
		if y, err = o.open(e, b); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, y.run.Close()) }()
	}
	progress := newReading(e.err, o.quiet)
	if progress != nil {
		x.scene.Progress, y.scene.Progress = progress.read, progress.read
	}
	if c, err = compare.Scenes(x.scene, y.scene); err == nil && c.Equal {
		err = errors.Join(x.scene.Check(ctx), y.scene.Check(ctx)) // so far their digests are
	}
	progress.clear()
	return c, err
}

func sameDir(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// opened is one of the two runs.
type opened struct {
	run   *inspect.Run
	scene *inspect.Scene
}

func (o *diffOptions) open(e *env, dir string) (opened, error) {
	r, err := inspect.Open(dir)
	if err != nil {
		return opened{}, err
	}
	s, err := r.Scene(o.scene)
	if err != nil {
		return opened{}, errors.Join(err, r.Close())
	}
	warnLost(e.err, dir, s)
	return opened{r, s}, nil
}

func showComparison(w io.Writer, c *compare.Comparison) error {
	p := &page{paint: terminal.NewPaint(w)}
	verdict := p.paint.Green("equal: every fact is the same")
	switch {
	case c.Before:
		verdict = p.paint.Red("different before wave " + number(c.From+1))
	case !c.Equal:
		verdict = p.paint.Red("different")
	}
	p.title("%s  %s", c.Scene, verdict)
	for i, s := range []compare.Side{c.A, c.B} {
		p.row(string(rune('a'+i)), "%s  %s waves, %s facts, world version %d  %s", s.Dir, number(s.Waves), number(s.Facts), s.Version, s.Digest)
	}
	for i, s := range []compare.Side{c.A, c.B} {
		for k := range s.Models {
			p.row(string(rune('a'+i))+" asked", "%s", strings.TrimSpace(modelLine(&s.Models[k])))
		}
	}
	if c.From > 0 {
		p.row("from", "wave %s on: what came before was dropped%s", number(c.From+1), droppedSays(c))
	}
	if p.section("MADE OF", len(c.Inputs)) {
		for _, d := range c.Inputs {
			fmt.Fprintf(p, "  %s: %s | %s\n", d.What, cmp.Or(d.A, "-"), cmp.Or(d.B, "-"))
		}
	}
	if d := c.Divergence; d != nil {
		p.section(fmt.Sprintf("FIRST DIFFERENCE  wave %d, seq %d", d.Wave, d.Seq), 1)
		showSides(p, d)
	}
	if d := c.Behaviour; d != nil {
		p.section(fmt.Sprintf("FIRST DIFFERENCE IN BEHAVIOUR  wave %d, seq %d", d.Wave, d.Seq), 1)
		showSides(p, d)
	}
	if p.section("WORLD", len(c.World)) {
		for _, d := range c.World {
			fmt.Fprintf(p, "  %s: %s\n", d.Path, strings.Replace(fromTo(&d), " -> ", " | ", 1))
		}
		more(p, c.WorldMore)
	}
	if p.section("AGENTS", len(c.Agents)) {
		for _, a := range c.Agents {
			showAgentDiff(p, &a)
		}
		more(p, c.AgentsMore)
	}
	return p.write(w)
}

// droppedSays is what can be known of dropped facts: the digests say whether they
// were the same, not where they differed.
func droppedSays(c *compare.Comparison) string {
	if c.Before {
		return ", and it was not the same; where it differed first cannot be said"
	}
	return ", and by its digest it was the same"
}

func more(p *page, n int) {
	if n > 0 {
		fmt.Fprintf(p, "  … and %s more\n", number(n))
	}
}

// showSides shows both facts; fields that are equal are named once.
func showSides(p *page, d *compare.Divergence) {
	if d.A == nil || d.B == nil {
		for i, f := range []*inspect.FactLine{d.A, d.B} {
			side := string(rune('a' + i))
			if f == nil {
				fmt.Fprintf(p, "  %s  the run was over\n", side)
			} else {
				fmt.Fprintf(p, "  %s  %s %s %s  %s\n", side, f.Time, f.Actor, f.Kind, brieflyObject(f.Data))
			}
		}
		return
	}
	for i, f := range []*inspect.FactLine{d.A, d.B} {
		fmt.Fprintf(p, "  %s  %s %s %s\n", string(rune('a'+i)), f.Time, f.Actor, f.Kind)
	}
	for _, m := range d.A.Data {
		if x, y := jsonOf(m.Value), jsonOf(d.B.Data.Get(m.Name)); d.A.Kind == d.B.Kind && x != y {
			fmt.Fprintf(p, "     %s: %s | %s\n", m.Name, p.paint.Red(terminal.Cut(terminal.OneLine(x), 200)), p.paint.Green(terminal.Cut(terminal.OneLine(y), 200)))
		}
	}
	if d.A.Kind != d.B.Kind {
		fmt.Fprintf(p, "     a: %s\n     b: %s\n", brieflyObject(d.A.Data), brieflyObject(d.B.Data))
	}
}

func showAgentDiff(p *page, a *compare.AgentDiff) {
	fmt.Fprintf(p, "  %s", p.paint.Bold(a.Agent))
	if a.Only != "" {
		fmt.Fprintf(p, "  only in %s\n", a.Only)
		return
	}
	if a.Turns != nil {
		fmt.Fprintf(p, "  turns %d | %d", a.Turns[0], a.Turns[1])
	}
	if a.State != nil {
		fmt.Fprintf(p, "  %s | %s", a.State[0], a.State[1])
	}
	if a.Waiting != nil {
		fmt.Fprintf(p, "  inbox %d | %d", a.Waiting[0], a.Waiting[1])
	}
	if a.Goals != nil {
		fmt.Fprintf(p, "  goals differ")
	}
	fmt.Fprintln(p)
	for _, d := range a.Private {
		fmt.Fprintf(p, "    %s: %s\n", cmp.Or(d.Path, "(all)"), strings.Replace(fromTo(&d), " -> ", " | ", 1))
	}
	more(p, a.More)
}
