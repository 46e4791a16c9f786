package show

import (
	"fmt"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/inspect"
)

// Summary writes the run of a scene in one page. owner is the process that runs it.
func (s *Scene) Summary(v *inspect.Summary, owner string) error {
	return s.page(v, func(p *page) { p.summary(v, owner) })
}

func (p *page) summary(s *inspect.Summary, owner string) {
	p.title("%s  %s", s.Scene, s.Run)
	state := "can go on: simd run --resume " + p.Dir
	switch {
	case s.Ended != "":
		state = "ended by " + s.Ended
	case owner != "":
		state = "is running: " + owner
	}
	p.row("project", "%s %s  seed %d  %s clock  made by simd %s", s.Project, s.ProjectHash[:min(12, len(s.ProjectHash))], s.Seed, s.Clock, s.Program)
	p.row("reached", "%s of scene time, %s waves; %s", s.SceneTime, terminal.Thousands(s.Waves), state)
	p.row("digest", "%s", s.Digest)
	p.row("journal", "%s facts, %s%s", terminal.Thousands(s.Facts), terminal.Size(float64(s.Bytes)), note(s.Dropped, "(the first %d were dropped)"))
	p.row("agents", "%s, %s deliberations%s", terminal.Thousands(s.Agents), terminal.Thousands(s.Deliberations), p.failed(s.Failed))
	p.row("events", "%s published, heard %s times", terminal.Thousands(s.Published), terminal.Thousands(s.Delivered))
	p.row("world", "version %s", terminal.Thousands(s.WorldVersion))
	if s.Newest > 0 {
		p.row("below", "the newest %s facts and all refusals; --all reads every fact", terminal.Thousands(s.Facts-s.Newest+1))
	}
	p.summaryTimeline(s)
	p.summaryWork(s)
	p.summaryTrouble(s)
	if p.section("LOOK NEXT", len(s.Next)) {
		for _, v := range s.Next {
			fmt.Fprintf(p, "  simd inspect %s %s\n", p.Dir, v)
		}
	}
}

// summaryTimeline draws how much happened when.
func (p *page) summaryTimeline(s *inspect.Summary) {
	if len(s.Timeline) < 2 {
		return
	}
	p.section("TIMELINE", 1)
	blank := map[bool]string{true: "\u00a0", false: " "}[p.width > 0] // a line on a terminal is not broken there
	draw := func(name string, colour func(string) string, of func(inspect.Bucket) int64) {
		var values []int64
		total := int64(0)
		for _, b := range s.Timeline {
			values = append(values, of(b))
			total += of(b)
		}
		if total > 0 {
			p.row(name, "%s %s", colour("▕"+strings.ReplaceAll(terminal.Spark(values), " ", blank)+"▏"), terminal.Thousands(total))
		}
	}
	plain := func(s string) string { return s }
	draw("facts", plain, func(b inspect.Bucket) int64 { return b.Facts })
	draw("deliberations", plain, func(b inspect.Bucket) int64 { return b.Deliberations })
	draw("events", plain, func(b inspect.Bucket) int64 { return b.Events })
	draw("refused", p.paint.Red, func(b inspect.Bucket) int64 { return b.Refused })
	begin, end := p.since(s.Timeline[0].Since), "+"+s.SceneTime
	p.row("", " %s", begin+strings.Repeat(blank, max(1, len(s.Timeline)-len(begin)-len(end)))+end)
}

func (p *page) summaryWork(s *inspect.Summary) {
	if p.section("FACTS BY KIND", len(s.Kinds)) {
		most := float64(s.Kinds[0].Count)
		for _, k := range s.Kinds {
			fmt.Fprintf(p, "  %12s  %-30s %s\n", terminal.Thousands(k.Count), k.Name, p.paint.Cyan(strings.Repeat("█", int(30*float64(k.Count)/most))))
		}
	}
	if p.section("ANSWERS BY MODEL", len(s.Models)) {
		for i := range s.Models {
			fmt.Fprintf(p, "  %s\n", modelLine(&s.Models[i]))
		}
	}
	if p.section("MOST ACTIVE AGENTS", len(s.TopAgents)) {
		for _, w := range s.TopAgents {
			fmt.Fprintf(p, "  %12s  %s (%s), %s calls%s\n", terminal.Thousands(w.Deliberations), w.Agent, w.Profile, terminal.Thousands(w.Calls), p.failed(w.Failed))
		}
	}
}

func (p *page) summaryTrouble(s *inspect.Summary) {
	if p.section("REFUSED", len(s.Refusals)) {
		for _, r := range s.Refusals {
			fmt.Fprintf(p, "  %12s  %s %s%s%s\n", terminal.Thousands(r.Count), r.What, p.paint.Yellow(r.Reason), said(r.Setting, " (%s)"), p.paint.Dim(said(terminal.OneLine(r.Example), "  e.g. %s")))
		}
	}
	if p.section("PROBLEMS", len(s.Problems)) {
		for _, f := range s.Problems {
			fmt.Fprintln(p, p.folded(16, fmt.Sprintf("  %12s  %s %s: %s", p.since(f.Time), f.Who, p.paint.Red(f.What), terminal.OneLine(f.Text))))
		}
		if more := s.ProblemCount - int64(len(s.Problems)); more > 0 {
			fmt.Fprintf(p, "  %12s  … and %s more\n", "", terminal.Thousands(more))
		}
	}
}
