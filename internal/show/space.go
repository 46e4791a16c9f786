package show

import (
	"fmt"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/chart"
)

// Space draws where the agents of a scene are.
func (s *Scene) Space(v *chart.View) error {
	return s.page(v, func(p *page) {
		size := fmt.Sprintf("%d by %d cells", v.Width, v.Height)
		if v.Joined {
			size = fmt.Sprintf("%d places", len(v.Places))
		}
		p.title("%s  %s", v.Scene, size)
		p.row("at", "%s, the end of wave %d", p.since(v.Time), v.Wave)
		p.row("agents", "%s on the map, %d nowhere", terminal.Thousands(v.Total), v.Nowhere)
		if v.Scale > 1 {
			p.row("scale", "a character is %d by %d cells", v.Scale, v.Scale)
		}
		if len(v.Picture) > 0 {
			fmt.Fprintf(p, "\n  %s\n", strings.Join(v.Picture, "\n  "))
		}
		if p.section("PLACES", len(v.Places)) {
			for _, a := range v.Places {
				fmt.Fprintf(p, "  %-20s %-14s %d%s%s\n", a.Place, a.Cells, a.Agents, p.dim(capacity(a.Capacity), " of %s"), p.dim(ways(a.Exits), "  exits: %s"))
			}
		}
		if p.section("AGENTS", len(v.Agents)) {
			for _, a := range v.Agents {
				fmt.Fprintf(p, "  %-20s %s%s%s\n", a.Agent, a.Cell, said(a.Place, "  in %s"), p.dim(a.WalkingTo, "  walks to %s"))
			}
			if more := v.Total - len(v.Agents); more > 0 {
				fmt.Fprintf(p, "  %s more; --all lists them\n", terminal.Thousands(more))
			}
		}
	})
}

func ways(exits []chart.Exit) string {
	list := make([]string, len(exits))
	for i, e := range exits {
		list[i] = e.To + " " + e.Takes
	}
	return strings.Join(list, ", ")
}

func capacity(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
