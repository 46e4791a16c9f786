package show

import (
	"cmp"
	"fmt"
	"strings"

	"tavernsim/engine/script"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/view/plot"
)

// Script shows where the script of a scene stands.
func (s *Scene) Script(v *plot.View) error { return s.page(v, func(p *page) { p.script(v) }) }

func (p *page) script(v *plot.View) {
	p.title("%s  %s", v.Scene, v.State)
	p.row("at", "%s, the end of wave %d", p.since(v.Time), v.Wave)
	p.row("since", "%s", p.since(v.Since))
	p.row("active", "%s", cmp.Or(strings.Join(v.Active, ", "), "everybody"))
	if v.Context != "" {
		p.row("context", "%s", terminal.OneLine(v.Context))
	}
	if o := v.Outcome; o != nil {
		p.row("outcome", "%s", outcomeOf(o))
	}
	if p.section("VARIABLES", len(v.Variables)) {
		for _, name := range protocol.SortedKeys(v.Variables) {
			fmt.Fprintf(p, "  %-20s %s\n", name, terminal.OneLine(jsonOf(v.Variables[name])))
		}
	}
	if p.section("COLLECTIONS", len(v.Collections)) {
		for i := range v.Collections {
			p.collection(&v.Collections[i])
		}
	}
	if p.section("HISTORY", len(v.History)) {
		for _, h := range v.History {
			fmt.Fprintf(p, "  %10s  %-18s %s\n", p.since(h.Time), h.Kind, terminal.OneLine(jsonOf(h.Fact)))
		}
	}
}

func (p *page) collection(c *plot.Collection) {
	state := cmp.Or(c.Closed, "open")
	fmt.Fprintf(p, "  %-20s %-6s %d of %d answered%s", c.Collection, state, c.Answered, c.Asked, p.dim(c.Winner, "  winner %s"))
	for _, name := range protocol.SortedKeys(c.Counts) {
		fmt.Fprintf(p, "  %s %v", name, c.Counts[name])
	}
	fmt.Fprintln(p)
	if c.Result != nil {
		fmt.Fprintf(p, "  %-20s %s\n", "", terminal.OneLine(jsonOf(c.Result)))
	}
}

// outcomeOf says what a scene came to.
func outcomeOf(o *script.Result) string {
	return terminal.OneLine(o.Outcome) + said(terminal.OneLine(strings.Join(o.Winners, ", ")), "  winners %s") + said(terminal.OneLine(o.Reason), "  (%s)")
}
