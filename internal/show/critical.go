package show

import (
	"fmt"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/inspect"
)

// criticalLine says in one line which calls of models a run waited for.
func criticalLine(c *rundir.CriticalPath) string {
	who := ""
	if len(c.Agents) > 0 {
		first := &c.Agents[0]
		switch less := terminal.Span(first.Saves); {
		case first.Saves <= 0: // or the summary is of an older program, which does not say it
			who = fmt.Sprintf(", of which %s by %s", terminal.Span(first.Critical), first.Name)
		case first.Critical <= 0:
			who = fmt.Sprintf(", %s less without %s", less, first.Name)
		default:
			who = fmt.Sprintf(", of which %s by %s, and %s less without it", terminal.Span(first.Critical), first.Name, less)
		}
	}
	waits := ""
	if len(c.Gates) > 0 {
		waits = fmt.Sprintf("; %s of it for places at %s", terminal.Span(c.Waited), c.Gates[0].Name)
		if more := len(c.Gates) - 1; more > 0 {
			waits += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Sprintf("%s of model time, %s on the critical path%s%s", terminal.Span(c.Model), terminal.Span(c.Critical), who, waits)
}

// CriticalPath shows which calls of models a run waited for.
func (s *Scene) CriticalPath(c *inspect.CriticalPath) error {
	return s.page(c, func(p *page) {
		part := func(title string, c *rundir.CriticalPath) {
			p.section(title, 1)
			p.row("together", "%s", criticalLine(c))
			p.row("barrier", "%s, the slowest turn of each of %s", terminal.Span(c.Critical), terminal.Plural(c.Waves, "wave"))
			for _, g := range c.Gates[:min(len(c.Gates), mostCritical)] {
				p.row("waits", "%s of it at %s, for a place or the next attempt", terminal.Span(g.Seconds), g.Name)
			}
			if c.Declared > 0 {
				p.row("tracked", "%s, the longest chain of turns that wait for one another by what the profiles declare", terminal.Span(c.Declared))
			}
			p.row("no less than", "%s, the calls of %s alone", terminal.Span(c.Longest), c.Of)
			t := terminal.NewTable(p, "agent", "profile", ">on the path", ">of it", ">less without it", ">model time")
			for _, a := range c.Agents[:min(len(c.Agents), mostCritical)] {
				t.Row(a.Name, a.Profile, terminal.Span(a.Critical), share(a.Critical, c.Critical), spanOf(a.Saves), terminal.Span(a.Model))
			}
			for _, a := range c.Profiles[:min(len(c.Profiles), mostCritical)] {
				t.Row("all", a.Name, terminal.Span(a.Critical), share(a.Critical, c.Critical), "", terminal.Span(a.Model))
			}
			_ = t.Flush() // a page takes everything
		}
		if c.Measured != nil {
			part("MEASURED (the last process of the run, wall clock)", c.Measured)
		} else {
			p.section("MEASURED", 1)
			fmt.Fprintf(p, "  %s\n", c.Missing)
		}
		if c.Modelled != nil {
			part("MODELLED (latencies of the scene's clock, all stored facts)", c.Modelled)
		} else {
			p.section("MODELLED", 1)
			fmt.Fprintln(p, "  answers take no time on the scene's clock")
		}
	})
}

// spanOf is a time that an older program did not count.
func spanOf(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return terminal.Span(seconds)
}

func share(part, of float64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*part/of)
}

const mostCritical = 10
