package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// page is text for people that is written at once.
type page struct {
	strings.Builder
	paint terminal.Paint
}

func (p *page) title(format string, args ...any) {
	fmt.Fprintf(p, "%s\n", p.paint.Bold(fmt.Sprintf(format, args...)))
}

func (p *page) row(name, format string, args ...any) {
	fmt.Fprintf(p, "  %s %s\n", p.paint.Dim(name+strings.Repeat(" ", max(0, 14-terminal.Width(name)))), fmt.Sprintf(format, args...))
}

// section begins a part; nothing is written for an empty one.
func (p *page) section(name string, n int) bool {
	if n > 0 {
		fmt.Fprintf(p, "\n%s\n", p.paint.Bold(name))
	}
	return n > 0
}

func (p *page) write(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

func (x *inspecting) page() *page { return &page{paint: x.paint} }

// prettyJSON shows a value over several lines, indented.
func prettyJSON(v any, indent string) string {
	b, err := json.MarshalIndent(v, indent, "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (x *inspecting) summary([]string) error {
	owner := x.scene.RunBy()
	newest := uint64(0)
	if owner != "" && !x.o.all {
		newest = inspect.Newest
	}
	s, err := x.scene.Summary(newest)
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, s)
	}
	p := x.page()
	p.title("%s  %s", s.Scene, s.Run)
	state := "can go on: simd run --resume " + x.dir
	switch {
	case s.Ended != "":
		state = "ended by " + s.Ended
	case owner != "":
		state = "is running: " + owner
	}
	p.row("project", "%s %s  seed %d  %s clock  made by simd %s", s.Project, s.ProjectHash[:min(12, len(s.ProjectHash))], s.Seed, s.Clock, s.Program)
	p.row("reached", "%s of scene time, %s waves; %s", s.SceneTime, number(s.Waves), state)
	p.row("digest", "%s", s.Digest)
	p.row("journal", "%s facts, %s%s", number(s.Facts), terminal.Size(float64(s.Bytes)), note(int64(s.Dropped), "(the first %d were dropped)"))
	p.row("agents", "%s, %s deliberations%s", number(s.Agents), number(s.Deliberations), failedNote(p, s.Failed))
	p.row("events", "%s published, heard %s times", number(s.Published), number(s.Delivered))
	p.row("world", "version %s", number(s.WorldVersion))
	if s.Newest > 0 {
		p.row("below", "the newest %s facts and all refusals; --all reads every fact", number(s.Facts-s.Newest+1))
	}
	x.summaryTimeline(p, s)
	x.summaryWork(p, s)
	x.summaryTrouble(p, s)
	if p.section("LOOK NEXT", len(s.Next)) {
		for _, v := range s.Next {
			fmt.Fprintf(p, "  simd inspect %s %s\n", x.dir, v)
		}
	}
	return p.write(x.out)
}

func failedNote(p *page, n int64) string {
	if n == 0 {
		return ""
	}
	return "  " + p.paint.Red(fmt.Sprintf("%s failed", thousands(n)))
}

// summaryTimeline draws how much happened when.
func (x *inspecting) summaryTimeline(p *page, s *inspect.Summary) {
	if len(s.Timeline) < 2 {
		return
	}
	p.section("TIMELINE", 1)
	draw := func(name string, colour func(string) string, of func(inspect.Bucket) int64) {
		var values []int64
		total := int64(0)
		for _, b := range s.Timeline {
			values = append(values, of(b))
			total += of(b)
		}
		if total > 0 {
			p.row(name, "%s %s", colour("▕"+terminal.Spark(values)+"▏"), number(total))
		}
	}
	plain := func(s string) string { return s }
	draw("facts", plain, func(b inspect.Bucket) int64 { return b.Facts })
	draw("deliberations", plain, func(b inspect.Bucket) int64 { return b.Deliberations })
	draw("events", plain, func(b inspect.Bucket) int64 { return b.Events })
	draw("refused", p.paint.Red, func(b inspect.Bucket) int64 { return b.Refused })
	begin, end := x.since(s.Timeline[0].Since), "+"+s.SceneTime
	p.row("", " %s%s%s", begin, strings.Repeat(" ", max(1, len(s.Timeline)-len(begin)-len(end))), end)
}

func (x *inspecting) summaryWork(p *page, s *inspect.Summary) {
	if p.section("FACTS BY KIND", len(s.Kinds)) {
		most := float64(s.Kinds[0].Count)
		for _, k := range s.Kinds {
			fmt.Fprintf(p, "  %12s  %-30s %s\n", number(k.Count), k.Name, p.paint.Cyan(strings.Repeat("█", int(30*float64(k.Count)/most))))
		}
	}
	if p.section("ANSWERS BY MODEL", len(s.Models)) {
		for i := range s.Models {
			fmt.Fprintf(p, "  %s\n", modelLine(&s.Models[i]))
		}
	}
	if p.section("MOST ACTIVE AGENTS", len(s.TopAgents)) {
		for _, w := range s.TopAgents {
			fmt.Fprintf(p, "  %12s  %s (%s), %s calls%s\n", number(w.Deliberations), w.Agent, w.Profile, number(w.Calls), failedNote(p, w.Failed))
		}
	}
}

func (x *inspecting) summaryTrouble(p *page, s *inspect.Summary) {
	if p.section("REFUSED", len(s.Refusals)) {
		for _, r := range s.Refusals {
			fmt.Fprintf(p, "  %12s  %s %s%s%s\n", number(r.Count), r.What, p.paint.Yellow(r.Reason), said(r.Setting, " (%s)"), p.paint.Dim(said(terminal.OneLine(r.Example), "  e.g. %s")))
		}
	}
	if p.section("PROBLEMS", len(s.Problems)) {
		for _, f := range s.Problems {
			fmt.Fprintf(p, "  %12s  %s %s: %s\n", x.since(f.Time), f.Who, p.paint.Red(f.What), terminal.OneLine(f.Text))
		}
		if more := s.ProblemCount - int64(len(s.Problems)); more > 0 {
			fmt.Fprintf(p, "  %12s  … and %s more\n", "", number(more))
		}
	}
}

func (x *inspecting) oneAgent(args []string) error {
	v, err := x.scene.Agent(args[0], x.o.at)
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, v)
	}
	p := x.page()
	p.title("%s  %s", v.Agent, v.Name)
	p.row("profile", "%s", v.Profile)
	p.row("at", "%s, the end of wave %d", x.since(v.Time), v.Wave)
	p.row("state", "%s%s", v.State, x.stateNote(v))
	p.row("turns", "%s%s", number(v.Turns), note(int64(v.Failures), "(failed %d times in a row)"))
	x.agentLast(p, v)
	fmt.Fprintf(p, "\n%s\n  %s\n", p.paint.Bold("PRIVATE STATE"), prettyJSON(v.Private, "  "))
	if p.section("GOALS", len(v.Goals)) {
		for _, g := range v.Goals {
			fmt.Fprintf(p, "  %-10s %4s  %s  %s\n", jsonOf(g.Get("status")), jsonOf(g.Get("priority")), jsonOf(g.Get("id")), p.paint.Dim(terminal.OneLine(jsonOf(g.Get("description")))))
		}
	}
	if p.section("INBOX", len(v.Inbox)) {
		for _, e := range v.Inbox {
			x.inboxLine(p, e)
		}
	}
	if p.section("OBSERVATIONS", len(v.Observations)) {
		for _, o := range v.Observations {
			x.observationLine(p, o)
		}
	}
	if p.section("HISTORY", len(v.History)) {
		for _, u := range v.History {
			fmt.Fprintf(p, "  %10s  %s: %s\n", x.since(u.Time), u.Who, terminal.OneLine(u.Text))
		}
	}
	if p.section("HEARS", len(v.Subscriptions)) {
		for _, s := range v.Subscriptions {
			fmt.Fprintf(p, "  %s%s\n", s.Type, note2(p, s.Filter, "  if %s"))
		}
	}
	return p.write(x.out)
}

func note2(p *page, text, format string) string {
	if text == "" {
		return ""
	}
	return p.paint.Dim(fmt.Sprintf(format, text))
}

// said is a text in a format, or nothing.
func said(text, format string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(format, text)
}

// maxWaitsFor is how many receivers one line names.
const maxWaitsFor = 8

func (x *inspecting) stateNote(v *inspect.AgentView) string {
	text := ""
	if v.Next != "" {
		text += ", wakes at " + x.since(v.Next)
	}
	if v.WakeAbove != "" {
		text += ", or by an event of priority " + v.WakeAbove
	}
	if v.BusyUntil != "" {
		text += ", busy until " + x.since(v.BusyUntil)
	}
	if n := len(v.WaitsFor); n > 0 {
		text += ", waits for " + strings.Join(v.WaitsFor[:min(n, maxWaitsFor)], ", ")
		if n > maxWaitsFor {
			text += fmt.Sprintf(" and %d more", n-maxWaitsFor)
		}
	}
	return text
}

func (x *inspecting) agentLast(p *page, v *inspect.AgentView) {
	if !p.section("LAST DELIBERATIONS", len(v.Last)) {
		return
	}
	for _, t := range v.Last {
		name := "-"
		if t.Turn > 0 {
			name = fmt.Sprintf("%s/%d", v.Agent, t.Turn)
		}
		fmt.Fprintf(p, "  %10s  %s  %s  heard %d, %s, %s%s\n", x.since(t.Time), name, x.outcome(t.Outcome), t.Events, plural(int(t.Calls), "call"), plural(int(t.Models), "question"), note2(p, terminal.OneLine(t.Error), "  %s"))
	}
}

func (x *inspecting) outcome(o string) string {
	if o == "ok" {
		return x.paint.Green(o)
	}
	return x.paint.Red(o)
}

func (x *inspecting) inboxLine(p *page, e inspect.Inboxed) {
	priority := ""
	if e.Priority != "normal" {
		priority = " " + p.paint.Yellow(e.Priority)
	}
	fmt.Fprintf(p, "  %10s  %s %s of %s%s  %s\n", x.since(e.Time), e.ID, e.Type, e.Source, priority, p.paint.Dim(terminal.Cut(terminal.OneLine(jsonOf(e.Payload)), 100)))
}

func (x *inspecting) observationLine(p *page, o factjson.Object) {
	fmt.Fprintf(p, "  %10s  %s  %s\n", x.since(jsonOf(o.Get("time"))), jsonOf(o.Get("kind")), p.paint.Dim(terminal.Cut(terminal.OneLine(jsonOf(o.Get("value"))), 120)))
}

// world shows the document, or what differs between two moments.
func (x *inspecting) world(args []string) error {
	if x.flags.Changed("diff") {
		return x.worldDiff(args)
	}
	if len(args) > 1 {
		return usageError{fmt.Errorf("world takes one path; two moments are compared with --diff A B")}
	}
	path := strings.Join(args, "")
	v, err := x.scene.World(path, x.o.at)
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, v)
	}
	fmt.Fprintf(x.out, "%s\n", prettyJSON(v.Value, ""))
	if v.More {
		fmt.Fprintln(x.err, "the pattern matches more than is shown")
	}
	fmt.Fprintf(x.err, "version %d at %s, the end of wave %d\n", v.Version, x.since(v.Time), v.Wave)
	for _, c := range v.Writers {
		fmt.Fprintf(x.err, "  %10s  %s %s by %s %s\n", x.since(c.Time), c.Op, c.Path, who(c.By), c.Through)
	}
	return nil
}

// moments are the two of --diff: A..B, or A and the last argument.
func (x *inspecting) moments(args []string) (from, to string, rest []string, err error) {
	if a, b, ok := strings.Cut(x.o.diff, ".."); ok {
		return a, b, args, nil
	}
	if len(args) == 0 {
		return "", "", nil, usageError{fmt.Errorf("--diff wants two moments: --diff 0s end, or --diff 0s..end")}
	}
	last := len(args) - 1
	return x.o.diff, args[last], args[:last], nil
}

func (x *inspecting) worldDiff(args []string) error {
	from, to, rest, err := x.moments(args)
	if err != nil {
		return err
	}
	if len(rest) > 1 || x.o.at != "" {
		return usageError{fmt.Errorf("world --diff takes one path and no --at")}
	}
	d, err := x.scene.Diff(strings.Join(rest, ""), from, to)
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, d)
	}
	fmt.Fprintf(x.err, "version %d at %s (wave %d) and version %d at %s (wave %d): %s\n", d.From.Version, x.since(d.From.Time), d.From.Wave,
		d.To.Version, x.since(d.To.Time), d.To.Wave, plural(len(d.Differences), "difference"))
	t := terminal.NewTable(x.out, "path", ">changes", "last by", "at", "from -> to")
	for _, c := range d.Differences {
		t.Row(c.Path, number(c.Count), c.By, x.since(c.Time), fromTo(&c)+said(c.Reason, "  (%s)"))
	}
	return t.Flush()
}

func fromTo(d *inspect.Difference) string {
	before, after := "nothing", "nothing"
	if d.Had {
		before = terminal.Cut(jsonText(d.Before), 60)
	}
	if d.Has {
		after = terminal.Cut(jsonText(d.After), 60)
	}
	return before + " -> " + after
}
