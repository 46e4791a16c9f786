package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/inspect"
)

func (x *inspecting) deliberation(args []string) error {
	x.scene.Questions = func(q *protocol.ModelRequest) (map[string]string, error) { return runner.Questions(x.run.Project, q) }
	d, err := x.scene.Deliberation(args[0])
	if err == nil && x.o.against != "" {
		err = compare.Questions(x.scene.ID, d, x.o.against)
	}
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, d)
	}
	p := x.page()
	p.title("%s/%d", d.Agent, d.Turn)
	p.row("profile", "%s", d.Profile)
	p.row("woken", "at %s in wave %d, world version %d", x.since(d.Time), d.Wave, d.Perceived.WorldVersion)
	p.row("outcome", "%s%s", x.outcome(d.Outcome), note2(p, terminal.OneLine(d.Error), "  %s"))
	p.row("facts", "%d to %d", d.First, d.Last)
	if d.Timing.Elapsed != "0s" {
		p.row("latency", "%s; effects at %s", d.Timing.Elapsed, x.since(d.Timing.EffectsAt))
	}
	if d.Timing.SleptTo != "" || d.Timing.Asleep {
		p.row("then sleeps", "%s", strings.TrimSpace("until "+x.since(d.Timing.SleptTo)))
	}
	x.turnPerceived(p, d)
	x.turnDid(p, d)
	return p.write(x.out)
}

func (x *inspecting) turnPerceived(p *page, d *inspect.Deliberation) {
	fmt.Fprintf(p, "\n%s\n", p.paint.Bold(fmt.Sprintf("PERCEIVED  %s", plural(len(d.Perceived.Events), "event"))))
	for _, e := range d.Perceived.Events {
		x.inboxLine(p, e)
	}
	if n := d.Perceived.Count - int64(len(d.Perceived.Events)); n > 0 {
		fmt.Fprintf(p, "  and %d that came while it was being woken\n", n)
	}
	for _, o := range d.Perceived.Observations {
		x.observationLine(p, o)
	}
	for _, g := range d.Perceived.Goals {
		fmt.Fprintf(p, "  goal        %s %s  %s\n", jsonOf(g.Get("id")), jsonOf(g.Get("status")), p.paint.Dim(terminal.OneLine(jsonOf(g.Get("description")))))
	}
	fmt.Fprintf(p, "  private     %s\n", terminal.Cut(jsonOf(d.Perceived.Private), 400))
}

func (x *inspecting) turnDid(p *page, d *inspect.Deliberation) {
	if p.section("MODEL", len(d.Models)) {
		if d.Differs != "" {
			fmt.Fprintf(p, "  %s\n", p.paint.Yellow("decided again it is another turn, so these may not be the questions: "+d.Differs))
		}
		for _, m := range d.Models {
			cost := ""
			if m.Cost != nil {
				cost = ", " + price.Dollars(*m.Cost)
			}
			fmt.Fprintf(p, "  %s%s  %d tokens in%s, %d out, %s%s%s\n", cmp.Or(m.Model, "the default model"), said(m.Endpoint, " at %s"), m.Input, note(m.Cached, "(%d cached)"), m.Output, m.Latency, cost, note2(p, m.Error, "  %s"))
			if c := jsonOf(m.Served); m.Served != nil {
				fmt.Fprintf(p, "    chosen %s\n", c)
			}
			x.question(p, m.Question)
			writeAgainst(p, x.o.against, m.Against)
			if m.Text != "" {
				fmt.Fprintf(p, "    %s\n", p.paint.Cyan(strings.ReplaceAll(strings.TrimSpace(m.Text), "\n", "\n    ")))
			}
			if c := jsonOf(m.Calls); c != "" {
				fmt.Fprintf(p, "    calls %s\n", c)
			}
		}
	}
	if p.section("CALLS", len(d.Calls)) {
		for _, c := range d.Calls {
			fmt.Fprintf(p, "  %-6s %s  %s%s%s%s\n", c.ID, c.Tool, x.status(c.Status), note2(p, jsonOf(c.Params), "  %s"), note2(p, jsonOf(c.Output), " -> %s"), note2(p, terminal.OneLine(c.Error), "  %s"))
		}
	}
	if p.section("SAID", len(d.Said)) {
		for _, s := range d.Said {
			fmt.Fprintf(p, "  %s\n", strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  "))
		}
	}
	if p.section("CHANGED IN ITSELF", len(d.Changes)) {
		for _, c := range d.Changes {
			value := c.Value
			if value == nil {
				value = c.After
			}
			fmt.Fprintf(p, "  %s %s %s  %s\n", c.What, c.Op, pathOf(&c), terminal.Cut(terminal.OneLine(jsonOf(value)), 160))
		}
	}
	if p.section("EFFECTS", len(d.Effects)) {
		for _, e := range d.Effects {
			x.effectLine(p, "  ", e)
		}
	}
	if p.section("OTHER FACTS", len(d.Other)) {
		for _, f := range d.Other {
			fmt.Fprintf(p, "  %s  %s\n", f.Kind, brieflyObject(f.Data))
		}
	}
}

// question shows what a model was asked.
func (x *inspecting) question(p *page, q *inspect.Question) {
	if q == nil {
		fmt.Fprintf(p, "    %s\n", p.paint.Dim("its question is not known"))
		return
	}
	for _, m := range q.Messages {
		text := strings.TrimSpace(m.Text)
		if c := jsonOf(m.Calls); c != "" {
			text = strings.TrimSpace(text + "\ncalls " + c)
		}
		if i := jsonOf(m.Images); i != "" {
			text = strings.TrimSpace(text + "\nimages " + i)
		}
		fmt.Fprintf(p, "    %s %s\n", p.paint.Bold(m.Role+strings.TrimRight(" "+m.CallID, " ")+":"), p.paint.Dim(strings.ReplaceAll(text, "\n", "\n      ")))
	}
	if len(q.Tools) > 0 {
		names := make([]string, len(q.Tools))
		for i, t := range q.Tools {
			names[i] = t.Name
		}
		fmt.Fprintf(p, "    tools: %s\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(p, "    %s\n", p.paint.Dim(fmt.Sprintf("about %d tokens%s; %s", q.Tokens, promptNote(q.Prompt), hashNote(q))))
	fmt.Fprintf(p, "    answer:\n")
}

// writeAgainst says where the nearest question of another run differs.
func writeAgainst(p *page, from string, a *inspect.Against) {
	if a == nil {
		return
	}
	fmt.Fprintf(p, "    against %s%s: %s\n", from, note(int64(a.Turn), fmt.Sprintf("turn %%d, request %d", a.Request)), cmp.Or(a.Differs, "no difference"))
	if a.Line > 0 {
		fmt.Fprintf(p, "      line %d, character %d\n      recorded %s\n      asked    %s\n", a.Line, a.Character, p.paint.Red(a.Recorded), p.paint.Green(a.Asked))
	}
}

// sayMissed shows of the first question without a recorded answer where it differs from the
// nearest one. Where that cannot be found out the summary has said what is known.
func (o *runOptions) sayMissed(e *env, sum *rundir.Summary, from string) {
	for _, s := range sum.All() {
		a := s.Model.Answers
		if a == nil || a.Missed == 0 || from == "" || o.quiet || o.json {
			continue
		}
		run, err := inspect.Open(sum.RunDir)
		if err != nil {
			return
		}
		p := &page{paint: terminal.NewPaint(e.err)}
		if scene, err := run.Scene(s.Scene); err == nil {
			d, err := scene.Deliberation(a.First)
			if err == nil && compare.Questions(s.Scene, d, from) == nil && len(d.Models) > 0 {
				fmt.Fprintf(p, "no answer is recorded to a question of %s\n", a.First)
				writeAgainst(p, from, d.Models[len(d.Models)-1].Against)
			}
		}
		_ = run.Close()
		_ = p.write(e.err)
	}
}

// hashNote says whether this is what was asked.
func hashNote(q *inspect.Question) string {
	switch {
	case q.Recorded == "":
		return "a model inside the program answered: there is no hash to check"
	case q.Model != "":
		return "the hash of the question to " + q.Model + " is the recorded one"
	}
	return "NO MODEL OF THE PROJECT HAS A QUESTION WITH THE RECORDED HASH " + q.Recorded
}

// promptNote says what a prompt left out.
func promptNote(trace any) string {
	raw, _ := trace.(json.RawMessage)
	var t struct {
		Room  int64 `json:"room"`
		Units []struct{ Section, Unit, Dropped string }
	}
	if json.Unmarshal(raw, &t) != nil || t.Room == 0 {
		return ""
	}
	var out []string
	for _, u := range t.Units {
		if u.Dropped != "" {
			out = append(out, fmt.Sprintf("%s %q (%s)", u.Section, u.Unit, u.Dropped))
		}
	}
	note := fmt.Sprintf(" of %d, %s", t.Room, plural(len(t.Units), "unit"))
	if len(out) > 0 {
		note += fmt.Sprintf(", %d left out: %s", len(out), strings.Join(out, ", "))
	}
	return note
}

func (x *inspecting) status(s string) string {
	switch s {
	case "ok", "requested", inspect.EffectRouted, inspect.EffectCommitted, inspect.EffectWritten, inspect.EffectSuggested, "applied":
		return x.paint.Green(s)
	case inspect.EffectWaiting, "skipped", "not_run":
		return x.paint.Yellow(s)
	}
	return x.paint.Red(s)
}

func (x *inspecting) effectLine(p *page, indent string, e inspect.Effect) {
	heard := ""
	if e.Status == inspect.EffectRouted {
		heard = fmt.Sprintf(" to %s as %s", plural(e.Heard, "receiver"), e.ID)
	}
	fmt.Fprintf(p, "%s%s  %s  %s%s  %s%s\n", indent, e.To, e.What, x.status(e.Status), heard, p.paint.Dim(terminal.Cut(terminal.OneLine(jsonOf(e.Value)), 100)), note2(p, terminal.OneLine(e.Detail), "  %s"))
}

// traceEvent draws the causal tree of an event.
func (x *inspecting) traceEvent(args []string) error {
	t, err := x.scene.Trace(args[0], inspect.TraceOptions{Depth: x.o.depth, Width: x.o.width, All: x.o.all})
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, t)
	}
	p := x.page()
	for _, c := range t.Causes {
		fmt.Fprintf(p, "%s\n", p.paint.Dim(fmt.Sprintf("because of %s  %s of %s  %s", c.ID, c.Type, c.Source, x.since(c.Time))))
	}
	x.drawEvent(p, "", "", t.Event)
	if t.Cut {
		fmt.Fprintln(x.err, "the tree is larger than what is kept of it")
	}
	return p.write(x.out)
}

// drawEvent draws an event and what came of it. lead stands before its own
// line, below before the lines under it.
func (x *inspecting) drawEvent(p *page, below, lead string, e *inspect.TraceEvent) {
	fate := fmt.Sprintf("heard by %s", plural(e.Delivered, "agent"))
	if e.Refused != "" {
		fate = p.paint.Red("refused: " + e.Refused)
	}
	fmt.Fprintf(p, "%s%s  %s of %s  %s  %s\n", lead, p.paint.Bold(e.ID), e.Type, e.Source, x.since(e.Time), fate)
	rest := quietNote(e)
	for i, r := range e.Reactions {
		last := i == len(e.Reactions)-1 && rest == ""
		x.drawReaction(p, below, last, r)
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

func (x *inspecting) drawReaction(p *page, below string, last bool, r *inspect.Reaction) {
	branch, next := "├─ ", below+"│  "
	if last {
		branch, next = "└─ ", below+"   "
	}
	name := fmt.Sprintf("%s/%d", r.Agent, r.Turn)
	if r.Turn == 0 {
		name = r.Agent
	}
	fmt.Fprintf(p, "%s%s%s  %s  %s%s\n", below, branch, p.paint.Cyan(name), x.since(r.Time), x.outcome(r.Outcome), p.paint.Dim(reactionNote(r)))
	for _, s := range r.Said {
		fmt.Fprintf(p, "%s  says %s\n", next, p.paint.Cyan(terminal.Cut(terminal.OneLine(s), 100)))
	}
	for _, f := range r.Effects {
		x.effectLine(p, next+"  ", f)
	}
	for i, child := range r.Published {
		lead, under := next+"├─▶ ", next+"│   "
		if i == len(r.Published)-1 {
			lead, under = next+"└─▶ ", next+"    "
		}
		x.drawEvent(p, under, lead, child)
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
		notes = append(notes, plural(r.Private, "private change"))
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
