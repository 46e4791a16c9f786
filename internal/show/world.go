package show

import (
	"fmt"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/inspect"
)

// World writes the document; what it is of goes beside it.
func (s *Scene) World(v *inspect.WorldView) error {
	if s.JSON {
		return JSON(s.Out, v)
	}
	fmt.Fprintf(s.Out, "%s\n", prettyJSON(v.Value, ""))
	if v.More {
		fmt.Fprintln(s.Err, "the pattern matches more than is shown")
	}
	fmt.Fprintf(s.Err, "version %d at %s, the end of wave %d\n", v.Version, s.since(v.Time), v.Wave)
	var writers strings.Builder
	for _, c := range v.Writers {
		fmt.Fprintf(&writers, "  %10s  %s %s by %s %s\n", s.since(c.Time), c.Op, c.Path, who(c.By), c.Through)
	}
	return terminal.Print(s.Err, writers.String())
}

// WorldDiff writes what differs between two moments.
func (s *Scene) WorldDiff(d *inspect.WorldDiff) error {
	if s.JSON {
		return JSON(s.Out, d)
	}
	fmt.Fprintf(s.Err, "version %d at %s (wave %d) and version %d at %s (wave %d): %s\n", d.From.Version, s.since(d.From.Time), d.From.Wave,
		d.To.Version, s.since(d.To.Time), d.To.Wave, terminal.Plural(len(d.Differences), "difference"))
	t := terminal.NewTable(s.Out, "path", ">changes", "last by", "at", "from -> to")
	for _, c := range d.Differences {
		t.Row(c.Path, terminal.Thousands(c.Count), c.By, s.since(c.Time), fromTo(&c)+said(c.Reason, "  (%s)"))
	}
	return t.Flush()
}

const maxShownDifferences = 6

func orNothing(v any) string {
	if v == nil {
		return "nothing"
	}
	return jsonOf(v)
}
