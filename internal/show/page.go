package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/internal/wirejson"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// page is text for people that is written at once.
type page struct {
	strings.Builder
	paint  terminal.Paint
	width  int // of the terminal; 0 = not known, and no line is broken
	*Scene     // nil = it is no view of a scene
}

func (p *page) title(format string, args ...any) {
	fmt.Fprintf(p, "%s\n", p.paint.Bold(fmt.Sprintf(format, args...)))
}

func (p *page) row(name, format string, args ...any) {
	gap := strings.Repeat(" ", max(1, rowBegins-2-terminal.Width(name)))
	fmt.Fprintln(p, p.folded(rowBegins, "  "+p.paint.Dim(name)+gap+fmt.Sprintf(format, args...)))
}

// rowBegins is where the text of a row begins, in cells.
const rowBegins = 17

// folded breaks a line between words at the width of the terminal. What follows begins behind so many cells.
func (p *page) folded(begins int, line string) string {
	if p.width < 2*begins {
		return line
	}
	return terminal.Fill(line, strings.Repeat(" ", begins), p.width)
}

// Width is that of the terminal, for tables on the page.
func (p *page) Width() int { return p.width }

// section begins a part; nothing is written for an empty one.
func (p *page) section(name string, n int) bool {
	if n > 0 {
		fmt.Fprintf(p, "\n%s\n", p.paint.Bold(name))
	}
	return n > 0
}

// write makes a page and writes it.
func write(w io.Writer, s *Scene, fill func(*page)) error {
	p := &page{paint: terminal.NewPaint(w), Scene: s}
	if screen, ok := w.(*terminal.Screen); ok {
		p.width = screen.Width()
	}
	fill(p)
	return terminal.Print(w, terminal.FillOn(w, p.String(), "      "))
}

// JSON writes a value as it is documented, over several lines.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(terminal.Escaped(w))
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// prettyJSON shows a value over several lines, indented.
func prettyJSON(v any, indent string) string {
	b, err := json.MarshalIndent(v, indent, "  ")
	if err != nil {
		return err.Error()
	}
	return terminal.EscapeJSON(string(b))
}

// jsonOf shows a part of a view as JSON in one line; text as it is.
func jsonOf(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	return asJSON(v)
}

// asJSON shows a value in one line.
func asJSON(v any) string {
	b, err := wirejson.AppendAny(nil, v)
	if err != nil {
		return err.Error()
	}
	return terminal.EscapeJSON(string(b))
}

// brieflyObject shows the members that say something.
func brieflyObject(o factjson.Object) string {
	var parts []string
	for _, m := range o {
		text := jsonOf(m.Value)
		switch text {
		case "", "0", "false", "[]", "0s", "null", "{}":
			continue
		}
		parts = append(parts, m.Name+"="+text)
	}
	return strings.Join(parts, " ")
}

// dim is said, in a faint colour.
func (p *page) dim(text, format string) string {
	if text == "" {
		return ""
	}
	return p.paint.Dim(said(text, format))
}

// said is a text in a format, or nothing.
func said(text, format string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(format, text)
}

// note is a count behind something else, if there is one.
func note[T int | int64 | uint64](n T, format string) string {
	if n <= 0 {
		return ""
	}
	return "  " + fmt.Sprintf(format, n)
}

func (p *page) failed(n int64) string {
	if n == 0 {
		return ""
	}
	return "  " + p.paint.Red(terminal.Thousands(n)+" failed")
}

func (p *page) status(s string) string {
	switch s {
	case "ok", "requested", inspect.EffectRouted, inspect.EffectCommitted, inspect.EffectWritten, inspect.EffectSuggested, inspect.EffectForwarded, "applied":
		return p.paint.Green(s)
	case inspect.EffectWaiting, "skipped", "not_run":
		return p.paint.Yellow(s)
	}
	return p.paint.Red(s)
}

func (p *page) outcome(o string) string {
	if o == "ok" {
		return p.paint.Green(o)
	}
	return p.paint.Red(o)
}

func (p *page) inboxLine(e inspect.Inboxed) {
	priority := ""
	if e.Priority != "normal" {
		priority = " " + p.paint.Yellow(e.Priority)
	}
	fmt.Fprintf(p, "  %10s  %s %s of %s%s  %s\n", p.since(e.Time), e.ID, e.Type, e.Source, priority, p.paint.Dim(terminal.Cut(terminal.OneLine(jsonOf(e.Payload)), 100)))
}

func (p *page) observationLine(o factjson.Object) {
	fmt.Fprintf(p, "  %10s  %s  %s\n", p.since(jsonOf(o.Get("time"))), jsonOf(o.Get("kind")), p.paint.Dim(terminal.Cut(terminal.OneLine(jsonOf(o.Get("value"))), 120)))
}

func (p *page) effectLine(indent string, e inspect.Effect) {
	heard := ""
	if e.Status == inspect.EffectRouted {
		heard = fmt.Sprintf(" to %s as %s", terminal.Plural(e.Heard, "receiver"), e.ID)
	}
	fmt.Fprintf(p, "%s%s  %s  %s%s  %s%s\n", indent, e.To, e.What, p.status(e.Status), heard, p.paint.Dim(terminal.Cut(terminal.OneLine(jsonOf(e.Value)), 100)), p.dim(terminal.OneLine(e.Detail), "  %s"))
}

func who(id string) string { return cmp.Or(id, "$scene") }

func pathOf(c *inspect.Change) string {
	switch c.What {
	case inspect.WhatCall, inspect.WhatAsk, inspect.WhatPolicy, inspect.WhatGrant, inspect.WhatTask:
		return c.Tool
	case inspect.WhatHook:
		return c.Path // the place is the operation
	}
	return cmp.Or(c.Path, "(all)") + said(c.Of, " of %s")
}

func fromTo(d *inspect.Difference) string {
	before, after := "nothing", "nothing"
	if d.Had {
		before = terminal.Cut(asJSON(d.Before), 60)
	}
	if d.Has {
		after = terminal.Cut(asJSON(d.After), 60)
	}
	return before + " -> " + after
}

// differenceText shows the first differences of an object.
func differenceText(list []inspect.Difference) string {
	var parts []string
	for i, d := range list {
		if i == maxShownDifferences {
			parts = append(parts, fmt.Sprintf("… %d more", len(list)-i))
			break
		}
		parts = append(parts, d.Path+": "+fromTo(&d))
	}
	return strings.Join(parts, ", ")
}
