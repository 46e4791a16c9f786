package show

import (
	"fmt"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/memories"
)

// Agent writes one agent.
func (s *Scene) Agent(v *inspect.AgentView) error {
	return s.page(v, func(p *page) { p.agent(v) })
}

func (p *page) agent(v *inspect.AgentView) {
	p.title("%s  %s", v.Agent, v.Name)
	p.row("profile", "%s", v.Profile)
	p.row("at", "%s, the end of wave %d", p.since(v.Time), v.Wave)
	p.row("state", "%s%s", v.State, p.stateNote(v))
	p.row("turns", "%s%s", terminal.Thousands(v.Turns), note(v.Failures, "(failed %d times in a row)"))
	p.agentLast(v)
	fmt.Fprintf(p, "\n%s\n  %s\n", p.paint.Bold("PRIVATE STATE"), prettyJSON(v.Private, "  "))
	if p.section("GOALS", len(v.Goals)) {
		for _, g := range v.Goals {
			p.goal(g)
		}
	}
	if p.section("DRIVES", len(v.Drives)) {
		for _, d := range v.Drives {
			fmt.Fprintf(p, "  %-10s %.3f  %s\n", d.ID, d.Level, p.paint.Dim("serves "+strings.Join(d.Serves, ", ")))
		}
	}
	if p.section("INBOX", len(v.Inbox)) {
		for _, e := range v.Inbox {
			p.inboxLine(e)
		}
	}
	if p.section("OBSERVATIONS", len(v.Observations)) {
		for _, o := range v.Observations {
			p.observationLine(o)
		}
	}
	if p.section("HISTORY", len(v.History)) {
		for _, u := range v.History {
			fmt.Fprintf(p, "  %10s  %s: %s\n", p.since(u.Time), u.Who, terminal.OneLine(u.Text))
		}
	}
	if v.Memory != nil {
		p.memory(v.Memory)
	}
	if p.section("HEARS", len(v.Subscriptions)) {
		for _, s := range v.Subscriptions {
			fmt.Fprintf(p, "  %s%s%s\n", s.Type, p.dim(s.Path, "  at %s"), p.dim(s.Filter, "  if %s"))
		}
	}
}

// memory writes what the agent remembers.
func (p *page) memory(v *memories.View) {
	for _, part := range v.Parts(p.since) {
		if p.section(part.Head, len(part.Lines)) {
			fmt.Fprintf(p, "  %s\n", strings.Join(part.Lines, "\n  "))
		}
	}
}

// maxWaitsFor is how many receivers one line names.
const maxWaitsFor = 8

func (p *page) stateNote(v *inspect.AgentView) string {
	text := ""
	if v.Next != "" {
		text += ", wakes at " + p.since(v.Next)
	}
	if v.WakeAbove != "" {
		text += ", or by an event of priority " + v.WakeAbove
	}
	if v.BusyUntil != "" {
		text += ", busy until " + p.since(v.BusyUntil)
	}
	if n := len(v.WaitsFor); n > 0 {
		text += ", waits for " + strings.Join(v.WaitsFor[:min(n, maxWaitsFor)], ", ")
		if n > maxWaitsFor {
			text += fmt.Sprintf(" and %d more", n-maxWaitsFor)
		}
	}
	return text
}

func (p *page) agentLast(v *inspect.AgentView) {
	if !p.section("LAST DELIBERATIONS", len(v.Last)) {
		return
	}
	for _, t := range v.Last {
		name := "-"
		if t.Turn > 0 {
			name = fmt.Sprintf("%s/%d", v.Agent, t.Turn)
		}
		fmt.Fprintf(p, "  %10s  %s  %s  heard %d, %s, %s%s\n", p.since(t.Time), name, p.outcome(t.Outcome), t.Events, terminal.Plural(t.Calls, "call"), terminal.Plural(t.Models, "question"), p.dim(terminal.OneLine(t.Error), "  %s"))
	}
}

// goal writes a goal, with its rank and the reason of its status where rules weigh it.
func (p *page) goal(g factjson.Object) {
	weight := jsonOf(g.Get("priority"))
	if rank, ok := g.Get("rank").(float64); ok {
		weight = fmt.Sprintf("rank %.3f  priority %s", rank, weight)
	}
	fmt.Fprintf(p, "  %-10s %4s  %s  %s%s\n", jsonOf(g.Get("status")), weight, jsonOf(g.Get("id")), p.paint.Dim(terminal.OneLine(jsonOf(g.Get("description")))), p.whyOf(g))
}

func (p *page) whyOf(g factjson.Object) string {
	if g.Get("why") == nil {
		return ""
	}
	return p.dim(terminal.OneLine(jsonOf(g.Get("why"))), "  (%s)")
}
