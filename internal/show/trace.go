package show

import (
	"fmt"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/inspect"
)

// Trace draws the causal tree of an event.
func (s *Scene) Trace(t *inspect.Trace) error {
	if t.Cut && !s.JSON {
		fmt.Fprintln(s.Err, "the tree is larger than what is kept of it")
	}
	return s.page(t, func(p *page) { p.trace(t) })
}

func (p *page) trace(t *inspect.Trace) {
	for _, c := range t.Causes {
		fmt.Fprintf(p, "%s\n", p.paint.Dim(fmt.Sprintf("because of %s  %s of %s  %s", c.ID, c.Type, c.Source, p.since(c.Time))))
	}
	p.drawEvent("", "", t.Event)
}

// drawEvent draws an event and what came of it. lead stands before its own
// line, below before the lines under it.
func (p *page) drawEvent(below, lead string, e *inspect.TraceEvent) {
	fate := fmt.Sprintf("heard by %s", terminal.Plural(e.Delivered, "agent"))
	if e.Refused != "" {
		fate = p.paint.Red("refused: " + e.Refused)
	}
	fmt.Fprintf(p, "%s%s  %s of %s  %s  %s\n", lead, p.paint.Bold(e.ID), e.Type, e.Source, p.since(e.Time), fate)
	rest := quietNote(e)
	for i, r := range e.Reactions {
		last := i == len(e.Reactions)-1 && rest == ""
		p.drawReaction(below, last, r)
	}
	if rest != "" {
		fmt.Fprintf(p, "%s└─ %s\n", below, p.paint.Dim(rest))
	}
}

func quietNote(e *inspect.TraceEvent) string {
	var notes []string
	for _, n := range []struct {
		count int
		text  string
	}{{e.More, "%d more deliberated (--width, --all)"}, {e.Waiting, "%d did not deliberate afterwards"}, {e.Deeper, "%d more below (--depth, --all)"}, {len(e.Marks), "%d deliveries were held up by the loop rule"}} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf(n.text, n.count))
		}
	}
	return strings.Join(notes, ", ")
}

func (p *page) drawReaction(below string, last bool, r *inspect.Reaction) {
	branch, next := "├─ ", below+"│  "
	if last {
		branch, next = "└─ ", below+"   "
	}
	name := fmt.Sprintf("%s/%d", r.Agent, r.Turn)
	if r.Turn == 0 {
		name = r.Agent
	}
	fmt.Fprintf(p, "%s%s%s  %s  %s%s\n", below, branch, p.paint.Cyan(name), p.since(r.Time), p.outcome(r.Outcome), p.paint.Dim(reactionNote(r)))
	for _, s := range r.Said {
		fmt.Fprintf(p, "%s  says %s\n", next, p.paint.Cyan(terminal.Cut(terminal.OneLine(s), 100)))
	}
	for _, f := range r.Effects {
		p.effectLine(next+"  ", f)
	}
	for i, child := range r.Published {
		lead, under := next+"├─▶ ", next+"│   "
		if i == len(r.Published)-1 {
			lead, under = next+"└─▶ ", next+"    "
		}
		p.drawEvent(under, lead, child)
	}
}

func reactionNote(r *inspect.Reaction) string {
	var notes []string
	for _, c := range r.Calls {
		text := c.Tool
		if c.Status != "ok" && c.Status != "requested" {
			text += " " + c.Status
		}
		notes = append(notes, text)
	}
	if r.Private > 0 {
		notes = append(notes, terminal.Plural(r.Private, "private change"))
	}
	if r.Perceived > 1 {
		notes = append(notes, fmt.Sprintf("one of %d events it perceived", r.Perceived))
	}
	if r.Error != "" {
		notes = append(notes, terminal.OneLine(r.Error))
	}
	if len(notes) == 0 {
		return ""
	}
	return "  " + strings.Join(notes, ", ")
}
