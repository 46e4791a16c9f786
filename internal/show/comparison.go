package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// Comparison writes where two runs differ.
func Comparison(w io.Writer, c *compare.Comparison) error {
	return write(w, nil, func(p *page) { p.comparison(c) })
}

func (p *page) comparison(c *compare.Comparison) {
	verdict := p.paint.Green("equal: every fact is the same")
	switch {
	case c.Before:
		verdict = p.paint.Red("different before wave " + terminal.Thousands(c.From+1))
	case !c.Equal:
		verdict = p.paint.Red("different")
	}
	p.title("%s  %s", c.Scene, verdict)
	for i, s := range []compare.Side{c.A, c.B} {
		p.row(string(rune('a'+i)), "%s  %s waves, %s facts, world version %d  %s", s.Dir, terminal.Thousands(s.Waves), terminal.Thousands(s.Facts), s.Version, s.Digest)
	}
	for i, s := range []compare.Side{c.A, c.B} {
		for k := range s.Models {
			p.row(string(rune('a'+i))+" asked", "%s", strings.TrimSpace(modelLine(&s.Models[k])))
		}
	}
	if c.From > 0 {
		p.row("from", "wave %s on: what came before was dropped%s", terminal.Thousands(c.From+1), droppedSays(c))
	}
	if p.section("MADE OF", len(c.Inputs)) {
		for _, d := range c.Inputs {
			fmt.Fprintf(p, "  %s: %s | %s\n", d.What, cmp.Or(d.A, "-"), cmp.Or(d.B, "-"))
		}
	}
	if d := c.Divergence; d != nil {
		p.section(fmt.Sprintf("FIRST DIFFERENCE  wave %d, seq %d", d.Wave, d.Seq), 1)
		p.sides(d)
	}
	if d := c.Behaviour; d != nil {
		p.section(fmt.Sprintf("FIRST DIFFERENCE IN BEHAVIOUR  wave %d, seq %d", d.Wave, d.Seq), 1)
		p.sides(d)
	}
	if p.section("WORLD", len(c.World)) {
		for _, d := range c.World {
			fmt.Fprintf(p, "  %s: %s\n", d.Path, strings.Replace(fromTo(&d), " -> ", " | ", 1))
		}
		p.more(c.WorldMore)
	}
	if p.section("AGENTS", len(c.Agents)) {
		for _, a := range c.Agents {
			p.agentDiff(&a)
		}
		p.more(c.AgentsMore)
	}
}

// droppedSays is what can be known of dropped facts: the digests say whether they
// were the same, not where they differed.
func droppedSays(c *compare.Comparison) string {
	if c.Before {
		return ", and it was not the same; where it differed first cannot be said"
	}
	return ", and by its digest it was the same"
}

func (p *page) more(n int) {
	if n > 0 {
		fmt.Fprintf(p, "  … and %s more\n", terminal.Thousands(n))
	}
}

// sides shows both facts; fields that are equal are named once.
func (p *page) sides(d *compare.Divergence) {
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
	if d.A.Kind == d.B.Kind {
		p.members("", d.A.Data, d.B.Data)
	} else {
		fmt.Fprintf(p, "     a: %s\n     b: %s\n", brieflyObject(d.A.Data), brieflyObject(d.B.Data))
	}
}

// members shows the members of two objects that differ, of objects within them those alone.
func (p *page) members(path string, a, b factjson.Object) {
	for _, m := range b { // what a lacks
		if a.Get(m.Name) == nil {
			a = append(slices.Clip(a), factjson.Member{Name: m.Name})
		}
	}
	for _, m := range a {
		v, w := m.Value, b.Get(m.Name)
		x, y := jsonOf(v), jsonOf(w)
		one, ok := v.(factjson.Object)
		two, too := w.(factjson.Object)
		switch {
		case x == y:
		case ok && too:
			p.members(path+m.Name+".", one, two)
		default:
			fmt.Fprintln(p, p.folded(5, fmt.Sprintf("     %s: %s | %s", path+m.Name, p.paint.Red(terminal.Cut(terminal.OneLine(x), 200)), p.paint.Green(terminal.Cut(terminal.OneLine(y), 200)))))
		}
	}
}

func (p *page) agentDiff(a *compare.AgentDiff) {
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
	p.more(a.More)
}
